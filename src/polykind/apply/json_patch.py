"""JSON patches (RFC 6902). As in kube-apiserver's library, some operations that violate the RFC are accepted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import orjson

from polykind import errors
from polykind.apply.compare import json_equal
from polykind.apply.patch_errors import PatchRejectedError, PatchTestFailedError, nesting_error
from polykind.contract import JsonObject, copy_json
from polykind.golang.fmt import go_quote
from polykind.golang.json import encode_json, go_json, json_type_name

MAX_OPERATIONS = 10000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""The maximum number of bytes that the `copy` operations of one patch may add. Each could double the object's size."""

_MISSING = "missing value"
_FIELDS = ("op", "path", "from", "value")
_TEXTS = ("op", "path", "from")
_STRICT_TEXTS = ("error decoding patch: ", "[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
_LENIENT_TEXTS = ("", "jsonpatch.Patch", "jsonpatch.Operation")
_INDEX = re.compile(r"[+-]?[0-9]{1,18}\Z")
NOT_AN_OBJECT = (
    "couldn't get version/kind; json parse error: json: cannot unmarshal %s into Go value of type struct "
    '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def apply(document: JsonObject, operations: Any, *, lenient: bool = False) -> JsonObject:
    """Return the document after the operations. The input does not change. The result shares unchanged parts with it.

    `operations` is a list, or JSON as bytes. `lenient` is true if no strict decoder has checked the operations before.
    """
    if isinstance(operations, bytes):
        operations = _decode(operations)
    operations = check_operations(operations, lenient=lenient)
    if len(operations) > MAX_OPERATIONS:
        raise errors.RequestTooLargeError(
            "Request entity too large: "
            f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        )
    result = apply_operations(document, operations)
    if isinstance(result, dict):
        return result
    raise errors.InvalidError(
        "", "", "", [errors.invalid("patch", go_json(result), NOT_AN_OBJECT % json_type_name(result))]
    )


def apply_operations(document: JsonObject, operations: list[JsonObject]) -> Any:
    """Apply checked operations. The result may be any JSON value."""
    patcher = _Patcher(document)
    try:
        for operation in operations:
            patcher.run(operation)
    except RecursionError:
        raise nesting_error() from None
    return patcher.root


def check_operations(operations: Any, *, lenient: bool = False) -> list[JsonObject]:
    """Return the operations. Raise BadRequestError if they are invalid. None is treated as an empty list.

    A null operation is treated as an object without fields. If `lenient` is true, a field of a wrong type is accepted
    here, and applying its operation fails later with the error message of kube-apiserver's patch library.
    """
    if operations is None:
        return []
    prefix, list_type, item_type = _LENIENT_TEXTS if lenient else _STRICT_TEXTS
    if not isinstance(operations, list):
        raise _unmarshal_error(prefix, operations, f"value of type {list_type}")
    for operation in operations:
        if operation is None:
            continue
        if not isinstance(operation, dict):
            raise _unmarshal_error(prefix, operation, f"value of type {item_type}")
        for field, value in operation.items():
            if not lenient and field in _TEXTS and value is not None and not isinstance(value, str):
                raise _unmarshal_error(prefix, value, f"struct field jsonPatchOp.{field} of type string")
    return [operation or {} for operation in operations]


def _unmarshal_error(prefix: str, value: Any, target: str) -> errors.BadRequestError:
    return errors.BadRequestError(f"{prefix}json: cannot unmarshal {json_type_name(value)} into Go {target}")


def unknown_fields(operations: list[Any]) -> list[str]:
    """Return kube-apiserver's strict decoding errors about fields of the operations that RFC 6902 does not define."""
    return [
        f'json patch unknown field "[{index}].{key}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for key in operation
        if key not in _FIELDS
    ]


class TestText(NamedTuple):
    """The expected value of a test operation as JSON text. kube-apiserver compares scalars by their text."""

    text: bytes


_members = msgspec.json.Decoder(list[dict[str, msgspec.Raw] | None]).decode


def keep_test_texts(operations: Any, body: bytes) -> Any:
    """Replace the expected values of test operations by their JSON text in the request body."""
    try:
        members = _members(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return operations
    for operation, texts in zip(operations, members, strict=True):
        if texts and "value" in texts and operation.get("op") == "test":
            operation["value"] = TestText(bytes(texts["value"]))
    return operations


def _matches_text(value: Any, text: bytes) -> bool:
    """True if the JSON of `value`, as kube-apiserver encodes it, equals `text`. The order of keys is ignored."""
    if isinstance(value, dict):
        if not text.startswith(b"{"):
            return False
        fields = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        return fields.keys() == value.keys() and all(_matches_text(value[k], bytes(v)) for k, v in fields.items())
    if isinstance(value, list):
        if not text.startswith(b"["):
            return False
        items = msgspec.json.decode(text, type=list[msgspec.Raw])
        return len(items) == len(value) and all(map(_matches_text, value, map(bytes, items)))
    return encode_json(value) == text


def _decode(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.BadRequestError(f"error decoding patch: {error}") from None


class _Patcher:
    """Applies the operations of one patch. Containers are copied before their first change."""

    def __init__(self, document: JsonObject) -> None:
        self.root: Any = document
        self.copies: dict[int, Any] = {}
        self.copied_bytes = 0

    def run(self, operation: JsonObject) -> None:
        op = operation.get("op")
        action = _ACTIONS.get(op) if isinstance(op, str) else None
        if action is None:
            raise PatchRejectedError(f"Unexpected kind: {op if isinstance(op, str) else 'unknown'}")
        action(self, operation)

    def add(self, operation: JsonObject) -> None:
        path = _text(operation, "path", "add")
        missing_error = f'add operation does not apply: doc is missing path: "{path}": {_MISSING}'
        self.put(path, operation.get("value"), missing_error, f"error in add for path: '{path}'")

    def remove(self, operation: JsonObject) -> None:
        path = _text(operation, "path", "remove")
        missing_error = f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}'
        container, key = self.writable(path, missing_error)
        _pop(container, key, f"error in remove for path: '{path}'")

    def replace(self, operation: JsonObject) -> None:
        path, value = _text(operation, "path", "replace"), operation.get("value")
        if path == "":
            if not isinstance(value, dict | list):
                raise PatchRejectedError("replace operation value must be object or array: %!w(<nil>)")
            self.root = value
            return
        missing_error = "replace operation does not apply: doc is missing"
        container, key = self.writable(path, f"{missing_error} path: {path}: {_MISSING}")
        try:
            container[_index(key, len(container)) if isinstance(container, list) else key] = value
        except _InvalidIndexError:
            raise PatchRejectedError(f"{missing_error} key: {path}: {_MISSING}") from None

    def move(self, operation: JsonObject) -> None:
        source = _text(operation, "from", "move")
        missing_error = "move operation does not apply: doc is missing"
        container, key = self.writable(source, f"{missing_error} from path: {source}: {_MISSING}")
        value = _pop(container, key, f"error in move for path: '{key}'")
        path = _text(operation, "path", "move")
        self.put(
            path, value, f"{missing_error} destination path: {path}: {_MISSING}", f"error in move for path: '{path}'"
        )

    def copy(self, operation: JsonObject) -> None:
        source = _text(operation, "from", "copy")
        missing_error = "copy operation does not apply: doc is missing"
        value = self.get(
            source, f"{missing_error} from path: {source}: {_MISSING}", f"error in copy for from: '{source}'"
        )
        if isinstance(value, dict | list):
            self.copied_bytes += _size(value)
            value = copy_json(value)
        else:
            self.copied_bytes += len(value) if isinstance(value, str) else 8
        path = _text(operation, "path", "copy")
        if self.copied_bytes > MAX_COPIED_BYTES:
            raise PatchRejectedError(
                f"Unable to complete the copy, the accumulated size increase of copy is {self.copied_bytes}, "
                f"exceeding the limit {MAX_COPIED_BYTES}"
            )
        error_prefix = "error while adding value during copy"
        self.put(path, value, f"{missing_error} destination path: {path}: {_MISSING}", error_prefix)

    def test(self, operation: JsonObject) -> None:
        path, expected = _text(operation, "path", "test"), operation.get("value")
        missing_error = f"test operation does not apply: is missing path: {path}: {_MISSING}"
        value = self.root if path == "" else self.get(path, missing_error, f"error in test for path: '{path}'")
        if not (_matches_text(value, expected.text) if isinstance(expected, TestText) else json_equal(value, expected)):
            raise PatchTestFailedError(f"testing value {path} failed: test failed")

    def get(self, path: str, missing_error: str, error_prefix: str) -> Any:
        *parents, key = _keys(path, missing_error)
        container = self.root
        try:
            for part in parents:
                container = _child(container, part)
        except _InvalidIndexError:
            raise PatchRejectedError(missing_error) from None
        if isinstance(container, dict):
            # A missing key reads as null, so that it can be tested for and copied.
            return container.get(key)
        if not isinstance(container, list):
            raise PatchRejectedError(missing_error)
        try:
            return container[_index(key, len(container))]
        except _InvalidIndexError as error:
            raise PatchRejectedError(f"{error_prefix}: {error}") from None

    def put(self, path: str, value: Any, missing_error: str, error_prefix: str) -> None:
        container, key = self.writable(path, missing_error)
        if isinstance(container, dict):
            container[key] = value
        elif key == "-":
            container.append(value)
        else:
            try:
                container.insert(_index(key, len(container) + 1), value)
            except _InvalidIndexError as error:
                detail = "" if _INDEX.match(key) else f"value was not a proper array index: '{key}': "
                raise PatchRejectedError(f"{error_prefix}: {detail}{error}") from None

    def writable(self, path: str, missing_error: str) -> tuple[Any, str]:
        """Return the dict or list that contains the target of `path`, and the target's key or index in it.

        The container is a copy that the caller may change. Raise PatchRejectedError if it does not exist.
        """
        *parents, key = _keys(path, missing_error)
        container = self.root = self.writable_copy(self.root)
        try:
            for part in parents:
                index_or_key: Any = _index(part, len(container)) if isinstance(container, list) else part
                child = _child(container, part)
                if not isinstance(child, dict | list):
                    raise PatchRejectedError(missing_error)
                writable_copy = self.writable_copy(child)
                if writable_copy is not child:
                    container[index_or_key] = writable_copy
                container = writable_copy
        except _InvalidIndexError:
            raise PatchRejectedError(missing_error) from None
        return container, key

    def writable_copy(self, container: Any) -> Any:
        if id(container) in self.copies:
            return container
        copy = container.copy()
        self.copies[id(copy)] = copy
        return copy


_ACTIONS: dict[str, Callable[[_Patcher, JsonObject], None]] = {
    "add": _Patcher.add,
    "remove": _Patcher.remove,
    "replace": _Patcher.replace,
    "move": _Patcher.move,
    "copy": _Patcher.copy,
    "test": _Patcher.test,
}


class _InvalidIndexError(Exception):
    """A path segment that is not a valid index of a list."""


def _text(operation: JsonObject, field: str, op: str) -> str:
    value = operation.get(field)
    if isinstance(value, str):
        return value
    message = f"operation{',' if field == 'from' else ''} missing {field} field: {_MISSING}"
    if value is not None:
        message = f"json: cannot unmarshal {json_type_name(value)} into Go value of type string"
    # For these combinations of operation and field, kube-apiserver's library does not report the wrong type.
    if (op, field) in (("add", "path"), ("remove", "path"), ("copy", "path")):
        message = _MISSING
    raise PatchRejectedError(f"{op} operation failed to decode {field}: {message}")


def _keys(path: str, missing_error: str) -> list[str]:
    if "/" not in path:
        raise PatchRejectedError(missing_error)
    keys: list[str] = path.split("/")[1:]
    return [key.replace("~1", "/").replace("~0", "~") for key in keys] if "~" in path else keys


def _pop(container: Any, key: str, error_prefix: str) -> Any:
    if isinstance(container, list):
        try:
            return container.pop(_index(key, len(container)))
        except _InvalidIndexError as error:
            raise PatchRejectedError(f"{error_prefix}: {error}") from None
    if key not in container:
        raise PatchRejectedError(f"{error_prefix}: Unable to remove nonexistent key: {key}: {_MISSING}")
    return container.pop(key)


def _child(container: Any, key: str) -> Any:
    if isinstance(container, dict):
        return container.get(key)
    if isinstance(container, list):
        return container[_index(key, len(container))]
    raise _InvalidIndexError


def _index(key: str, length: int) -> int:
    """Parse an index of a list with `length` positions. A negative index counts from the end."""
    if not _INDEX.match(key):
        raise _InvalidIndexError(f"strconv.Atoi: parsing {go_quote(key)}: invalid syntax")
    index = int(key)
    if not -length <= index < length:
        raise _InvalidIndexError(f"Unable to access invalid index: {index}: invalid index referenced")
    return index + length if index < 0 else index


def _size(value: Any) -> int:
    try:
        return len(orjson.dumps(value))
    except TypeError:
        raise PatchRejectedError from None
