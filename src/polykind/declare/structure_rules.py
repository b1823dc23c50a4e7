"""Field rules that change the structure around a value: lists to maps, and values to objects.

crontabs.between(
    "v1",
    "v2",
    list_to_map("spec.ports", "spec.portsByName", key="name"),
    wrap("spec.image", "spec.image.name"),
)
"""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject
from polykind.declare.field_rules import MISSING, FieldRule, backwards
from polykind.declare.rule_place import caller_place
from polykind.declare.translation import Values, translate


def list_to_map(old: str, new: str, *, key: str, value: str | None = None) -> FieldRule:
    """Declare a list of objects that is a map in the newer version, by the field `key` of its items.

    With `value`, the map has only the field `value` of each item, so that `[{name: a, value: 1}]` becomes `{a: 1}`. The
    order of the list is kept in the stash. A list with duplicate or missing keys is stashed as a whole.
    """
    if not key or key == value:
        raise ValueError(f"{old}: name the field of the items that is the key")

    def there(values: Values) -> Values | None:
        items = values[0]
        if items is MISSING:
            return (MISSING,)
        out: JsonObject = {}
        if not isinstance(items, list):
            return None
        for item in items:
            name = item.get(key) if isinstance(item, dict) else None
            if not isinstance(name, str) or name in out:
                return None
            rest = {field: inner for field, inner in item.items() if field != key}
            if value is None:
                out[name] = rest
            elif rest.keys() == {value} and rest[value] is not None:
                out[name] = rest[value]
            else:
                return None
        return (out,)

    def back(values: Values) -> Values | None:
        items = values[0]
        if items is MISSING:
            return (MISSING,)
        if not isinstance(items, dict):
            return None
        if value is not None:
            return ([{key: name, value: items[name]} for name in sorted(items)],)
        if not all(isinstance(item, dict) and key not in item for item in items.values()):
            return None
        return ([{key: name, **items[name]} for name in sorted(items)],)

    def keep_order(converted: Values, original: Values) -> Values:
        """Sort the items of an edited map as in the original list. Added items come last."""
        if not isinstance(original[0], list) or not isinstance(converted[0], list):
            return converted
        names = [item.get(key) for item in original[0] if isinstance(item, dict)]
        order = {name: at for at, name in enumerate(names) if isinstance(name, str)}
        return (sorted(converted[0], key=lambda item: order.get(item[key], len(order))),)

    return translate("list_to_map", [old], [new], there, back, caller_place(), merge_back=keep_order)


def map_to_list(old: str, new: str, *, key: str, value: str | None = None) -> FieldRule:
    """Declare a map that is a list of objects in the newer version. The opposite of `list_to_map`."""
    return backwards(list_to_map(new, old, key=key, value=value))._replace(name="map_to_list")


def wrap(old: str, new: str) -> FieldRule:
    """Declare a value that is a field of an object in the newer version, such as `spec.image` and `spec.image.name`.

    Other fields of the object are kept in the stash, also if a client of the older version changes the value.
    """
    container, _, field = new.rpartition(".")
    if not container or container.endswith("]"):
        raise ValueError(f"{new} is not a field of an object")

    def there(values: Values) -> Values | None:
        if values[0] is None:
            return None
        return (MISSING if values[0] is MISSING else {field: values[0]},)

    def back(values: Values) -> Values | None:
        if values[0] is MISSING:
            return (MISSING,)
        return (values[0][field],) if isinstance(values[0], dict) and values[0].get(field) is not None else None

    def keep_fields(converted: Values, original: Values) -> Values:
        if not isinstance(original[0], dict) or not isinstance(converted[0], dict):
            return converted
        merged: dict[str, Any] = {**original[0], **converted[0]}
        return (merged,)

    rule = translate("wrap", [old], [container], there, back, caller_place(), merge_there=keep_fields)
    return rule._replace(paths=(*rule.paths, (rule.paths[1][0], new)))


def unwrap(old: str, new: str) -> FieldRule:
    """Declare a field of an object that is a value in the newer version. The opposite of `wrap`."""
    return backwards(wrap(new, old))._replace(name="unwrap")
