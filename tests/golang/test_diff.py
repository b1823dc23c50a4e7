"""Tests of the unified diff of two encoded values."""

from __future__ import annotations

import orjson

from polykind.golang.diff import json_diff


def test_diff_has_hunks_with_context_only() -> None:
    before = orjson.Fragment(b'{"a":1,"b":"<","c":[1,2],"d":null}')
    after = orjson.Fragment(b'{"a":1,"b":"<","c":[1,3],"d":null}')
    assert json_diff(before, after) == (
        '@@ -3,7 +3,7 @@\n  "b": "\\u003c",\n  "c": [\n   1,\n-  2\n+  3\n  ],\n  "d": null\n }\n'
    )


def test_equal_values_have_no_diff() -> None:
    assert json_diff(None, None) == ""
