"""Text from a cluster or a file, made safe to show: invisible control characters become visible."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and line feed, characters that change the direction of text, and surrogates."""


def printable(text: str) -> str:
    """Replace control characters by escapes such as `\\x1b`.

    Otherwise such text could send commands to the terminal, or show its letters in another order than they have.
    """
    return _CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
