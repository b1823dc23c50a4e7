"""The decoder of the few values of an object that a Table shows."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.codec.sparse_decoder import SparseDecoder

PATHS = [("metadata", "name"), ("spec", "a", "b"), ("spec", "a-b"), ("status",), ("status", "c")]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b'{"metadata":{"name":"x","uid":"u"},"spec":{"z":1}}', {"metadata": {"name": "x"}, "spec": {}}),
        (b'{"spec":{"a":{"b":[1,{}],"c":2},"a-b":null}}', {"spec": {"a": {"b": [1, {}]}, "a-b": None}}),
        (b'{"status":{"c":1,"d":2.0}}', {"status": {"c": 1, "d": 2}}),
        (b'{"status":18446744073709551616}', {"status": 18446744073709551616.0}),
        (b'{"spec":"text","other":1}', {"spec": "text", "other": 1}),
        (b'{"spec":{"a-b":"\xff"}}', {"spec": {"a-b": "\ufffd"}}),
        (b"{}", {}),
    ],
)
def test_only_the_values_at_the_paths_are_decoded(data: bytes, found: Any) -> None:
    assert SparseDecoder(PATHS).decode(data) == found
