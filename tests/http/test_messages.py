"""Warning headers."""

from __future__ import annotations

import pytest

from polykind.http.messages import warning_headers


def warnings(*texts: str) -> list[str]:
    headers = warning_headers(list(texts))
    assert all(name == b"Warning" for name, _ in headers)
    return [value.decode() for _, value in headers]


def test_each_distinct_warning_once_in_order() -> None:
    assert warnings("b", "a", "b", "") == ['299 - "b"', '299 - "a"']


@pytest.mark.parametrize(
    ("text", "quoted"),
    [('say "hi"', r'"say \"hi\""'), ("a\\b", r'"a\\b"'), ("é 日本", '"é 日本"'), ("\u200b", '"\u200b"')],
)
def test_warnings_are_quoted(text: str, quoted: str) -> None:
    assert warnings(text) == [f"299 - {quoted}"]


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\x00", "\x7f", "\x85", "\ud800"])
def test_warnings_with_control_characters_are_dropped(text: str) -> None:
    assert warnings("before", text, "after") == ['299 - "before"', '299 - "after"']


def test_long_warnings_within_the_limit_are_complete() -> None:
    assert warnings("x" * 4096) == [f'299 - "{"x" * 4096}"']
    assert warnings("x" * 2048, "y" * 2048) == [f'299 - "{"x" * 2048}"', f'299 - "{"y" * 2048}"']


def test_warnings_above_the_limit_are_all_truncated() -> None:
    assert warnings("x" * 4097) == [f'299 - "{"x" * 256}"']
    assert warnings("short", "é" * 4092) == ['299 - "short"', f'299 - "{"é" * 256}"']


def test_truncated_warnings_above_the_limit_are_dropped() -> None:
    assert len(warnings(*(f"{i:03}" + "x" * 300 for i in range(40)))) == 16
    assert len(warnings(*(f"{i:03}" + "x" * 247 for i in range(40)))) == 17
