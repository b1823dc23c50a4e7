"""UTF-8 as Go reads it: each invalid byte becomes one U+FFFD."""

from __future__ import annotations

import codecs


def _replace_each_byte(error: UnicodeError) -> tuple[str, int]:
    """Replace every invalid byte by U+FFFD. Python's own "replace" handler replaces several bytes by one U+FFFD."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error("polykind.replace_each_byte", _replace_each_byte)


def decode_utf8(data: bytes) -> str:
    """Decode bytes, with U+FFFD for each byte that is not part of a valid character."""
    return data.decode(errors="polykind.replace_each_byte")


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
