"""Regular expressions with the grammar, meaning and error messages of Go's regexp package, matched by RE2.

RE2 runs in linear time, so no pattern can make matching slow.
"""

from __future__ import annotations

import string
from collections.abc import Callable

import re2

from polykind.golang.utf8 import replace_lone_surrogates

re2.set_fallback_notification(re2.FALLBACK_EXCEPTION)

_FLAGS = frozenset("imsU")
_PERL_CLASSES = frozenset("dswDSW")
_POSIX = {
    **dict.fromkeys(("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph")),
    **dict.fromkeys(("lower", "print", "punct", "space", "upper", "word", "xdigit")),
}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_CATEGORIES = frozenset("CLMNPSZ")
_MAX_REPEATS = 1000
_RE2_MEMORY = 8 * 1024 * 1024
_RE2_LARGE_MEMORY = 48 * 1024 * 1024
"""The memory limits of RE2 for a normal and for a large pattern. RE2 needs more memory than Go, because it expands
character classes to UTF-8.
"""
_SMALL_MEMORY, _INSTRUCTION_MEMORY = 256 * 1024, 256
"""The memory that suffices for every pattern, and in addition for each of its instructions."""
_UNICODE_CLASS_SIZE = 700
_MAX_EAGER_SIZE = 50_000
"""The maximum estimated size, in RE2 instructions, of a pattern that is compiled at once, in a few milliseconds."""


class PatternError(ValueError):
    """A pattern that Go's regexp.Compile rejects. The message is the same as Go's."""

    def __init__(self, code: str, expr: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{expr}`")


class Pattern:
    """A compiled pattern. Calling it is the same as Go's MatchString.

    `contains` is RE2's own search. It is faster, but raises UnicodeEncodeError for lone surrogates.
    """

    __slots__ = ("contains",)

    def __init__(self, contains: Callable[[str], bool]) -> None:
        self.contains = contains

    def __call__(self, value: str) -> bool:
        try:
            return bool(self.contains(value))
        except UnicodeEncodeError:
            return bool(self.contains(replace_lone_surrogates(value)))


def compile_pattern(text: str) -> Pattern:
    """Compile a pattern with Go's meaning: \\d and \\w are ASCII, `$` matches only at the end.

    Raise PatternError if Go rejects the pattern.
    """
    if not text.isprintable():
        text = replace_lone_surrogates(text)
    translator = _Translator(text)
    translated = translator.translate()
    if translator.size <= _MAX_EAGER_SIZE:
        return Pattern(_compile(translated, text))
    # RE2 may need a second to compile such a pattern, so it is compiled when the first value is matched. Compile only
    # the parts that the translator does not check, to find errors.
    for part in translator.classes:
        _compile(part, text)
    _compile("".join(translator.simplified), text)
    return Pattern(_LazyPattern(translated, text).contains)


def _compile(translated: str, text: str, max_memory: int = _RE2_MEMORY) -> Callable[[str], bool]:
    try:
        contains: Callable[[str], bool] = re2.compile(translated, re2.ASCII, max_mem=max_memory).contains
    except re2.error as error:
        code, _, expr = str(error).partition(": ")
        raise PatternError(_go_error_code(code), expr or text) from None
    except Exception:
        raise PatternError("invalid or unsupported Perl syntax", text) from None
    return contains


class _LazyPattern:
    """A large pattern that is compiled on first use."""

    __slots__ = ("_compiled", "_text", "_translated")

    def __init__(self, translated: str, text: str) -> None:
        self._translated = translated
        self._text = text
        self._compiled: Callable[[str], bool] | None = None

    def contains(self, value: str) -> bool:
        if self._compiled is None:
            self._compiled = _compile(self._translated, self._text, _RE2_LARGE_MEMORY)
        return self._compiled(value)


def to_re2(text: str) -> str:
    """Translate a Go pattern for RE2, which lacks numeric escapes and (?<name>) groups.

    Raise PatternError if Go rejects the pattern.
    """
    return _Translator(text).translate()


def memory_limit(text: str) -> int:
    """Return a limit for the memory of a compiled pattern with its states, for RE2's parameter `max_mem`.

    RE2 fills all the memory that it may use if the texts to match require that.
    """
    translator = _Translator(text)
    translator.translate()
    return min(_RE2_MEMORY, _SMALL_MEMORY + _INSTRUCTION_MEMORY * translator.size)


def _go_error_code(code: str) -> str:
    if code == "invalid repetition size":
        return "invalid repeat count"
    return "expression too large" if code.startswith("pattern too large") else code


class _Translator:
    """Translates one pattern in a single pass. It checks Go's grammar and collects the pattern for RE2 in `out`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.depth = 0
        self.simplified: list[str] = []
        """The translated pattern, in which the letter `a` replaces each character class."""
        self.classes: set[str] = set()
        """The character classes of the translated pattern."""
        self._weight = 0
        self._max_repeat = 1

    @property
    def size(self) -> int:
        """An upper estimate of the compiled pattern's size, in RE2 instructions."""
        return self._weight * self._max_repeat

    def _add_part(self, start: int, *, is_class: bool) -> None:
        """Add the part of the translated pattern that begins at `self.out[start]` to `simplified` or to `classes`."""
        part = self.out[start:]
        if not is_class:
            self.simplified += part
            self._weight += 1
            return
        text = "".join(part)
        self.classes.add(text)
        self.simplified.append("a")
        self._weight += len(part) + _UNICODE_CLASS_SIZE * (text.count("\\p") + text.count("\\P"))

    def _element(self, char: str, operand: bool) -> bool:
        """Translate an element that is no repetition. Return True if a repetition may follow it."""
        if char == "(":
            return self._open()
        if char == "\\":
            return self._escape_outside_class(operand)
        if char == "[":
            self._class()
            return True
        if char == ")":
            if not self.depth:
                raise PatternError("unexpected )", self.text)
            self.depth -= 1
        self._copy(1)
        return char != "|"

    def translate(self) -> str:
        text, size = self.text, len(self.text)
        operand = False
        repeat_from = -1
        while self.at < size:
            char, start, begin = text[self.at], self.at, len(self.out)
            if char in "*+?" or (char == "{" and self._is_count()):
                end = self._repetition_end(start)
                if not operand and repeat_from < 0:
                    raise PatternError("missing argument to repetition operator", text[start:end])
                if repeat_from >= 0:
                    raise PatternError("invalid nested repetition operator", text[repeat_from:end])
                self.out.append(text[start:end])
                self.simplified.append(text[start:end])
                self.at, operand, repeat_from = end, False, start
                continue
            repeat_from = -1
            operand = self._element(char, operand)
            self._add_part(begin, is_class=char == "[" or text[start : start + 2] in ("\\p", "\\P"))
        if self.depth:
            raise PatternError("missing closing )", text)
        return "".join(self.out)

    def _copy(self, count: int) -> None:
        self.out.append(self.text[self.at : self.at + count])
        self.at += count

    def _is_count(self) -> bool:
        return self._count_bounds(self.at) is not None

    def _count_bounds(self, start: int) -> tuple[int, int, int] | None:
        """Return the minimum, the maximum (-1: no limit) and the end position of {n}, {n,} or {n,m}.

        Return None if the text at `start` has none of these forms.
        """
        end = self.text.find("}", start)
        if end < 0:
            return None
        low, comma, high = self.text[start + 1 : end].partition(",")
        for part in (low, high):
            if part and (not (part.isascii() and part.isdigit()) or (len(part) > 1 and part[0] == "0")):
                return None
        if not low:
            return None
        minimum = min(int(low[:9]), _MAX_REPEATS + 1)
        maximum = minimum if not comma else min(int(high[:9]), _MAX_REPEATS + 1) if high else -1
        return minimum, maximum, end + 1

    def _repetition_end(self, start: int) -> int:
        end = start + 1
        if self.text[start] == "{":
            bounds = self._count_bounds(start)
            assert bounds is not None
            minimum, maximum, end = bounds
            if minimum > _MAX_REPEATS or maximum > _MAX_REPEATS or 0 <= maximum < minimum:
                raise PatternError("invalid repeat count", self.text[start:end])
            self._max_repeat = max(self._max_repeat, minimum, maximum)
        if self.text[end : end + 1] == "?":
            end += 1
        return end

    def _open(self) -> bool:
        text, start = self.text, self.at
        if not text.startswith("(?", start):
            self.depth += 1
            self._copy(1)
            return False
        name_at = 0
        if text.startswith("(?P<", start) and len(text) - start > 4:
            name_at = start + 4
        elif text.startswith("(?<", start) and len(text) - start > 3:
            name_at = start + 3
        if name_at:
            end = text.find(">", name_at)
            if end < 0:
                raise PatternError("invalid named capture", text[start:])
            name = text[name_at:end]
            if not name or not set(name) <= _WORD:
                raise PatternError("invalid named capture", text[start : end + 1])
            self.out.append("(?:" if name[0].isdigit() else f"(?P<{name}>")
            self.at = end + 1
            self.depth += 1
            return False
        return self._flags(start)

    def _flags(self, start: int) -> bool:
        text, at, negative, some = self.text, start + 2, False, False
        while at < len(text):
            char = text[at]
            at += 1
            if char in _FLAGS:
                some = True
            elif char == "-" and not negative:
                negative, some = True, False
            elif char in ":)" and (some or not negative):
                self.out.append(text[start:at] if at - start > 3 or char == ":" else "")
                self.at = at
                self.depth += char == ":"
                return False
            else:
                raise PatternError("invalid or unsupported Perl syntax", text[start:at])
        raise PatternError("invalid or unsupported Perl syntax", text[start:])

    def _escape_outside_class(self, operand: bool) -> bool:
        text = self.text
        following = text[self.at + 1 : self.at + 2]
        if following in ("A", "b", "B", "z") or (following and following in _PERL_CLASSES):
            self._copy(2)
            return True
        if following == "Q":
            end = text.find("\\E", self.at + 2)
            literal = text[self.at + 2 : end if end >= 0 else len(text)]
            self.out.append("".join(map(_literal, literal)))
            self.at = end + 2 if end >= 0 else len(text)
            return bool(literal) or operand
        if following in ("p", "P"):
            self._unicode_class()
        else:
            self.out.append(_literal(self._escaped()))
        return True

    def _unicode_class(self) -> None:
        text, start = self.text, self.at
        end = start + 3
        if text[start + 2 : start + 3] == "{":
            close = text.find("}", start)
            if close < 0:
                raise PatternError("invalid character class range", text[start:])
            end = close + 1
        elif text[start + 2 : end] not in _CATEGORIES:
            raise PatternError("invalid character class range", text[start:end])
        self._copy(end - start)

    def _escaped(self) -> str:
        """Consume an escape sequence and return the character that it stands for."""
        text, start = self.text, self.at
        if start + 1 >= len(text):
            raise PatternError("trailing backslash at end of expression", "")
        char = text[start + 1]
        self.at = start + 2
        if char in "01234567":
            digits = char
            while len(digits) < 3 and self.at < len(text) and text[self.at] in "01234567":
                digits += text[self.at]
                self.at += 1
            if char != "0" and len(digits) == 1:
                raise PatternError("invalid escape sequence", text[start : self.at])
            return chr(int(digits, 8))
        if char == "x":
            return self._hexadecimal(start)
        if char in _CONTROL:
            return _CONTROL[char]
        if char.isascii() and not char.isalnum():
            return char
        raise PatternError("invalid escape sequence", text[start : self.at])

    def _hexadecimal(self, start: int) -> str:
        text = self.text
        if text[self.at : self.at + 1] == "{":
            end = text.find("}", self.at)
            digits = text[self.at + 1 : end] if end >= 0 else ""
            self.at = end + 1 if end >= 0 else len(text)
        else:
            digits = text[self.at : self.at + 2]
            self.at = min(self.at + 2, len(text))
            digits = digits if len(digits) == 2 else ""
        if not digits or not set(digits) <= set(string.hexdigits) or int(digits[-9:], 16) > 0x10FFFF:
            raise PatternError("invalid escape sequence", text[start : self.at])
        return chr(int(digits[-9:], 16))

    def _class(self) -> None:
        text, start = self.text, self.at
        self._copy(2 if text.startswith("[^", start) else 1)
        first = True
        while self.at < len(text) and (first or text[self.at] != "]"):
            first = False
            if text.startswith("[:", self.at):
                end = text.find(":]", self.at + 2)
                if end >= 0:
                    if text[self.at + 2 : end].removeprefix("^") not in _POSIX:
                        raise PatternError("invalid character class range", text[self.at : end + 2])
                    self._copy(end + 2 - self.at)
                    continue
            if text[self.at] == "\\" and text[self.at + 1 : self.at + 2] in ("p", "P"):
                self._unicode_class()
                continue
            if text[self.at] == "\\" and text[self.at + 1 : self.at + 2] in _PERL_CLASSES:
                self._copy(2)
                continue
            self._range(start)
        if self.at >= len(text):
            raise PatternError("missing closing ]", text[start:])
        self._copy(1)

    def _range(self, opened: int) -> None:
        text, start = self.text, self.at
        low = high = self._class_char(opened)
        if text[self.at : self.at + 1] == "-" and text[self.at + 1 : self.at + 2] not in ("]", ""):
            self.at += 1
            high = self._class_char(opened)
            if high < low:
                raise PatternError("invalid character class range", text[start : self.at])
        self.out.append(_literal(low) if low == high else f"{_literal(low)}-{_literal(high)}")

    def _class_char(self, opened: int) -> str:
        if self.at >= len(self.text):
            raise PatternError("missing closing ]", self.text[opened:])
        if self.text[self.at] == "\\":
            return self._escaped()
        self.at += 1
        return self.text[self.at - 1]


def _literal(char: str) -> str:
    return "\\" + char if char.isascii() and not char.isalnum() and char.isprintable() and char != " " else char
