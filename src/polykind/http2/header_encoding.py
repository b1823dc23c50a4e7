"""Encoding of headers as literals (RFC 7541, sections 5 and 6.2.2).

Literals are not added to the receiver's dynamic table. So an encoded header does not depend on earlier headers, and
can be sent on any connection.
"""

from __future__ import annotations

from polykind.golang.varint import encode_varint
from polykind.http2.static_table import STATIC_TABLE

_NAME_INDEXES = {name: index for index, (name, _) in reversed(list(enumerate(STATIC_TABLE, 1)))}
"""The first index of each name in the static table."""
_INDEXES = {header: index for index, header in enumerate(STATIC_TABLE, 1)}


def encode_header(name: bytes, value: bytes) -> bytes:
    """Encode a header. The name must be in lower case."""
    index = _INDEXES.get((name, value))
    if index is not None:
        return bytes([0x80 | index])
    return encode_name(name) + encode_string(value)


def encode_name(name: bytes) -> bytes:
    """Encode the name of a literal header. Its value, encoded by `encode_string`, must follow."""
    index = _NAME_INDEXES.get(name)
    if index is None:
        return b"\0" + encode_string(name)
    return bytes([index]) if index < 15 else bytes([15, index - 15])


def encode_string(text: bytes) -> bytes:
    """Encode a string without Huffman coding."""
    size = len(text)
    if size < 127:
        return bytes([size]) + text
    return b"\x7f" + encode_varint(size - 127) + text
