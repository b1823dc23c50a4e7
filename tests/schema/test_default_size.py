"""The bound on the size of defaults."""

from __future__ import annotations

from typing import Any

import pytest

from polykind import errors
from polykind.schema import CompiledSchema

ITEM = {"type": "object", "properties": {f"p{number}": {"type": "string", "default": "x" * 20} for number in range(30)}}
SCHEMA = CompiledSchema(
    {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": ITEM},
            "map": {"type": "object", "additionalProperties": ITEM},
        },
    }
)


@pytest.mark.parametrize("obj", [{"list": [{}] * 5000}, {"map": {str(number): {} for number in range(5000)}}])
def test_defaults_beyond_the_limit_of_the_store_are_rejected(obj: dict[str, Any]) -> None:
    with pytest.raises(errors.UnknownReasonError, match="request is too large"):
        SCHEMA.check_default_size(b"{" * 5000, obj)


def test_defaults_of_present_fields_do_not_count() -> None:
    full = {f"p{number}": "" for number in range(30)}
    SCHEMA.check_default_size(b"{" * 5000, {"list": [full] * 5000})
    SCHEMA.check_default_size(b"{" * 5000, {"list": [{}] * 1000})
