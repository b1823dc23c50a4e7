"""Users' regular expressions: RE2, in linear time, with Go's meaning."""

from __future__ import annotations

from collections.abc import Callable

import re2

from polykind.golang.regexp import PatternError, Scanner

__all__ = ["Pattern", "PatternError", "compile_pattern"]

re2.set_fallback_notification(re2.FALLBACK_EXCEPTION)


class Pattern:
    """A compiled pattern; `contains` is RE2's own search, which refuses lone surrogates."""

    __slots__ = ("contains",)

    def __init__(self, contains: Callable[[str], bool]) -> None:
        self.contains = contains

    def __call__(self, value: str) -> bool:
        try:
            return bool(self.contains(value))
        except UnicodeEncodeError:
            return bool(self.contains(whole(value)))


def compile_pattern(text: str) -> Pattern:
    """Whether a text holds a match anywhere: ASCII \\d and \\w, `$` only at the very end. Raises PatternError."""
    if not text.isprintable():
        text = whole(text)
    respelled = Scanner(text).scan()
    try:
        return Pattern(re2.compile(respelled, re2.ASCII).contains)
    except re2.error as error:
        code, _, expr = str(error).partition(": ")
        raise PatternError(_go_code(code), expr or text) from None
    except Exception:
        raise PatternError("invalid or unsupported Perl syntax", text) from None


def whole(text: str) -> str:
    """The text as Go decodes it: lone surrogates become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") if _broken(text) else text


def _broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _go_code(code: str) -> str:
    if code == "invalid repetition size":
        return "invalid repeat count"
    return "expression too large" if code.startswith("pattern too large") else code
