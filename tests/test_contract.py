from __future__ import annotations

from typing import Any

from hypothesis import given

from polykind.contract import copy_json
from tests.declare.test_conversions import JSON


@given(JSON)
def test_copy_json_shares_no_container(value: Any) -> None:
    def containers(at: Any) -> list[Any]:
        inner = list(at.values()) if isinstance(at, dict) else at if isinstance(at, list) else []
        return ([at] if isinstance(at, dict | list) else []) + [c for item in inner for c in containers(item)]

    copy = copy_json(value)
    assert copy == value
    assert not {id(c) for c in containers(copy)} & {id(c) for c in containers(value)}
