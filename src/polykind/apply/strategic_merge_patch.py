"""Strategic merge patches for built-in kinds. Some lists are merged item by item, others are replaced."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from polykind import errors
from polykind.apply.merge_patch import without_nulls
from polykind.apply.patch_errors import PatchRejectedError, nesting_error
from polykind.contract import JsonObject
from polykind.golang.fmt import go_print, go_quote, go_type
from polykind.golang.json import json_type_name

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_DELETE = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"
_NO_POSITION = float("inf")


FieldType = Literal["list", "pointer", "other"]


class Strategy(NamedTuple):
    """The merge strategy of a field. `fields` are the strategies of the fields of an object or of the items of a list.

    `key` is the merge key of a list of objects, "" for a list of scalars, or None if the patch replaces the list.
    """

    fields: Mapping[str, Strategy] = {}
    key: str | None = None
    replaces_object: bool = False
    """True if an object in a patch replaces the original object as a whole."""
    go_kind: str = ""
    """The kind of the Go type: struct, ptr (to a struct) or map. "" if the type is not known or is another."""
    go_name: str = ""
    """The name of the Go struct."""
    types: Mapping[str, FieldType] = {}
    """The types of all fields of the struct, by name."""

    def check_list(self, name: str) -> None:
        """Raise UnknownReasonError unless this struct has a list of that name, which a patch can order."""
        if not self.go_kind:
            return
        if self.go_kind == "map":
            raise errors.UnknownReasonError("merging an object in json but data type is not struct, instead is: map")
        found = self.types.get(name)
        if found is None:
            folded = name.lower()
            found = next((one for other, one in self.types.items() if other.lower() == folded), None)
        if found is None:
            text = f"unable to find api field in struct {self.go_name} for the json field {go_quote(name)}"
            raise errors.UnknownReasonError(text)
        if found == "other":
            raise errors.UnknownReasonError(f"expected slice or array type, but got: {self.go_kind}")


REPLACE = Strategy()
OBJECT = Strategy({"metadata": Strategy({"ownerReferences": Strategy(key="uid"), "finalizers": Strategy(key="")})})
"""The strategy for objects of which only the type of the metadata is known."""


def apply(document: JsonObject, patch: Any, strategy: Strategy = OBJECT) -> JsonObject:
    """Return the document after the patch. The input is not changed."""
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise errors.BadRequestError(
            f"json: cannot unmarshal {json_type_name(patch)} into Go value of type map[string]interface {{}}"
        )
    try:
        return _merge_maps(document, patch, strategy)
    except RecursionError:
        raise nesting_error() from None


def remaining_patch(patch: JsonObject, original: JsonObject, strategy: Strategy = OBJECT) -> JsonObject:
    """Return a patch as kube-apiserver's errors show it: without the parts that its merge removes from the patch.

    These are directives, lists with an order, and the nulls in values that the original does not have.
    """
    ordered = {key.partition("/")[2] for key in patch if key.startswith(_ORDER)}
    return {
        key: _remaining_value(value, original.get(key), strategy.fields.get(key, REPLACE))
        for key, value in patch.items()
        if key != _RETAIN and key not in ordered and not key.startswith(_ORDER)
    }


def _remaining_value(value: Any, before: Any, field: Strategy) -> Any:
    if isinstance(value, dict) and isinstance(before, dict):
        return value if field.replaces_object else remaining_patch(value, before, field)
    if isinstance(value, list) and isinstance(before, list):
        if not field.key:
            return _without_orders(value)
        live = [item for item in before if isinstance(item, dict)]
        positions = _Positions(item.get(field.key) for item in live)
        return [_remaining_item(item, live, positions, field) for item in value]
    return _without_orders(without_nulls(value)) if isinstance(value, dict | list) else value


def _remaining_item(item: Any, live: list[JsonObject], positions: _Positions, field: Strategy) -> Any:
    position = positions.find(item.get(field.key)) if isinstance(item, dict) else None
    return _without_orders(item) if position is None else remaining_patch(item, live[position], field)


def _without_orders(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_orders(item) for item in value]
    return remaining_patch(value, value, REPLACE) if isinstance(value, dict) else value


def _merge_maps(original: JsonObject, patch: JsonObject, strategy: Strategy) -> JsonObject:
    if _PATCH in patch:
        return _replace_map(patch)
    out = _retain_keys(original, patch)
    done = {_RETAIN}
    for key, order in patch.items():
        if key.startswith(_ORDER):
            done |= {key, _merge_ordered_list(out, patch, key, order, strategy)}
    for key, value in patch.items():
        if key in done:
            continue
        deleting = key.startswith(_DELETE)
        if deleting:
            key = _list_name(key, _DELETE, "invalid patch format of primitive list")
        if value is None:
            out.pop(key, None)
            continue
        before = out.get(key)
        field = strategy.fields.get(key, REPLACE)
        if isinstance(before, dict) and isinstance(value, dict):
            out[key] = value if field.replaces_object else _merge_maps(before, value, field)
        elif isinstance(before, list) and isinstance(value, list):
            out[key] = _merge_lists(before, value, field, deleting)
        elif not deleting:
            _set_value(out, key, value, before)
    return out


def _replace_map(patch: JsonObject) -> JsonObject:
    """Return the map that a patch with a $patch directive leaves."""
    directive = patch[_PATCH]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive == "delete":
        return {}
    raise _unknown_directive(patch)


def _set_value(out: JsonObject, key: str, value: Any, before: Any) -> None:
    """Set `out[key]` to a value of the patch that replaces `before`. Nulls and directives in the value are dropped."""
    if isinstance(value, dict | list) and type(value) is not type(before):
        value = without_nulls(value)
    value, keep = _without_directives(value)
    if keep:
        out[key] = value
    else:
        out.pop(key, None)


def _without_directives(value: Any) -> tuple[Any, bool]:
    if isinstance(value, dict):
        if _PATCH in value:
            return None, False
        pairs = {key: _without_directives(item) for key, item in value.items()}
        return {key: item for key, (item, keep) in pairs.items() if keep}, True
    if isinstance(value, list):
        return [item for item, keep in map(_without_directives, value) if keep], True
    return value, True


def _retain_keys(original: JsonObject, patch: JsonObject) -> JsonObject:
    """Return a copy of the original, without the keys that a $retainKeys directive does not name."""
    if _RETAIN not in patch:
        return original.copy()
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise errors.BadRequestError("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and key != _RETAIN and not key.startswith((_DELETE, _ORDER)) and key not in keys:
            raise errors.BadRequestError("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in keys}


def _merge_ordered_list(out: JsonObject, patch: JsonObject, directive: str, order: Any, strategy: Strategy) -> str:
    """Merge a list that has a $setElementOrder directive, and return the name of the list."""
    if not isinstance(order, list):
        raise _wrong_type("[]interface {}", order)
    name = _list_name(directive, _ORDER, "invalid patch format of setElementOrder list")
    field = strategy.fields.get(name, REPLACE)
    for container in (out, patch):
        if name in container and not isinstance(container[name], list):
            raise _wrong_type("[]interface {}", container[name])
    strategy.check_list(name)
    before, value = out.get(name), patch.get(name)
    _check_order(value or [], order, field.key or "")
    if before is not None or value is not None:
        out[name] = _merge_in_order(before, value, order, field)
    return name


def _merge_in_order(before: list[Any] | None, value: list[Any] | None, order: list[Any], field: Strategy) -> list[Any]:
    """Merge the lists of an object and of a patch, of which at least one exists, in an order that the patch sets."""
    if value is None:
        merged = before or []
    elif before is None:
        merged, _ = _without_directives(value)
    else:
        merged = _merge_lists(before, value, field, False)
        before = _overwritten(before, value, field.key) if field.key else before
    if not before and not value:
        raise errors.UnknownReasonError("no elements in any of the given slices")
    return _arrange(merged, order, before or [], field.key or "")


def _overwritten(before: list[Any], value: list[Any], key: str) -> list[Any]:
    """Return the live list `before` as it is in kube-apiserver's memory after a merge with the patch list `value`.

    kube-apiserver deletes items in place and writes added items into the free places. It sorts the merged list by the
    order of this list.
    """
    live, length = before.copy(), len(before)
    items = [item for item in value if isinstance(item, dict)]
    present = _Positions(item.get(key) for item in before)
    for deleted in (item.get(key) for item in items if item.get(_PATCH) == "delete"):
        if present.find(deleted) is not None:
            kept = [item for item in live[:length] if not _go_equal(item.get(key), deleted)]
            live[: len(kept)], length = kept, len(kept)
    present = _Positions(item.get(key) for item in live[:length])
    for item in items:
        if _PATCH not in item and present.find(item.get(key)) is None:
            if length < len(before):
                live[length] = item
                present.add(item.get(key))
            length += 1
    return live


def _check_order(items: list[Any], order: list[Any], key: str) -> None:
    """Raise UnknownReasonError if the items of the patch are not in the order of the $setElementOrder directive."""
    expected = [item for item in items if not (key and isinstance(item, dict) and item.get(_PATCH) == "delete")]
    position = 0
    for item in order:
        while position < len(expected) and isinstance(expected[position], dict) and _PATCH in expected[position]:
            position += 1
        if position == len(expected):
            return
        if _go_equal(_merge_key_value(expected[position], key), _merge_key_value(item, key)):
            position += 1
    if order and position < len(expected):
        raise errors.UnknownReasonError(
            f"The order in patch list:\n{go_print(items)}\n doesn't match {_ORDER} list:\n{go_print(order)}\n"
        )


def _merge_lists(before: list[Any], value: list[Any], field: Strategy, deleting: bool) -> list[Any]:
    if field.key is None and not deleting:
        return value
    if not before and not value:
        return before
    if isinstance((before or value)[0], list):
        raise PatchRejectedError
    kinds = {type(item) for item in (*before, *value)}
    if len(kinds) > 1:
        lists = f"{go_print(before)} {go_print(value)}"
        raise errors.UnknownReasonError(f"list element types are not identical: [{lists}]")
    if dict not in kinds:
        if deleting:
            return [item for item in before if item not in value]
        return _arrange(list(dict.fromkeys((*before, *value))), value, before, "")
    if not field.key:
        raise errors.UnknownReasonError("cannot merge lists without merge key for struct")
    return _merge_items(before, value, field, field.key)


def _merge_items(before: list[Any], value: list[Any], field: Strategy, key: str) -> list[Any]:
    plain: list[Any] = []
    deletions = _Positions(())
    replace = False
    for item in value:
        directive = item.get(_PATCH)
        if _PATCH not in item:
            plain.append(item)
        elif directive == "delete":
            deletions.add(_merge_key_value(item, key))
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise errors.UnknownReasonError("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if replace:
        return plain
    before = [old for old in before if deletions.find(old.get(key)) is None]
    merged, positions = before.copy(), _Positions(old.get(key) for old in before)
    for item in plain:
        name = _merge_key_value(item, key)
        position = positions.find(name)
        if position is None:
            merged.append(item)
            positions.add(name)
        else:
            merged[position] = _merge_maps(merged[position], item, field)
    return _arrange(merged, plain, before, key)


def _arrange(items: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """Return the items of a merged list, sorted by `order`.

    Items that are not in `order` are inserted by their position in the live list `before`.
    """
    if key and items:
        _check_objects(order)
    expected = _Positions(_merge_key_value(item, key) for item in order)
    live_order = _Positions(_merge_key_value(item, key) for item in before)
    in_patch = [expected.find(_merge_key_value(item, key)) is not None for item in items]
    patch_items = _sorted([item for item, ours in zip(items, in_patch, strict=True) if ours], expected, key)
    others = deque(_sorted([item for item, ours in zip(items, in_patch, strict=True) if not ours], live_order, key))
    out: list[Any] = []
    for item in patch_items:
        position = _position(item, live_order, key)
        while others and position != _NO_POSITION and _position(others[0], live_order, key) < position:
            out.append(others.popleft())
        out.append(item)
    return [*out, *others]


def _check_objects(order: list[Any]) -> None:
    """Raise UnknownReasonError if an item of a $setElementOrder directive for objects is not an object."""
    for index, item in enumerate(order):
        if not isinstance(item, dict):
            raise errors.UnknownReasonError(f"value for key {index} is not a map")


def _sorted(items: list[Any], order: _Positions, key: str) -> list[Any]:
    """Sort items by their position in `order`. An item that is not in `order` goes before all items sorted so far."""
    positions = [_position(item, order, key) for item in items]
    if _NO_POSITION not in positions:
        return [items[index] for index in sorted(range(len(items)), key=positions.__getitem__)]
    out: list[tuple[float, Any]] = []
    for position, item in zip(positions, items, strict=True):
        index = len(out)
        while index and (position == _NO_POSITION or position < out[index - 1][0]):
            index -= 1
        out.insert(index, (position, item))
    return [item for _, item in out]


def _position(item: Any, order: _Positions, key: str) -> float:
    position = order.find(_merge_key_value(item, key))
    return _NO_POSITION if position is None else position


class _Positions:
    """The first position of each value of a list. Values are equal as in Go: of the same type and value.

    Objects and lists are allowed.
    """

    def __init__(self, values: Iterable[Any]) -> None:
        self._count = 0
        self._hashable: dict[Any, int] = {}
        self._others: list[tuple[Any, int]] = []
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        """Add a value at the end."""
        try:
            self._hashable.setdefault((type(value), value), self._count)
        except TypeError:
            self._others.append((value, self._count))
        self._count += 1

    def find(self, value: Any) -> int | None:
        """Return the first position of a value, or None."""
        try:
            return self._hashable.get((type(value), value))
        except TypeError:
            return next((position for other, position in self._others if other == value), None)


def _go_equal(one: Any, other: Any) -> bool:
    """True if two values of JSON are equal in Go, where an integer never equals a float or a boolean."""
    return type(one) is type(other) and bool(one == other)


def _merge_key_value(item: Any, key: str) -> Any:
    if not key:
        return item
    if not isinstance(item, dict):
        raise _wrong_type("map[string]interface {}", item)
    if key not in item:
        raise errors.UnknownReasonError(f"map: {go_print(item)} does not contain declared merge key: {key}")
    return item[key]


def _list_name(directive: str, prefix: str, message: str) -> str:
    head, slash, name = directive.partition("/")
    if not slash or head != prefix:
        raise errors.BadRequestError(message)
    return name


def _wrong_type(expected: str, value: Any) -> errors.UnknownReasonError:
    type_name = "%!s(<nil>)" if value is None else go_type(value)
    return errors.UnknownReasonError(f"expected a {expected}, but received a {type_name}")


def _unknown_directive(patch: JsonObject) -> errors.UnknownReasonError:
    return errors.UnknownReasonError(f"unknown patch type: {go_print(patch[_PATCH])} in map: {go_print(patch)}")
