"""Text from bytes that may be no UTF-8, read as Go reads it."""

from __future__ import annotations

import codecs


def _each(error: UnicodeError) -> tuple[str, int]:
    """Every bad byte becomes one replacement character; Python's own handler joins some."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("polykind.each", _each)


def lenient(data: bytes) -> str:
    """The text, with U+FFFD for each byte that belongs to no character."""
    return data.decode(errors="polykind.each")
