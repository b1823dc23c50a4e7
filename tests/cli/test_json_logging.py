"""Log lines in the shape of kube-apiserver's JSON log."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from polykind.cli.json_logging import JsonFormatter


def line(level: int, message: str, *args: object, **attributes: Any) -> Any:
    record = logging.LogRecord("polykind.http", level, "/src/polykind/http/listener.py", 42, message, args, None)
    record.created = 1794975554.5804812
    for name, value in attributes.items():
        setattr(record, name, value)
    return json.loads(JsonFormatter().format(record))


def test_an_information_has_ts_caller_msg_and_v_in_this_order() -> None:
    found = line(logging.INFO, "http: %s", "näme\n")
    assert list(found.items()) == [
        ("ts", 1794975554580.4812),
        ("caller", "http/listener.py:42"),
        ("msg", "http: näme\n"),
        ("v", 2),
        ("logger", "polykind.http"),
    ]


def test_an_error_has_no_v() -> None:
    assert "v" not in line(logging.ERROR, "failed")
    assert line(logging.WARNING, "careful")["v"] == 0


def test_a_traceback_is_part_of_the_line() -> None:
    try:
        raise ValueError("broken \ud800")
    except ValueError:
        found = line(logging.ERROR, "http: GET / failed", exc_info=sys.exc_info())
    assert found["err"] == "broken \ud800"
    assert found["stacktrace"].startswith("Traceback (most recent call last)")


def test_fields_follow_the_title() -> None:
    found = line(logging.DEBUG, "text", title="HTTP", fields={"verb": "GET", "URI": "/version", "resp": 200})
    assert found["msg"] == "HTTP"
    assert list(found)[3:] == ["v", "verb", "URI", "resp"]
