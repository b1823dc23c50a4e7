"""A generator of random strings that match an RE2 pattern and have a length within bounds."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from polykind.golang.regexp import PatternError, compile_pattern, to_re2
from polykind.toolkit.proving.choices import Choices, between, chance, pick

PRINTABLE = string.ascii_lowercase + string.digits + string.ascii_uppercase + string.punctuation + " "
UNBOUNDED = 1 << 20
_EXTRA_REPEATS = 4
"""The maximum number of repetitions of `*` and `+` above their minimum. A minimum length may require more."""
_LETTERS = PRINTABLE + "éßñÅΩж日"
_WORD = string.ascii_lowercase + string.digits + string.ascii_uppercase + "_"
_PERL = {"d": string.digits, "w": _WORD, "s": " \t\n\r\f"}
_POSIX = {
    "alnum": _WORD[:-1],
    "alpha": string.ascii_letters,
    "ascii": PRINTABLE,
    "blank": " \t",
    "cntrl": "\t\n",
    "digit": string.digits,
    "graph": PRINTABLE[:-1],
    "lower": string.ascii_lowercase,
    "print": PRINTABLE,
    "punct": string.punctuation,
    "space": " \t\n\r\f",
    "upper": string.ascii_uppercase,
    "word": _WORD,
    "xdigit": "0123456789abcdefABCDEF",
}


class UnsupportedPatternError(ValueError):
    """The pattern is invalid, or has syntax for which no strings can be generated."""


@dataclass(frozen=True)
class Piece:
    """A part of a pattern. `least` and `most` are the minimum and maximum length of the strings that it matches."""

    least: int
    most: int

    def draw(self, choices: Choices, least: int, most: int) -> str:
        """Generate a string that matches this piece and has `least` to `most` characters.

        The bounds must be within the minimum and maximum length of the piece.
        """
        return ""


@dataclass(frozen=True)
class Character(Piece):
    options: str

    def draw(self, choices: Choices, least: int, most: int) -> str:
        return pick(choices, self.options)


@dataclass(frozen=True)
class Concatenation(Piece):
    pieces: tuple[Piece, ...]

    def draw(self, choices: Choices, least: int, most: int) -> str:
        return _draw_sequence(choices, self.pieces, least, most)


@dataclass(frozen=True)
class Alternation(Piece):
    options: tuple[Piece, ...]

    def draw(self, choices: Choices, least: int, most: int) -> str:
        fitting = [option for option in self.options if option.least <= most and option.most >= least]
        chosen = pick(choices, fitting or self.options)
        return chosen.draw(choices, max(least, chosen.least), min(most, chosen.most))


@dataclass(frozen=True)
class Repetition(Piece):
    piece: Piece
    fewest: int
    highest: int

    def draw(self, choices: Choices, least: int, most: int) -> str:
        piece, fewest = self.piece, self.fewest
        if piece.most:
            fewest = max(fewest, -(-least // piece.most))
        highest = min(self.highest, fewest + _EXTRA_REPEATS)
        if piece.least:
            highest = min(highest, most // piece.least)
        count = between(choices, fewest, max(fewest, highest))
        return _draw_sequence(choices, (piece,) * count, least, most)


def _draw_sequence(choices: Choices, pieces: tuple[Piece, ...], least: int, most: int) -> str:
    """Generate a string that matches the pieces in order, with `least` to `most` characters in total.

    The length of each part is chosen so that the remaining pieces can still satisfy the total bounds.
    """
    rest_least, rest_most = sum(p.least for p in pieces), sum(p.most for p in pieces)
    out = []
    for piece in pieces:
        rest_least -= piece.least
        rest_most -= piece.most
        low = max(piece.least, least - rest_most)
        high = max(low, min(piece.most, most - rest_least))
        text = piece.draw(choices, low, high)
        least, most = least - len(text), most - len(text)
        out.append(text)
    return "".join(out)


EMPTY = Piece(0, 0)


class PatternParser:
    """Parses a Go pattern into pieces. Anchors and flags are ignored, because PatternGenerator checks each string."""

    def __init__(self, pattern: str) -> None:
        self.text = to_re2(pattern)
        self.at = 0

    def parse(self) -> Piece:
        options = [self._concatenation()]
        while self._accept("|"):
            options.append(self._concatenation())
        if len(options) == 1:
            return options[0]
        return Alternation(min(o.least for o in options), max(o.most for o in options), tuple(options))

    def _concatenation(self) -> Piece:
        pieces: list[Piece] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            piece = self._repetition(self._atom())
            if piece.most:
                pieces.append(piece)
        if len(pieces) == 1:
            return pieces[0]
        return Concatenation(sum(p.least for p in pieces), min(UNBOUNDED, sum(p.most for p in pieces)), tuple(pieces))

    def _repetition(self, piece: Piece) -> Piece:
        rest = self.text[self.at : self.at + 1]
        bounds = {"*": (0, UNBOUNDED), "+": (1, UNBOUNDED), "?": (0, 1)}.get(rest)
        if bounds:
            self.at += 1
        elif rest == "{":
            bounds = self._counted_repetition()
        if bounds is None:
            return piece
        self._accept("?")
        fewest, highest = bounds
        return Repetition(piece.least * fewest, min(UNBOUNDED, piece.most * highest), piece, fewest, highest)

    def _counted_repetition(self) -> tuple[int, int] | None:
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : max(end, 0)].partition(",")
        if not low.isdigit() or (high and not high.isdigit()):
            return None
        self.at = end + 1
        return int(low), int(high) if high else UNBOUNDED if comma else int(low)

    def _atom(self) -> Piece:
        char = self.text[self.at]
        self.at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return _character(self._set())
        if char == ".":
            return _character(PRINTABLE)
        if char in "^$":
            return EMPTY
        if char == "\\":
            return self._escape()
        return _character(char)

    def _group(self) -> Piece:
        if self._accept("?"):
            if self._accept("P<"):
                self.at = self.text.index(">", self.at) + 1
            else:
                while self.text[self.at] not in ":)":
                    self.at += 1
                if self._accept(")"):
                    return EMPTY
                self.at += 1
        inner = self.parse()
        self._accept(")")
        return inner

    def _escape(self) -> Piece:
        char = self.text[self.at]
        if char in "AbBz":
            self.at += 1
            return EMPTY
        return _character(self._escaped())

    def _escaped(self) -> str:
        """Parse the rest of an escape sequence, after the backslash, and return the characters that it matches."""
        char = self.text[self.at]
        self.at += 1
        if char in "pP":
            return self._category(char == "P")
        if char.lower() in _PERL:
            return _complement(_PERL[char.lower()]) if char.isupper() else _PERL[char]
        return char

    def _category(self, inverse: bool) -> str:
        name = self.text[self.at]
        self.at += 1
        if name == "{":
            end = self.text.index("}", self.at)
            name, self.at = self.text[self.at : end], end + 1
        if name.startswith("^"):
            name, inverse = name[1:], not inverse
        if len(name) > 2:
            raise UnsupportedPatternError(f"the script {name}")
        return "".join(c for c in _LETTERS if unicodedata.category(c).startswith(name) is not inverse)

    def _set(self) -> str:
        inverse = self._accept("^")
        chosen: list[str] = []
        first = True
        while first or self.text[self.at] != "]":
            first = False
            if self.text.startswith("[:", self.at):
                end = self.text.index(":]", self.at)
                name = self.text[self.at + 2 : end]
                chosen += _complement(_POSIX[name[1:]]) if name.startswith("^") else _POSIX[name]
                self.at = end + 2
                continue
            low = self._member()
            if len(low) == 1 and self.text[self.at] == "-" and self.text[self.at + 1] != "]":
                self.at += 1
                chosen += _range(low, self._member())
            else:
                chosen += low
        self.at += 1
        members = "".join(dict.fromkeys(chosen))
        return _complement(members) if inverse else members

    def _member(self) -> str:
        char = self.text[self.at]
        self.at += 1
        return self._escaped() if char == "\\" else char

    def _accept(self, wanted: str) -> bool:
        matches = self.text.startswith(wanted, self.at)
        self.at += len(wanted) if matches else 0
        return matches


def _character(options: str) -> Piece:
    """Return a piece that matches one of these characters. The first character is the simplest."""
    if not options:
        raise UnsupportedPatternError("a class without members")
    return Character(1, 1, "".join(sorted(options, key=lambda c: PRINTABLE.find(c) % UNBOUNDED)))


def _range(low: str, high: str) -> list[str]:
    """Return the characters of a range. For a long range, return only its printable characters and both ends."""
    span = range(ord(low), ord(high) + 1)
    if len(span) <= len(PRINTABLE) * 2:
        return [chr(code) for code in span]
    return [*(c for c in _LETTERS if ord(c) in span), low, high]


def _complement(members: str) -> str:
    return "".join(c for c in PRINTABLE if c not in members)


class PatternGenerator:
    """Generates strings that match one pattern."""

    def __init__(self, pattern: str) -> None:
        """Compile the pattern. Raise UnsupportedPatternError if it is invalid or has unsupported syntax."""
        try:
            self._matches: Callable[[str], bool] = compile_pattern(pattern)
            self._piece = PatternParser(pattern).parse()
        except (PatternError, IndexError, KeyError, ValueError) as error:
            raise UnsupportedPatternError(str(error)) from None

    def draw(self, choices: Choices, least: int = 0, most: int = UNBOUNDED) -> str | None:
        """Return a string with `least` to `most` characters that matches the pattern, or None if none is found."""
        piece = self._piece
        for attempt in range(4):
            low, high = max(least, piece.least), min(most, piece.most)
            text = piece.draw(choices, min(low, piece.most), max(high, piece.least))
            padded = _pad(choices, text, least, most, wanted=attempt == 0)
            for candidate in dict.fromkeys((*padded, text)):
                if least <= len(candidate) <= most and self._matches(candidate):
                    return candidate
        return None


def _pad(choices: Choices, text: str, least: int, most: int, *, wanted: bool) -> list[str]:
    """Return the text with a random suffix and with a random prefix, to reach the minimum length `least`.

    If `wanted` is true, text that is long enough is sometimes padded, too. A pattern without anchors can still match.
    """
    count = max(0, least - len(text))
    if not count and wanted and len(text) < most and chance(choices, 30):
        count = between(choices, 1, min(3, most - len(text)))
    if not count:
        return []
    more = pick(choices, string.ascii_lowercase) * count
    return [text + more, more + text]


@lru_cache(maxsize=1024)
def pattern_generator(pattern: str) -> PatternGenerator:
    """Return the cached generator for a pattern.

    Raise UnsupportedPatternError if no strings can be generated for it.
    """
    return PatternGenerator(pattern)
