"""UTF-8 as Go reads it: each invalid byte becomes one U+FFFD."""

from __future__ import annotations

import re

_ESCAPED_AT_ONCE = 1 << 16
_replace_escaped = re.compile("[\udc80-\udcff]").sub


def decode_utf8(data: bytes) -> str:
    """Decode bytes, with U+FFFD for each byte that is not part of a valid character."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    # "surrogateescape" turns each invalid byte into one lone surrogate. "replace" would turn several bytes into one
    # U+FFFD. A long text is replaced in parts, because each call holds the interpreter lock.
    text = data.decode(errors="surrogateescape")
    starts = range(0, len(text), _ESCAPED_AT_ONCE)
    return "".join([_replace_escaped("\ufffd", text[start : start + _ESCAPED_AT_ONCE]) for start in starts])


def replace_lone_surrogates(text: str) -> str:
    """Replace lone surrogates by U+FFFD, as Go's JSON decoder does. Surrogate pairs become one character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def byte_length(text: str) -> int:
    """Return the length of a text in UTF-8 bytes, as Go's len() does."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
