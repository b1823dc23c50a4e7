"""Warning headers."""

from __future__ import annotations

import pytest

from polykind.http.messages import warning_headers


def told(*texts: str) -> list[str]:
    found = warning_headers(list(texts))
    assert all(name == b"Warning" for name, _ in found)
    return [value.decode() for _, value in found]


def test_each_text_once_in_order() -> None:
    assert told("b", "a", "b", "") == ['299 - "b"', '299 - "a"']


@pytest.mark.parametrize(
    ("text", "quoted"),
    [('say "hi"', r'"say \"hi\""'), ("a\\b", r'"a\\b"'), ("é 日本", '"é 日本"'), ("\u200b", '"\u200b"')],
)
def test_texts_are_quoted(text: str, quoted: str) -> None:
    assert told(text) == [f"299 - {quoted}"]


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "\x00", "\x7f", "\x85", "\ud800"])
def test_what_cannot_stand_in_a_header_is_left_out(text: str) -> None:
    assert told("before", text, "after") == ['299 - "before"', '299 - "after"']


def test_long_texts_are_whole_while_they_fit_together() -> None:
    assert told("x" * 4096) == [f'299 - "{"x" * 4096}"']
    assert told("x" * 2048, "y" * 2048) == [f'299 - "{"x" * 2048}"', f'299 - "{"y" * 2048}"']


def test_texts_that_are_too_long_together_are_all_cut() -> None:
    assert told("x" * 4097) == [f'299 - "{"x" * 256}"']
    assert told("short", "é" * 4092) == ['299 - "short"', f'299 - "{"é" * 256}"']


def test_what_exceeds_even_when_cut_is_left_out() -> None:
    assert len(told(*(f"{i:03}" + "x" * 300 for i in range(40)))) == 16
    assert len(told(*(f"{i:03}" + "x" * 247 for i in range(40)))) == 17
