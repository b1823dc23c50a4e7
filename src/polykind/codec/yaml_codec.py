"""YAML bodies to values and back, as the reference reads and prints them.

Most servers see JSON alone: the parser and the printer of YAML are imported when there is something for them to do.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from polykind.codec import json_codec
from polykind.errors import BadRequestError

STRICT_PREFIX: Final = "yaml: unmarshal errors:\n  "

# JSON that YAML refuses or reads in another way: escaped solidi and surrogates; raw controls, breaks and marks.
_NOT_AS_JSON: Final = re.compile(
    rb"\\(?:/|u[dD][89a-fA-F])|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef(?:\xbb\xbf|\xbf[\xbe\xbf])"
)
_before_colons: Final = re.compile(rb'"(\s+):').findall
_UNQUOTED: Final = bytes(b if b == 0x22 else 0x20 for b in range(256))
_LONG: Final = b" " * 1000
"""What with quotes, and blanks before the colon, may be longer than the 1024 characters of a key."""


class MalformedYAMLError(BadRequestError):
    """A body that is no YAML, or none that JSON can say."""


def decode(body: bytes) -> Any:
    """The value of the first document; None if there is none. Raises MalformedYAML."""
    return decode_strict(body)[0]


def decode_strict(body: bytes) -> tuple[Any, list[str]]:
    """The value, and a complaint such as `line 3: key "x" already set in map` for each key that is repeated."""
    if body[:1] == b"{" and _NOT_AS_JSON.search(body) is None and not _spread_keys(body):
        try:
            value = json_codec.decode(body)
            if not json_codec.duplicate_keys(body, value):
                return value, []
        except json_codec.MalformedJSONError:
            pass
    from polykind.codec.yaml_reader import read

    return read(body)


def _spread_keys(body: bytes) -> bool:
    """Whether keys may be too long for YAML, or on another line than their colons."""
    lines = b"\n" in body or b"\r" in body
    if lines and any(b"\n" in blanks or b"\r" in blanks for blanks in _before_colons(body)):
        return True
    if len(body) <= len(_LONG) or _LONG not in body.translate(_UNQUOTED):
        return False
    pieces = body.split(b'"')
    return any(len(piece) >= len(_LONG) and after.lstrip()[:1] == b":" for piece, after in pairwise(pieces))


def strict_error(complaints: list[str]) -> str:
    """The complaints of a strict reading as one error."""
    return STRICT_PREFIX + "\n  ".join(complaints)


def encode(value: Any) -> bytes:
    """The value as a YAML document: keys in natural order, texts quoted where they would be read as something else."""
    from polykind.codec.yaml_writer import write

    return write(value)


def encode_ordered(value: Any) -> bytes:
    """As `encode`, with the keys as they come and long lines left whole: for files that people keep."""
    from polykind.codec.yaml_writer import write

    return write(value, ordered=True)
