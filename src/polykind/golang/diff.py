"""The difference of two values as kube-apiserver's messages show it: a unified diff of indented JSON."""

from __future__ import annotations

import difflib
import json
from typing import Any

import orjson

from polykind.golang.json import escape_html


def json_diff(before: orjson.Fragment | None, after: orjson.Fragment | None) -> str:
    """Return the unified diff of two JSON texts, without the two header lines with file names."""
    return "".join(list(difflib.unified_diff(_lines(before), _lines(after)))[2:])


def _lines(value: orjson.Fragment | None) -> list[str]:
    decoded: Any = None if value is None else orjson.loads(orjson.dumps(value))
    text = json.dumps(decoded, indent=1, ensure_ascii=False)
    return [f"{line}\n" for line in escape_html(text.encode()).decode().split("\n")]
