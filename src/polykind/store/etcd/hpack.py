"""HPACK header compression (RFC 7541) as far as a gRPC client needs it.

The client announces a dynamic table of size zero, so every header is a literal or in the static table.
"""

from __future__ import annotations

from functools import lru_cache

from polykind.golang.varint import encode_varint

# The lengths of the Huffman codes of bytes 0 to 255 and of the end symbol: A is 5 bits, B 6 bits and so on. The codes
# follow from the lengths.
_CODE_LENGTHS = (
    "ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJB"
    "KABABABBBACCBBBABCBAABCCCCCKGJIXPRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRSVV"
    "PORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ"
)
_STATUS_INDEXES = range(8, 15)
"""The indexes of :status in the static table. The first index means status 200."""


class MalformedHeadersError(ValueError):
    """A block of HTTP/2 headers is malformed."""


def encode_literal(name: bytes, value: bytes) -> bytes:
    """Encode a header as a literal that the server does not add to its table."""
    return b"\0" + _encode_string(name) + _encode_string(value)


def encode_indexed_name(index: int, value: bytes) -> bytes:
    """Encode a header whose name is an entry of the static table."""
    return (bytes([index]) if index < 15 else bytes([15, index - 15])) + _encode_string(value)


def _encode_string(text: bytes) -> bytes:
    size = len(text)
    if size < 127:
        return bytes([size]) + text
    return bytes([127]) + encode_varint(size - 127) + text


@lru_cache(maxsize=64)
def decode(block: bytes) -> dict[bytes, bytes]:
    """Return :status and the literal headers of a block. Cached, because a server sends few distinct blocks."""
    out: dict[bytes, bytes] = {}
    at = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:
            index, at = _decode_integer(block, at, 7)
            if index in _STATUS_INDEXES:
                out[b":status"] = b"200" if index == _STATUS_INDEXES[0] else b"other"
        elif first & 0xE0 == 0x20:
            _, at = _decode_integer(block, at, 5)
        else:
            index, at = _decode_integer(block, at, 6 if first & 0x40 else 4)
            name = b":status" if index in _STATUS_INDEXES else b""
            if not index:
                name, at = _decode_string(block, at)
            value, at = _decode_string(block, at)
            out[name] = value
    return out


def _decode_integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    max_prefix = (1 << bits) - 1
    value = block[at] & max_prefix
    at += 1
    if value < max_prefix:
        return value, at
    shift = 0
    while True:
        if at >= len(block) or shift > 28:
            raise MalformedHeadersError("an integer is incomplete")
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _decode_string(block: bytes, at: int) -> tuple[bytes, int]:
    if at >= len(block):
        raise MalformedHeadersError("a string is incomplete")
    huffman = block[at] & 0x80
    size, at = _decode_integer(block, at, 7)
    text = block[at : at + size]
    if len(text) < size:
        raise MalformedHeadersError("a string is incomplete")
    return (_decode_huffman(text) if huffman else text), at + size


def _decode_huffman(text: bytes) -> bytes:
    """Decode a Huffman-coded string. Ignore the padding bits at its end."""
    out = bytearray()
    codes = _huffman_codes()
    code = length = 0
    for byte in text:
        for shift in range(7, -1, -1):
            code = code << 1 | byte >> shift & 1
            length += 1
            symbol = codes.get((length, code))
            if symbol is not None:
                out.append(symbol)
                code = length = 0
    return bytes(out)


@lru_cache(maxsize=1)
def _huffman_codes() -> dict[tuple[int, int], int]:
    lengths = [ord(letter) - ord("A") + 5 for letter in _CODE_LENGTHS]
    codes: dict[tuple[int, int], int] = {}
    code = before = 0
    for symbol in sorted(range(256), key=lambda symbol: (lengths[symbol], symbol)):
        code <<= lengths[symbol] - before
        before = lengths[symbol]
        codes[before, code] = symbol
        code += 1
    return codes
