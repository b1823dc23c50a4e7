"""The apiVersion and the kind that a decoded body gives itself."""

from __future__ import annotations

from typing import Any

from polykind.errors import BadRequest
from polykind.gotext import json_name

_STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


def interpret(value: Any) -> tuple[str, str]:
    """apiVersion and kind, "" where the body has none. Raises BadRequest in the words of the reference's decoder."""
    if value is None:
        return "", ""
    if type(value) is not dict:
        raise _parse_error(f"{json_name(value)} into Go value of type {_STRUCT}")
    for key, item in value.items():
        if key in ("apiVersion", "kind") and item is not None and type(item) is not str:
            raise _parse_error(f"{json_name(item)} into Go struct field .{key} of type string")
    version = value.get("apiVersion") or ""
    if version.count("/") > 1:
        raise BadRequest(f"unexpected GroupVersion string: {version}")
    return version, value.get("kind") or ""


def _parse_error(why: str) -> BadRequest:
    return BadRequest(f"couldn't get version/kind; json parse error: json: cannot unmarshal {why}")
