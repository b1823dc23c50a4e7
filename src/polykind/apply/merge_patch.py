"""JSON merge patches (RFC 7386), as kube-apiserver's library applies them."""

from __future__ import annotations

from typing import Any

from polykind import errors
from polykind.apply.patch_errors import nesting_error
from polykind.contract import JsonObject
from polykind.golang.json import json_type_name


def apply(document: JsonObject, patch: Any, *, lenient: bool = False) -> Any:
    """Return the document after the patch. The input does not change. The result shares unchanged parts with it.

    If `lenient` is true, a patch that is a list replaces the document. kube-apiserver then fails to decode the result.
    """
    if lenient and isinstance(patch, list):
        return without_nulls(patch)
    if patch is None or (lenient and not isinstance(patch, dict)):
        raise errors.BadRequestError("Invalid JSON Patch")
    if not isinstance(patch, dict):
        kind = json_type_name(patch)
        raise errors.BadRequestError(
            f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )
    try:
        return _merge(document, patch)
    except RecursionError:
        raise nesting_error() from None


def _merge(document: JsonObject, patch: JsonObject) -> JsonObject:
    out = document
    for key, value in patch.items():
        old = document.get(key)
        if value is None:
            if key not in document:
                continue
        elif isinstance(old, dict):
            if isinstance(value, dict):
                value = _merge(old, value)
                if value is old:
                    continue
            # A list that replaces an object keeps its nulls. This is the only case in which kube-apiserver does not
            # remove nulls.
        elif isinstance(value, dict | list):
            value = without_nulls(value)
        if out is document:
            out = document.copy()
        if value is None:
            del out[key]
        else:
            out[key] = value
    return out


def without_nulls(value: Any) -> Any:
    """Remove keys with null values at any depth, also inside lists. Null items of lists stay."""
    if isinstance(value, dict):
        out = value
        for key, item in value.items():
            new = without_nulls(item) if isinstance(item, dict | list) else item
            if new is not item or item is None:
                if out is value:
                    out = value.copy()
                if item is None:
                    del out[key]
                else:
                    out[key] = new
        return out
    items = value
    for index, item in enumerate(value):
        new = without_nulls(item) if isinstance(item, dict | list) else item
        if new is not item:
            if items is value:
                items = value.copy()
            items[index] = new
    return items
