"""The apiVersion and the kind that a decoded body gives itself."""

from __future__ import annotations

from typing import Any

from polykind.errors import BadRequest
from polykind.gotext import json_name

_STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_NAMES = {"apiversion": "apiVersion", "kind": "kind"}


def interpret(value: Any) -> tuple[str, str]:
    """apiVersion and kind, "" where the body has none. Raises BadRequest in the words of the reference's decoder."""
    if value is None:
        return "", ""
    if type(value) is not dict:
        raise _parse_error(f"{json_name(value)} into Go value of type {_STRUCT}")
    found = {"apiVersion": "", "kind": ""}
    for key, item in value.items():
        # This reader alone does not mind the case of keys; the last of several counts.
        if len(key) in (4, 10) and (name := _NAMES.get(_folded(key))) and item is not None:
            if type(item) is not str:
                raise _parse_error(f"{json_name(item)} into Go struct field .{name} of type string")
            found[name] = item
    version = found["apiVersion"]
    if version.count("/") > 1:
        raise BadRequest(f"unexpected GroupVersion string: {version}")
    return version, found["kind"]


def _folded(key: str) -> str:
    """A key without its case, as Go takes it: two letters have a third form."""
    return key.replace("\u017f", "s").replace("\u212a", "k").lower()


def _parse_error(why: str) -> BadRequest:
    return BadRequest(f"couldn't get version/kind; json parse error: json: cannot unmarshal {why}")
