"""Validation of x-kubernetes-list-type: the items of a set and the keys of a map must be unique."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.errors import FieldError
from polykind.golang.sorting import sorted_strings
from polykind.schema.equality import hashable_key
from polykind.schema.node import SchemaNode


def validate_list_types(node: SchemaNode | None, value: Any, path: str, field_errors: list[FieldError]) -> None:
    """Append an error to `field_errors` for each duplicate item of a set or map list in `value`, at any depth."""
    if node is None:
        return
    if type(value) is dict:
        additional = node.additional
        if additional is not None:
            for key in sorted_strings(value):
                if type(value[key]) in (dict, list):
                    validate_list_types(additional, value[key], f"{path}[{key}]", field_errors)
        for key in sorted_strings(value):
            if type(value[key]) in (dict, list):
                validate_list_types(node.property_node(key), value[key], f"{path}.{key}" if path else key, field_errors)
    elif type(value) is list:
        validate_list_type(node, value, path, field_errors)
        if node.items is not None:
            for at, item in enumerate(value):
                if type(item) in (dict, list):
                    validate_list_types(node.items, item, f"{path}[{at}]", field_errors)


def validate_list_type(node: SchemaNode, value: list[Any], path: str, field_errors: list[FieldError]) -> None:
    """Append an error to `field_errors` for each duplicate item of one list. Lists inside its items are not checked."""
    if node.list_type == "set":
        field_errors.extend(errors.duplicate(f"{path}[{at}]", value[at]) for at in _second_occurrences(value))
    elif node.list_type == "map":
        _validate_map_list(node, value, path, field_errors)


def _validate_map_list(node: SchemaNode, value: list[Any], path: str, field_errors: list[FieldError]) -> None:
    for at, item in enumerate(value):
        if item is not None and type(item) is not dict:
            detail = "must be an object for an array of list-type map"
            field_errors.append(errors.invalid(f"{path}[{at}]", item, detail))
            return
    keys = [{name: item[name] for name in node.list_map_keys if item and name in item} for item in value]
    field_errors.extend(errors.duplicate(f"{path}[{at}]", keys[at]) for at in _second_occurrences(keys))


def _second_occurrences(values: list[Any]) -> list[int]:
    """Return the index of each value's second occurrence. kube-apiserver reports no further occurrences."""
    counts: dict[Any, int] = {}
    repeated = []
    for at, value in enumerate(values):
        key = hashable_key(value)
        count = counts[key] = counts.get(key, 0) + 1
        if count == 2:
            repeated.append(at)
    return repeated
