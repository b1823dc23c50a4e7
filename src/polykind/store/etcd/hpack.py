"""HTTP/2 header blocks, as far as a gRPC client needs them: written plainly, read without a dynamic table.

The peer is told that our table has no room, so every header comes in full or from the static table.
"""

from __future__ import annotations

from functools import lru_cache

from polykind.store.etcd.wire import varint

# The lengths of the Huffman codes of bytes 0 to 255 and of the end, A for 5 bits; the codes follow from them.
_LENGTHS = (
    "ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJB"
    "KABABABBBACCBBBABCBAABCCCCCKGJIXPRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRSVV"
    "PORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ"
)
_STATUS = range(8, 15)
"""The static table's entries for :status; the first of them is 200."""


class MalformedBlock(ValueError):
    """A header block that cannot be read."""


def literal(name: bytes, value: bytes) -> bytes:
    """A header that nobody keeps in a table."""
    return b"\0" + _sized(name) + _sized(value)


def indexed_name(index: int, value: bytes) -> bytes:
    """A header whose name, not its value, is an entry of the static table."""
    return (bytes([index]) if index < 15 else bytes([15, index - 15])) + _sized(value)


def _sized(text: bytes) -> bytes:
    size = len(text)
    if size < 127:
        return bytes([size]) + text
    return bytes([127]) + varint(size - 127) + text


@lru_cache(maxsize=64)
def decode(block: bytes) -> dict[bytes, bytes]:
    """The headers of a block that are spelt out, and :status. The blocks of a server are few and always the same."""
    out: dict[bytes, bytes] = {}
    at = 0
    while at < len(block):
        first = block[at]
        if first & 0x80:
            index, at = _number(block, at, 7)
            if index in _STATUS:
                out[b":status"] = b"200" if index == _STATUS[0] else b"other"
        elif first & 0xE0 == 0x20:
            _, at = _number(block, at, 5)
        else:
            index, at = _number(block, at, 6 if first & 0x40 else 4)
            name = b":status" if index in _STATUS else b""
            if not index:
                name, at = _text(block, at)
            value, at = _text(block, at)
            out[name] = value
    return out


def _number(block: bytes, at: int, bits: int) -> tuple[int, int]:
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    shift = 0
    while True:
        if at >= len(block) or shift > 28:
            raise MalformedBlock("a number has no end")
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _text(block: bytes, at: int) -> tuple[bytes, int]:
    if at >= len(block):
        raise MalformedBlock("a header has no end")
    packed = block[at] & 0x80
    size, at = _number(block, at, 7)
    text = block[at : at + size]
    if len(text) < size:
        raise MalformedBlock("a header has no end")
    return (_unpacked(text) if packed else text), at + size


def _unpacked(text: bytes) -> bytes:
    """Huffman's code undone; what is left at the end is padding."""
    out = bytearray()
    codes = _codes()
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
def _codes() -> dict[tuple[int, int], int]:
    lengths = [ord(letter) - ord("A") + 5 for letter in _LENGTHS]
    codes: dict[tuple[int, int], int] = {}
    code = before = 0
    for symbol in sorted(range(256), key=lambda each: (lengths[each], each)):
        code <<= lengths[symbol] - before
        before = lengths[symbol]
        codes[before, code] = symbol
        code += 1
    return codes
