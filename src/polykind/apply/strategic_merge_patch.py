"""Strategic merge patches: merge patches that know, for the kinds that are built in, which lists merge by items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from polykind import errors
from polykind.apply.merge_patch import without_nulls
from polykind.apply.patch_errors import PatchRejectedError, nesting_error
from polykind.contract import JsonObject
from polykind.golang.fmt import go_print, go_type

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_DELETE = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"
_NOWHERE = float("inf")


class Strategy(NamedTuple):
    """How a field merges: `key` names the items of a list (nothing: plain values); None, a list is replaced."""

    fields: Mapping[str, Strategy] = {}
    key: str | None = None


REPLACE = Strategy()
_META = Strategy({"ownerReferences": Strategy(key="uid"), "finalizers": Strategy(key="")})
_WEBHOOKS = Strategy(
    {"metadata": _META, "webhooks": Strategy({"matchConditions": Strategy(key="name")}, key="name")},
)
OBJECT = Strategy({"metadata": _META})
"""Objects of which nothing but the metadata is known to merge."""

STRATEGIES: Mapping[str, Strategy] = {
    "CustomResourceDefinition": OBJECT,
    **dict.fromkeys(
        ("Namespace", "StorageVersionMigration"),
        Strategy({"metadata": _META, "status": Strategy({"conditions": Strategy(key="type")})}),
    ),
    "Service": Strategy({"metadata": _META, "spec": Strategy({"ports": Strategy(key="port")})}),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "MutatingAdmissionPolicy": Strategy(
        {"metadata": _META, "spec": Strategy({"matchConditions": Strategy(key="name")})}
    ),
    "ValidatingAdmissionPolicy": Strategy(
        {
            "metadata": _META,
            "spec": Strategy({"matchConditions": Strategy(key="name"), "variables": Strategy(key="name")}),
        }
    ),
}


def apply(document: JsonObject, patch: Any, strategy: Strategy | None = None) -> JsonObject:
    """The document after the patch; the input stays as it is. Without a strategy, that of its kind is taken."""
    if patch is None:
        return document
    if not isinstance(patch, dict):
        raise errors.BadRequestError(
            f"json: cannot unmarshal {_json_name(patch)} into Go value of type map[string]interface {{}}"
        )
    if strategy is None:
        strategy = STRATEGIES.get(str(document.get("kind")), OBJECT)
    try:
        return _merge_maps(document, patch, strategy)
    except RecursionError:
        raise nesting_error() from None


def _json_name(value: Any) -> str:
    return "array" if isinstance(value, list) else {str: "string", bool: "bool"}.get(type(value), "number")


def _merge_maps(original: JsonObject, patch: JsonObject, strategy: Strategy) -> JsonObject:
    if _PATCH in patch:
        directive = patch[_PATCH]
        if directive == "replace":
            return {key: value for key, value in patch.items() if key != _PATCH}
        if directive == "delete":
            return {}
        raise _unknown_directive(patch)
    out = _retained(original, patch)
    done = {_RETAIN}
    for key, order in patch.items():
        if key.startswith(_ORDER):
            done |= {key, _order_list(out, patch, key, order, strategy)}
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
            out[key] = _merge_maps(before, value, field)
        elif isinstance(before, list) and isinstance(value, list):
            out[key] = _merge_lists(before, value, field, deleting)
        elif not deleting:
            _put(out, key, value, before)
    return out


def _put(out: JsonObject, key: str, value: Any, before: Any) -> None:
    """Takes a value of the patch as it is, but for nulls and directives, which would have found nothing to act on."""
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


def _retained(original: JsonObject, patch: JsonObject) -> JsonObject:
    """A copy of the original, without the keys that a retainKeys directive does not name."""
    if _RETAIN not in patch:
        return original.copy()
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise errors.BadRequestError("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and key != _RETAIN and not key.startswith((_DELETE, _ORDER)) and key not in keys:
            raise errors.BadRequestError("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in keys}


def _order_list(out: JsonObject, patch: JsonObject, directive: str, order: Any, strategy: Strategy) -> str:
    """Merges a list that comes with an order for its items; its name, as what needs no further merging."""
    if not isinstance(order, list):
        raise _wrong_type("[]interface {}", order)
    name = _list_name(directive, _ORDER, "invalid patch format of setElementOrder list")
    field = strategy.fields.get(name, REPLACE)
    for holder in (out, patch):
        if name in holder and not isinstance(holder[name], list):
            raise _wrong_type("[]interface {}", holder[name])
    before, value = out.get(name), patch.get(name)
    _check_order(value or [], order, field.key or "")
    if before is None and value is None:
        return name
    if value is None:
        merged = before or []
    elif before is None:
        merged, _ = _without_directives(value)
    else:
        merged = _merge_lists(before, value, field, False)
    if not before and not value:
        raise errors.UnknownReasonError("no elements in any of the given slices")
    out[name] = _arranged(merged, order, before or [], field.key or "")
    return name


def _check_order(items: list[Any], order: list[Any], key: str) -> None:
    """The items of the patch must stand in the order that the directive gives."""
    wanted = [item for item in items if not (key and isinstance(item, dict) and item.get(_PATCH) == "delete")]
    place = 0
    for item in order:
        while place < len(wanted) and isinstance(wanted[place], dict) and _PATCH in wanted[place]:
            place += 1
        if place == len(wanted):
            return
        if _name_of(wanted[place], key) == _name_of(item, key):
            place += 1
    if order and place < len(wanted):
        raise errors.UnknownReasonError(
            f"The order in patch list:\n{go_print(items)}\n doesn't match {_ORDER} list:\n{go_print(order)}\n"
        )


def _merge_lists(before: list[Any], value: list[Any], field: Strategy, deleting: bool) -> list[Any]:
    if field.key is None and not deleting:
        return value
    if not before and not value:
        return before
    kinds = {type(item) for item in (*before, *value)}
    if list in kinds:
        raise PatchRejectedError
    if len(kinds) > 1:
        shown = f"{go_print(before)} {go_print(value)}"
        raise errors.UnknownReasonError(f"list element types are not identical: [{shown}]")
    if dict not in kinds:
        if deleting:
            return [item for item in before if item not in value]
        return _arranged(list(dict.fromkeys((*before, *value))), value, before, "")
    if not field.key:
        raise errors.UnknownReasonError("cannot merge lists without merge key for struct")
    return _merge_items(before, value, field, field.key)


def _merge_items(before: list[Any], value: list[Any], field: Strategy, key: str) -> list[Any]:
    plain: list[Any] = []
    replace = False
    for item in value:
        directive = item.get(_PATCH)
        if _PATCH not in item:
            plain.append(item)
        elif directive == "delete":
            gone = _name_of(item, key)
            before = [old for old in before if old.get(key) != gone]
        elif directive == "replace":
            replace = True
        elif directive == "merge":
            raise errors.UnknownReasonError("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if replace:
        return plain
    merged = before.copy()
    for item in plain:
        name = _name_of(item, key)
        place = next((i for i, old in enumerate(merged) if old.get(key) == name), None)
        if place is None:
            merged.append(item)
        else:
            merged[place] = _merge_maps(merged[place], item, field)
    return _arranged(merged, plain, before, key)


def _arranged(items: list[Any], order: list[Any], before: list[Any], key: str) -> list[Any]:
    """Items of the patch in its order; the others go where they stood in the live list, as far as that can be told."""
    wanted = [_name_of(item, key) for item in order]
    stood = [_name_of(item, key) for item in before]
    ours = _sorted([item for item in items if _name_of(item, key) in wanted], wanted, key)
    others = _sorted([item for item in items if _name_of(item, key) not in wanted], stood, key)
    out: list[Any] = []
    for item in ours:
        name = _name_of(item, key)
        while others and name in stood and _place(others[0], stood, key) < stood.index(name):
            out.append(others.pop(0))
        out.append(item)
    return out + others


def _sorted(items: list[Any], order: list[Any], key: str) -> list[Any]:
    """Items by their place in an order; one without a place goes before all that came before it."""
    out: list[Any] = []
    for item in items:
        place = _place(item, order, key)
        index = len(out)
        while index and (place == _NOWHERE or place < _place(out[index - 1], order, key)):
            index -= 1
        out.insert(index, item)
    return out


def _place(item: Any, order: list[Any], key: str) -> float:
    name = _name_of(item, key)
    return order.index(name) if name in order else _NOWHERE


def _name_of(item: Any, key: str) -> Any:
    if not key:
        return item
    if not isinstance(item, dict):
        raise _wrong_type("map[string]interface {}", item)
    if key not in item:
        raise errors.UnknownReasonError(f"map: {go_print(item)} does not contain declared merge key: {key}")
    return item[key]


def _list_name(directive: str, prefix: str, why: str) -> str:
    head, slash, name = directive.partition("/")
    if not slash or head != prefix:
        raise errors.BadRequestError(why)
    return name


def _wrong_type(wanted: str, value: Any) -> errors.UnknownReasonError:
    found = "%!s(<nil>)" if value is None else go_type(value)
    return errors.UnknownReasonError(f"expected a {wanted}, but received a {found}")


def _unknown_directive(patch: JsonObject) -> errors.UnknownReasonError:
    return errors.UnknownReasonError(f"unknown patch type: {go_print(patch[_PATCH])} in map: {go_print(patch)}")
