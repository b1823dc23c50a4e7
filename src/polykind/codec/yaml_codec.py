"""YAML decoding and encoding as in kube-apiserver.

The YAML parser and writer are imported on first use, because most servers never need them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any, Final

from polykind.codec import json_codec
from polykind.errors import BadRequestError

STRICT_PREFIX: Final = "yaml: unmarshal errors:\n  "

# Matches text in JSON that a YAML parser rejects or decodes differently: escaped slashes and surrogates, and unescaped
# control characters, Unicode line breaks and byte order marks.
_YAML_DIFFERS: Final = re.compile(
    rb"\\(?:/|u[dD][89a-fA-F])|\x7f|\xc2[\x80-\x9f]|\xe2\x80[\xa8\xa9]|\xef(?:\xbb\xbf|\xbf[\xbe\xbf])"
)
_space_before_colons: Final = re.compile(rb'"(\s+):').findall
_ALL_BUT_QUOTES_BLANKED: Final = bytes(b if b == 0x22 else 0x20 for b in range(256))
_LONG_RUN: Final = b" " * 1000
"""1000 bytes without a quote, after `_ALL_BUT_QUOTES_BLANKED` has replaced them by spaces.

A key of this length may exceed YAML's limit of 1024 characters before the colon.
"""


class MalformedYAMLError(BadRequestError):
    """A body that is not YAML or has no equivalent in JSON."""


def decode(body: bytes) -> Any:
    """Decode the first document.

    Return None if the body has no document. Raise MalformedYAMLError if it is malformed.
    """
    return decode_strict(body)[0]


def decode_strict(body: bytes, max_depth: int = 10_000) -> tuple[Any, bool, list[str]]:
    """Decode like `decode`. Also return True if all numbers are known to be ints, and an error such as
    `line 3: key "x" already set in map` for each duplicate key.

    `max_depth` is the number of nested mappings and sequences; the default is kube-apiserver's limit.
    """
    if body[:1] == b"{" and _YAML_DIFFERS.search(body) is None and not _has_incompatible_keys(body):
        try:
            value, integers_only = json_codec.decode_flagged(body)
            if not json_codec.duplicate_keys(body, value):
                return value, integers_only, []
        except json_codec.MalformedJSONError:
            pass
    from polykind.codec.yaml_parser import parse

    value, duplicates = parse(body, max_depth)
    return value, False, duplicates


def _has_incompatible_keys(body: bytes) -> bool:
    """True if a key may be too long for YAML, or if a line break separates a key from its colon."""
    lines = b"\n" in body or b"\r" in body
    if lines and any(b"\n" in blanks or b"\r" in blanks for blanks in _space_before_colons(body)):
        return True
    if len(body) <= len(_LONG_RUN) or _LONG_RUN not in body.translate(_ALL_BUT_QUOTES_BLANKED):
        return False
    pieces = body.split(b'"')
    return any(len(piece) >= len(_LONG_RUN) and after.lstrip()[:1] == b":" for piece, after in pairwise(pieces))


def strict_error(strict_errors: list[str]) -> str:
    """Join the errors of strict decoding into one message."""
    return STRICT_PREFIX + "\n  ".join(strict_errors)


def encode(value: Any) -> bytes:
    """Encode a value as a YAML document with sorted keys, in which a2 comes before a10. A string is quoted if it would
    be decoded as another type.
    """
    from polykind.codec.yaml_writer import write

    return write(value)


def encode_ordered(value: Any) -> bytes:
    """Encode a value without sorting its keys or folding long lines, for files that people edit."""
    from polykind.codec.yaml_writer import write

    return write(value, ordered=True)
