"""JSON patches (RFC 6902), with the leniencies of the reference's library."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import orjson

from polykind import errors
from polykind.apply.patch_errors import PatchRejectedError, PatchTestFailedError, nesting_error
from polykind.contract import JsonObject, copy_json
from polykind.golang.fmt import go_quote
from polykind.golang.json import encode_json, go_json, json_type_name

MAX_OPERATIONS = 10000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""What the `copy` operations of one patch may add: each could otherwise double the document."""

_MISSING = "missing value"
_FIELDS = ("op", "path", "from", "value")
_TEXTS = ("op", "path", "from")
_INDEX = re.compile(r"[+-]?[0-9]{1,18}\Z")
NOT_AN_OBJECT = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal %s into Go value of type struct "
    '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def apply(document: JsonObject, operations: Any, *, lenient: bool = False) -> JsonObject:
    """The document after the operations; the input stays as it is, and parts that do not change are shared.

    The operations are a list, or bytes to be decoded. Lenient: no strict reader has looked at them before.
    """
    if isinstance(operations, bytes):
        operations = _decode(operations)
    operations = check_operations_leniently(operations) if lenient else check_operations(operations)
    if len(operations) > MAX_OPERATIONS:
        raise errors.RequestTooLargeError(
            "Request entity too large: "
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    made = apply_operations(document, operations)
    if isinstance(made, dict):
        return made
    raise errors.InvalidError(
        "", "", "", [errors.invalid("patch", go_json(made), NOT_AN_OBJECT % json_type_name(made))]
    )


def apply_operations(document: JsonObject, operations: list[JsonObject]) -> Any:
    """What operations make of a document, which need not be an object any more."""
    patching = _Patching(document)
    try:
        for operation in operations:
            patching.run(operation)
    except RecursionError:
        raise nesting_error() from None
    return patching.root


def check_operations(operations: Any) -> list[JsonObject]:
    """The operations, if that is what they are; null counts as none, and as an operation without an op."""
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise _undecodable(
            f"json: cannot unmarshal {json_type_name(operations)} into Go value of type []handlers.jsonPatchOp"
        )
    for operation in operations:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            kind = json_type_name(operation)
            raise _undecodable(f"json: cannot unmarshal {kind} into Go value of type handlers.jsonPatchOp")
        for field, value in operation.items():
            if field in _TEXTS and value is not None and not isinstance(value, str):
                kind = json_type_name(value)
                raise _undecodable(
                    f"json: cannot unmarshal {kind} into Go struct field jsonPatchOp.{field} of type string"
                )
    return [operation or {} for operation in operations]


def check_operations_leniently(operations: Any) -> list[JsonObject]:
    """As `check`, in the words of the patch's own reader, to whom a field of another type is a failed operation."""
    if operations is None:
        return []
    if not isinstance(operations, list):
        raise errors.BadRequestError(
            f"json: cannot unmarshal {json_type_name(operations)} into Go value of type jsonpatch.Patch"
        )
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            kind = json_type_name(operation)
            raise errors.BadRequestError(f"json: cannot unmarshal {kind} into Go value of type jsonpatch.Operation")
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


class TestText(NamedTuple):
    """The value of a test as it is written: texts are compared, not what they mean."""

    text: bytes


_members = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None]).decode


def keep_test_texts(operations: Any, body: bytes) -> Any:
    """The operations, decoded from a body, with the values of tests as that writes them."""
    try:
        members = _members(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return operations
    for operation, texts in zip(operations, members, strict=True):
        if texts and "value" in texts and operation.get("op") == "test":
            operation["value"] = TestText(bytes(texts["value"]))
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
    return encode_json(value) == text


def _decode(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _undecodable(str(error)) from None


def _undecodable(why: str) -> errors.BadRequestError:
    return errors.BadRequestError(f"error decoding patch: {why}")


class _Patching:
    """One run of a patch: containers are copied when first changed, and changed in place from then on."""

    def __init__(self, document: JsonObject) -> None:
        self.root: Any = document
        self.own: dict[int, Any] = {}
        self.copied = 0

    def run(self, operation: JsonObject) -> None:
        op = operation.get("op")
        action = _ACTIONS.get(op) if isinstance(op, str) else None
        if action is None:
            raise PatchRejectedError(f"Unexpected kind: {op if isinstance(op, str) else 'unknown'}")
        action(self, operation)

    def add(self, operation: JsonObject) -> None:
        path = _text(operation, "path", "add")
        lost = f'add operation does not apply: doc is missing path: "{path}": {_MISSING}'
        self.put(path, operation.get("value"), lost, f"error in add for path: '{path}'")

    def remove(self, operation: JsonObject) -> None:
        path = _text(operation, "path", "remove")
        lost = f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}'
        container, key = self.writable(path, lost)
        _take(container, key, f"error in remove for path: '{path}'")

    def replace(self, operation: JsonObject) -> None:
        path, value = _text(operation, "path", "replace"), operation.get("value")
        if path == "":
            if not isinstance(value, dict | list):
                raise PatchRejectedError("replace operation value must be object or array: %!w(<nil>)")
            self.root = value
            return
        lost = "replace operation does not apply: doc is missing"
        container, key = self.writable(path, f"{lost} path: {path}: {_MISSING}")
        try:
            container[_index(key, len(container)) if isinstance(container, list) else key] = value
        except _BadIndex:
            raise PatchRejectedError(f"{lost} key: {path}: {_MISSING}") from None

    def move(self, operation: JsonObject) -> None:
        source = _text(operation, "from", "move")
        lost = "move operation does not apply: doc is missing"
        container, key = self.writable(source, f"{lost} from path: {source}: {_MISSING}")
        value = _take(container, key, f"error in move for path: '{key}'")
        path = _text(operation, "path", "move")
        self.put(path, value, f"{lost} destination path: {path}: {_MISSING}", f"error in move for path: '{path}'")

    def copy(self, operation: JsonObject) -> None:
        source = _text(operation, "from", "copy")
        lost = "copy operation does not apply: doc is missing"
        value = self.get(source, f"{lost} from path: {source}: {_MISSING}", f"error in copy for from: '{source}'")
        if isinstance(value, dict | list):
            self.copied += _size(value)
            value = copy_json(value)
        else:
            self.copied += len(value) if isinstance(value, str) else 8
        path = _text(operation, "path", "copy")
        if self.copied > MAX_COPIED_BYTES:
            raise PatchRejectedError(
                f"Unable to complete the copy, the accumulated size increase of copy is {self.copied}, "
                f"exceeding the limit {MAX_COPIED_BYTES}"
            )
        failing = "error while adding value during copy"
        self.put(path, value, f"{lost} destination path: {path}: {_MISSING}", failing)

    def test(self, operation: JsonObject) -> None:
        path, wanted = _text(operation, "path", "test"), operation.get("value")
        lost = f"test operation does not apply: is missing path: {path}: {_MISSING}"
        found = self.root if path == "" else self.get(path, lost, f"error in test for path: '{path}'")
        if not (_reads(found, wanted.text) if isinstance(wanted, TestText) else _same(found, wanted)):
            raise PatchTestFailedError(f"testing value {path} failed: test failed")

    def get(self, path: str, lost: str, failing: str) -> Any:
        *above, key = _keys(path, lost)
        container = self.root
        try:
            for part in above:
                container = _child(container, part)
        except _BadIndex:
            raise PatchRejectedError(lost) from None
        if isinstance(container, dict):
            # A key that is not there reads as null: so it can be tested for, and copied.
            return container.get(key)
        if not isinstance(container, list):
            raise PatchRejectedError(lost)
        try:
            return container[_index(key, len(container))]
        except _BadIndex as bad:
            raise PatchRejectedError(f"{failing}: {bad}") from None

    def put(self, path: str, value: Any, lost: str, failing: str) -> None:
        container, key = self.writable(path, lost)
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            try:
                container.insert(_index(key, len(container) + 1), value)
            except _BadIndex as bad:
                improper = "" if _INDEX.match(key) else f"value was not a proper array index: '{key}': "
                raise PatchRejectedError(f"{failing}: {improper}{bad}") from None

    def writable(self, path: str, lost: str) -> tuple[Any, str]:
        """The container of what a path names, it and those above it being copies of ours; and the last key."""
        *above, key = _keys(path, lost)
        container = self.root = self.owned(self.root)
        try:
            for part in above:
                place: Any = _index(part, len(container)) if isinstance(container, list) else part
                child = _child(container, part)
                if not isinstance(child, dict | list):
                    raise PatchRejectedError(lost)
                owned = self.owned(child)
                if owned is not child:
                    container[place] = owned
                container = owned
        except _BadIndex:
            raise PatchRejectedError(lost) from None
        return container, key

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


class _BadIndex(Exception):
    """What is no place in a list; says why."""


def _text(operation: JsonObject, field: str, op: str) -> str:
    value = operation.get(field)
    if isinstance(value, str):
        return value
    why = f"operation{',' if field == 'from' else ''} missing {field} field: {_MISSING}"
    if value is not None:
        why = f"json: cannot unmarshal {json_type_name(value)} into Go value of type string"
    # Of some operations the library says no more than that.
    if (op, field) in (("add", "path"), ("remove", "path"), ("copy", "path")):
        why = _MISSING
    raise PatchRejectedError(f"{op} operation failed to decode {field}: {why}")


def _keys(path: str, lost: str) -> list[str]:
    if "/" not in path:
        raise PatchRejectedError(lost)
    keys: list[str] = path.split("/")[1:]
    return [key.replace("~1", "/").replace("~0", "~") for key in keys] if "~" in path else keys


def _take(container: Any, key: str, failing: str) -> Any:
    if isinstance(container, list):
        try:
            return container.pop(_index(key, len(container)))
        except _BadIndex as bad:
            raise PatchRejectedError(f"{failing}: {bad}") from None
    if key not in container:
        raise PatchRejectedError(f"{failing}: Unable to remove nonexistent key: {key}: {_MISSING}")
    return container.pop(key)


def _child(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    if isinstance(container, list):
        return container[_index(key, len(container))]
    raise _BadIndex


def _index(key: str, length: int) -> int:
    """A place in a list of `length` places; negative ones count from the end."""
    if not _INDEX.match(key):
        raise _BadIndex(f"strconv.Atoi: parsing {go_quote(key)}: invalid syntax")
    index = int(key)
    if not -length <= index < length:
        raise _BadIndex(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:
        raise PatchRejectedError from None


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
