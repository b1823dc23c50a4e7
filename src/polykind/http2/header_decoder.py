"""Decoding of header blocks, with the dynamic table of one connection (RFC 7541)."""

from __future__ import annotations

from collections.abc import Callable

from polykind.http2.huffman import MalformedHeadersError, decode_huffman
from polykind.http2.static_table import STATIC_TABLE

Field = tuple[bytes, bytes, int, int]
"""A header: its name, its value, its size by RFC 7541 (section 4.1), and its class (see `HeaderDecoder`)."""
Classify = Callable[[bytes, bytes], int]
_OVERHEAD = 32
"""The bytes that RFC 7541 counts for each header in addition to its name and its value."""
_FIRST_DYNAMIC = len(STATIC_TABLE) + 1
_MAX_SHIFT = 21
"""The longest integers have five bytes. Longer ones are malformed, because no limit is so high."""


class HeadersTooLargeError(Exception):
    """The headers of a block exceed the limit."""


def static_fields(classify: Classify) -> list[Field | None]:
    """Return the static table by index, with the class of each header. Index 0 is not used."""
    return [None, *((name, value, _size(name, value), classify(name, value)) for name, value in STATIC_TABLE)]


class HeaderDecoder:
    """Decodes the header blocks of one connection.

    `classify` is called with the name and the value of each literal header and returns a number that is kept with the
    header. So a header that is repeated by its index is not checked again.
    """

    __slots__ = ("_classify", "_max_size", "_size", "_size_limit", "_table", "generation")

    def __init__(self, static: list[Field | None], classify: Classify, table_size: int = 4096) -> None:
        """`static` is the result of `static_fields`. `table_size` is the SETTINGS_HEADER_TABLE_SIZE that the client of
        this decoder has announced.
        """
        self._table = list(static)
        self._classify = classify
        self._size = 0
        self._max_size = self._size_limit = table_size
        self.generation = 0
        """Counts the changes of the dynamic table. In the same generation, equal blocks have equal headers."""

    def decode(self, block: bytes, max_size: int) -> list[Field]:
        """Return the headers of a block.

        Raise HeadersTooLargeError if the size of the headers exceeds `max_size`. Raise MalformedHeadersError if the
        block is malformed: then the decoder cannot be used any more.
        """
        fields: list[Field] = []
        table, at, end, total = self._table, 0, len(block), 0
        try:
            while at < end:
                first = block[at]
                if first > 0x80 and first != 0xFF:
                    field = table[first & 0x7F]
                    at += 1
                elif first >= 0x80:
                    index, at = decode_integer(block, at, 7)
                    field = table[index]
                elif first & 0xE0 == 0x20:
                    at = self._resize(block, at, is_first=not fields)
                    continue
                else:
                    field, at = self._literal(block, at, first)
                if field is None:
                    raise MalformedHeadersError("a header has the index 0")
                total += field[2]
                if total <= max_size:
                    fields.append(field)
        except IndexError:
            raise MalformedHeadersError("a header has an unknown index, or the block is incomplete") from None
        if total > max_size:
            raise HeadersTooLargeError
        return fields

    def _literal(self, block: bytes, at: int, first: int) -> tuple[Field, int]:
        indexed = first & 0x40
        index, at = decode_integer(block, at, 6 if indexed else 4)
        if index:
            known = self._table[index]
            if known is None:
                raise IndexError
            name = known[0]
        else:
            name, at = decode_string(block, at)
        value, at = decode_string(block, at)
        field = (name, value, _size(name, value), self._classify(name, value))
        if indexed:
            self._add(field)
        return field, at

    def _add(self, field: Field) -> None:
        self.generation += 1
        self._size += field[2]
        self._evict()
        if field[2] <= self._max_size:
            self._table.insert(_FIRST_DYNAMIC, field)

    def _evict(self) -> None:
        table = self._table
        while self._size > self._max_size:
            if len(table) == _FIRST_DYNAMIC:
                self._size = 0
                return
            last = table.pop()
            self._size -= last[2] if last is not None else 0

    def _resize(self, block: bytes, at: int, *, is_first: bool) -> int:
        size, at = decode_integer(block, at, 5)
        if size > self._size_limit or not is_first:
            raise MalformedHeadersError("the size of the dynamic table is too large, or is not set at the start")
        self.generation += 1
        self._max_size = size
        self._evict()
        return at


def _size(name: bytes, value: bytes) -> int:
    return len(name) + len(value) + _OVERHEAD


def decode_integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """Return an integer whose first byte has the given number of bits, and the position after it.

    Raise IndexError if the integer is incomplete.
    """
    max_prefix = (1 << bits) - 1
    value = block[at] & max_prefix
    at += 1
    if value < max_prefix:
        return value, at
    shift = 0
    while True:
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _MAX_SHIFT:
            raise MalformedHeadersError("an integer is too large")


def decode_string(block: bytes, at: int) -> tuple[bytes, int]:
    """Return a string and the position after it. Raise IndexError if the string is incomplete."""
    is_huffman = block[at] & 0x80
    size, at = decode_integer(block, at, 7)
    end = at + size
    if end > len(block):
        raise IndexError
    text = block[at:end]
    return (decode_huffman(text) if is_huffman else text), end
