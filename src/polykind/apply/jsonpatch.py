"""JSON patches (RFC 6902), with the leniencies of the reference's library."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import orjson

from polykind import errors
from polykind.apply.rejected import Rejected, go_name, too_deep
from polykind.contract import JsonObject
from polykind.gotext import go_json, json_bytes

MOST_OPERATIONS = 10000
MOST_COPIED_BYTES = 3 * 1024 * 1024
"""What the `copy` operations of one patch may add: each could otherwise double the document."""

_FIELDS = ("op", "path", "from", "value")
_INDEX = re.compile(r"[+-]?[0-9]{1,18}\Z")
_KIND = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal %s into Go value of type struct "
    '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def apply(document: JsonObject, operations: Any, *, lenient: bool = False) -> JsonObject:
    """The document after the operations; the input stays as it is, and parts that do not change are shared.

    The operations are a list, or bytes to be decoded. Lenient: no strict reader has looked at them before.
    """
    if isinstance(operations, bytes):
        operations = _decode(operations)
    operations = _loosely(operations) if lenient else check(operations)
    if len(operations) > MOST_OPERATIONS:
        raise errors.TooLarge(
            "Request entity too large: "
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}"
        )
    patching = _Patching(document)
    try:
        for operation in operations:
            patching.run(operation)
    except RecursionError:
        raise too_deep() from None
    return patching.result()


def check(operations: Any) -> list[JsonObject]:
    """The operations, if that is what they are; null counts as none, and as an operation without an op."""
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _undecodable(f"json: cannot unmarshal {go_name(operations)} into Go value of type []handlers.jsonPatchOp")
    for operation in operations:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            kind = go_name(operation)
            raise _undecodable(f"json: cannot unmarshal {kind} into Go value of type handlers.jsonPatchOp")
        for field in ("op", "path", "from"):
            value = operation.get(field)
            if value is not None and not isinstance(value, str):
                kind = go_name(value)
                raise _undecodable(
                    f"json: cannot unmarshal {kind} into Go struct field jsonPatchOp.{field} of type string"
                )
    return [operation or {} for operation in operations]


def _loosely(operations: Any) -> list[JsonObject]:
    """As `check`, in the words of the patch's own reader, to whom a field of another type is a failed operation."""
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise errors.BadRequest(f"json: cannot unmarshal {go_name(operations)} into Go value of type jsonpatch.Patch")
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            kind = go_name(operation)
            raise errors.BadRequest(f"json: cannot unmarshal {kind} into Go value of type jsonpatch.Operation")
    return [operation or {} for operation in operations]


def unknown_fields(operations: list[Any]) -> list[str]:
    """What a strict reading complains of: the keys of operations that RFC 6902 does not know."""
    return [
        f'json patch unknown field "[{index}].{key}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for key in operation
        if key not in _FIELDS
    ]


class Written(NamedTuple):
    """The value of a test as it is written: texts are compared, not what they mean."""

    text: bytes


_members = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None]).decode


def as_written(operations: Any, body: bytes) -> Any:
    """The operations, decoded from a body, with the values of tests as that writes them."""
    try:
        members = _members(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return operations
    for operation, texts in zip(operations, members, strict=True):
        if texts and "value" in texts and operation.get("op") == "test":
            operation["value"] = Written(bytes(texts["value"]))
    return operations


def _reads(value: Any, text: bytes) -> bool:
    """Whether a value, written as the reference writes it, is a text; the order of keys says nothing."""
    if isinstance(value, dict):
        if not text.startswith(b"{"):
            return False
        fields = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return fields.keys() == value.keys() and all(_reads(value[k], bytes(v)) for k, v in fields.items())
    if isinstance(value, list):
        if not text.startswith(b"["):
            return False
        items = msgspec.json.decode(text, type=list[msgspec.Raw])
        return len(items) == len(value) and all(map(_reads, value, map(bytes, items)))
    return json_bytes(value) == text


def _decode(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _undecodable(str(error)) from None


def _undecodable(why: str) -> errors.BadRequest:
    return errors.BadRequest(f"error decoding patch: {why}")


class _Patching:
    """One run of a patch: containers are copied when first changed, and changed in place from then on."""

    def __init__(self, document: JsonObject) -> None:
        self.root: Any = document
        self.own: dict[int, Any] = {}
        self.copied = 0

    def run(self, operation: JsonObject) -> None:
        for field in ("op", "path", "from"):
            if not isinstance(operation.get(field), str | None):
                raise Rejected
        action = _ACTIONS.get(operation.get("op") or "")
        if action is None:
            raise Rejected
        action(self, operation)

    def result(self) -> JsonObject:
        if isinstance(self.root, dict):
            return self.root
        shown = go_json(self.root)
        raise errors.Invalid("", "", "", [errors.invalid("patch", shown, _KIND % go_name(self.root))])

    def add(self, operation: JsonObject) -> None:
        self.put(_pointer(operation, "path"), operation.get("value"))

    def remove(self, operation: JsonObject) -> None:
        self.take(_pointer(operation, "path"))

    def replace(self, operation: JsonObject) -> None:
        value = operation.get("value")
        if operation.get("path") == "":
            if not isinstance(value, dict | list):
                raise Rejected
            self.root = value
            return
        keys = _pointer(operation, "path")
        container = self.writable(keys)
        if isinstance(container, list):
            container[_index(keys[-1], len(container))] = value
        else:
            container[keys[-1]] = value

    def move(self, operation: JsonObject) -> None:
        value = self.take(_pointer(operation, "from"))
        self.put(_pointer(operation, "path"), value)

    def copy(self, operation: JsonObject) -> None:
        value = self.get(_pointer(operation, "from"))
        if isinstance(value, dict | list):
            self.copied += _size(value)
            value = _copied(value)
        else:
            self.copied += len(value) if isinstance(value, str) else 8
        if self.copied > MOST_COPIED_BYTES:
            raise Rejected
        self.put(_pointer(operation, "path"), value)

    def test(self, operation: JsonObject) -> None:
        wanted = operation.get("value")
        found = self.root if operation.get("path") == "" else self.get(_pointer(operation, "path"))
        if not (_reads(found, wanted.text) if isinstance(wanted, Written) else _same(found, wanted)):
            raise Rejected

    def get(self, keys: list[str]) -> Any:
        container = self.root
        for key in keys[:-1]:
            container = _child(container, key)
        if isinstance(container, dict):
            # A key that is not there reads as null: so it can be tested for, and copied.
            return container.get(keys[-1])
        return _child(container, keys[-1])

    def put(self, keys: list[str], value: Any) -> None:
        container = self.writable(keys)
        key = keys[-1]
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            container.insert(_index(key, len(container) + 1), value)

    def take(self, keys: list[str]) -> Any:
        container = self.writable(keys)
        key = keys[-1]
        if isinstance(container, list):
            return container.pop(_index(key, len(container)))
        if key not in container:
            raise Rejected
        return container.pop(key)

    def writable(self, keys: list[str]) -> Any:
        """The container of the last key, it and those above it being copies of ours."""
        container = self.root = self.owned(self.root)
        for key in keys[:-1]:
            place: Any = _index(key, len(container)) if isinstance(container, list) else key
            child = _child(container, key)
            if not isinstance(child, dict | list):
                raise Rejected
            owned = self.owned(child)
            if owned is not child:
                container[place] = owned
            container = owned
        return container

    def owned(self, container: Any) -> Any:
        if id(container) in self.own:
            return container
        copy = container.copy()
        self.own[id(copy)] = copy
        return copy


_ACTIONS: dict[str, Callable[[_Patching, JsonObject], None]] = {
    "add": _Patching.add,
    "remove": _Patching.remove,
    "replace": _Patching.replace,
    "move": _Patching.move,
    "copy": _Patching.copy,
    "test": _Patching.test,
}


def _pointer(operation: JsonObject, field: str) -> list[str]:
    path = operation.get(field)
    if not path or "/" not in path:
        raise Rejected
    keys: list[str] = path.split("/")[1:]
    return [key.replace("~1", "/").replace("~0", "~") for key in keys] if "~" in path else keys


def _child(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    if isinstance(container, list):
        return container[_index(key, len(container))]
    raise Rejected


def _index(key: str, length: int) -> int:
    """A place in a list of `length` places; negative ones count from the end."""
    if not _INDEX.match(key):
        raise Rejected
    index = int(key)
    if not -length <= index < length:
        raise Rejected
    return index + length if index < 0 else index


def _size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:
        raise Rejected from None


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON values: unlike in Python, true is not 1."""
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(key in right and _same(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(_same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
