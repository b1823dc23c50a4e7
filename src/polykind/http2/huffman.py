"""The Huffman code of HPACK (RFC 7541, section 5.2 and appendix B)."""

from __future__ import annotations

from functools import lru_cache

# The lengths of the Huffman codes of bytes 0 to 255 and of the end symbol: A is 5 bits, B 6 bits and so on. The codes
# follow from the lengths.
_CODE_LENGTHS = (
    "ISXXXXXXXTZXXZXXXXXXXXZXXXXXXXXXBFFHIBDGFFDGDBBBAAABBBBBBBCDKBHFIBCCCCCCCCCCCCCCCCCCCCCCDCDIOIJB"
    "KABABABBBACCBBBABCBAABCCCCCKGJIXPRPPRRRSRSSSSSTSTTRSTSSSSQRSRSSTRQPRRSSQSRRTQRSSQQRQSRSSPRRRSRRSVV"
    "PORSRUVVVWWVTUOQVWWVWTQQVVXWWWPTPQRQQSRRUUTTVSVWVVWWWWWXWWWWWVZ"
)
_END = 256


class MalformedHeadersError(ValueError):
    """A block of HTTP/2 headers is malformed."""


class _Transitions(dict[int, tuple[int, bytes]]):
    """The decoder as a state machine that reads whole bytes. A transition is computed when it is first needed.

    A state is a node of the code's tree, multiplied by 256. The key of a transition is a state plus the next byte, and
    its value is the next state with the symbols that the byte completes. There are 65,536 transitions.
    """

    def __init__(self) -> None:
        self._tree: list[list[int]] = [[0, 0]]
        """The two children of each inner node: the number of an inner node, or -1 - symbol for a leaf."""
        self.final_states = {0}
        """The states in which a string may end: fewer than eight bits are left, and all of them are ones."""
        lengths = [ord(letter) - ord("A") + 5 for letter in _CODE_LENGTHS]
        code = before = 0
        for symbol in sorted(range(_END + 1), key=lambda symbol: (lengths[symbol], symbol)):
            code <<= lengths[symbol] - before
            before = lengths[symbol]
            self._add(symbol, code, before)
            code += 1
        node = 0
        for _ in range(7):
            node = self._tree[node][1]
            self.final_states.add(node << 8)

    def _add(self, symbol: int, code: int, length: int) -> None:
        node = 0
        for shift in range(length - 1, 0, -1):
            bit = code >> shift & 1
            if not self._tree[node][bit]:
                self._tree.append([0, 0])
                self._tree[node][bit] = len(self._tree) - 1
            node = self._tree[node][bit]
        self._tree[node][code & 1] = -1 - symbol

    def __missing__(self, key: int) -> tuple[int, bytes]:
        node, out = key >> 8, bytearray()
        for shift in range(7, -1, -1):
            node = self._tree[node][key >> shift & 1]
            if node == -1 - _END:
                raise MalformedHeadersError("a Huffman-coded string contains the end symbol")
            if node < 0:
                out.append(-1 - node)
                node = 0
        self[key] = node << 8, bytes(out)
        return self[key]


@lru_cache(maxsize=1)
def _transitions() -> _Transitions:
    return _Transitions()


def decode_huffman(text: bytes) -> bytes:
    """Decode a Huffman-coded string. Raise MalformedHeadersError if it is malformed."""
    transitions = _transitions()
    parts, state = [], 0
    for byte in text:
        state, symbols = transitions[state + byte]
        parts.append(symbols)
    if state not in transitions.final_states:
        raise MalformedHeadersError("a Huffman-coded string is not padded with ones")
    return b"".join(parts)
