"""The apiVersion and the kind that a decoded body gives itself."""

from __future__ import annotations

from typing import Any

from polykind.errors import BadRequestError
from polykind.golang.json import json_type_name

_STRUCT = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_NAMES = {"apiversion": "apiVersion", "kind": "kind"}


def read_type_meta(value: Any) -> tuple[str, str]:
    """apiVersion and kind, "" where the body has none. Raises BadRequest in the words of the reference's decoder."""
    if value is None:
        return "", ""
    if type(value) is not dict:
        raise _parse_error(f"{json_type_name(value)} into Go value of type {_STRUCT}")
    found = {"apiVersion": "", "kind": ""}
    for key, item in value.items():
        # The last of several counts.
        if item is not None and (name := type_meta_field(key)):
            if type(item) is not str:
                raise _parse_error(f"{json_type_name(item)} into Go struct field .{name} of type string")
            found[name] = item
    version = found["apiVersion"]
    if version.count("/") > 1:
        raise BadRequestError(f"unexpected GroupVersion string: {version}")
    return version, found["kind"]


def type_meta_field(key: str) -> str | None:
    """Which of the two a key names; this reader alone does not mind its case."""
    return _NAMES.get(_folded(key)) if len(key) in (4, 10) else None


def _folded(key: str) -> str:
    """A key without its case, as Go takes it: two letters have a third form."""
    return key.replace("\u017f", "s").replace("\u212a", "k").lower()


def _parse_error(why: str) -> BadRequestError:
    return BadRequestError(f"couldn't get version/kind; json parse error: json: cannot unmarshal {why}")
