"""Regular expressions with the grammar, meaning and error messages of Go's regexp package, matched by RE2.

RE2 runs in linear time, so no pattern can make matching slow.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable
from typing import Any, Final

import re2

from polykind.bounded_cache import BoundedCache, remember
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
_MAX_MEMORY = 60 * 1024 * 1024
"""The most memory that RE2 may use for one pattern. It needs more than Go, because it expands classes to UTF-8."""
_PROGRAMS_MEMORY = 42 * 1024 * 1024
"""The memory of all compiled patterns of the process."""
_SMALL_MEMORY, _INSTRUCTION_MEMORY = 128 * 1024, 800
"""The limit that RE2 needs for every pattern, and in addition for each of its instructions, of which it uses a part.
With less, it matches slowly and writes to the standard error.
"""
_MAX_STEPS = 60_000
"""The number of single matches in a pattern, its repetitions expanded, up to which RE2 sees it. It merges successive
repetitions such as a{1000}a{1000}, and ends the process if the result has more than 65,535 repetitions.
"""
_MAX_GO_STEPS = (128 << 20) // 40
"""Go's limit for the number of instructions."""
_CATEGORY_SIZES: Final = {"L": 950, "M": 420, "S": 410, "P": 290, "N": 210, "C": 80, "Z": 30}
"""Upper estimates of the RE2 instructions of a class of Unicode, by its first letter. \\pL has 911."""
_SCRIPT_SIZE, _CLASS_SIZE, _CLASS_ITEM_SIZE = 950, 16, 3
"""The same for \\p{Latin}, for a class such as [^a], and for each character of the text of a class."""
_MAX_COUNT_TEXT = 100
"""The length of a count such as {1,2}, and of the name of a POSIX class."""
_PROGRAM_BYTES = 20_000
"""The memory of a program besides its instructions and states."""
_CHECK_MEMORY = 20_000
"""The memory with which RE2 checks a pattern: enough to parse it, and to stop soon when it compiles."""


class PatternError(ValueError):
    """A pattern that Go's regexp.Compile rejects. The message is the same as Go's."""

    def __init__(self, code: str, expr: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{expr}`")


class PatternTooLargeError(ValueError):
    """A pattern is valid, but RE2 needs too much memory for it."""

    def __init__(self) -> None:
        super().__init__(f"the pattern needs more than {_MAX_MEMORY >> 20} MB when it is compiled")


class Pattern:
    """A valid pattern. Calling it is the same as Go's MatchString.

    It is compiled at the first match: a large one takes some ten milliseconds, so it is not matched on an event loop
    unless `work` is small. Compiled patterns are kept in a cache that is bounded in bytes.
    """

    __slots__ = ("_extent", "_translated", "size")

    def __init__(self, translated: str, extent: _Extent) -> None:
        self._translated = translated
        self._extent = extent
        self.size = extent.size
        """An upper estimate of the number of RE2 instructions. 2,500 take about a millisecond to compile."""

    @property
    def work(self) -> int:
        """The instructions that the next match has to compile: 0 if the pattern is compiled."""
        return self.size if _programs[self._translated] is None else 0

    @property
    def program(self) -> _Program:
        """The compiled pattern. Raises PatternTooLargeError."""
        program = _programs[self._translated]
        if program is None:
            memory = self._extent.memory
            if memory > _MAX_MEMORY or self._extent.steps > _MAX_STEPS:
                raise PatternTooLargeError
            try:
                program = _Program(_compile(self._translated, memory), memory // 3 + _PROGRAM_BYTES)
            except re2.error:
                raise PatternTooLargeError from None
            _programs[self._translated] = program
        return program

    def contains(self, value: str) -> bool:
        """True if the pattern matches a part of the text, False also if it is too large.

        Raise UnicodeEncodeError for lone surrogates.
        """
        try:
            return bool((_programs[self._translated] or self.program).contains(value))
        except PatternTooLargeError:
            return False

    def __call__(self, value: str) -> bool:
        """True if the pattern matches a part of the text. Raise PatternTooLargeError."""
        program = self.program
        try:
            return bool(program.contains(value))
        except UnicodeEncodeError:
            return bool(program.contains(replace_lone_surrogates(value)))


class _Program:
    """A compiled pattern with RE2's functions."""

    __slots__ = ("contains", "finditer", "memory", "search")

    def __init__(self, compiled: Any, memory: int) -> None:
        self.contains: Callable[[str], bool] = compiled.contains
        self.search: Callable[[str], Any] = compiled.search
        self.finditer: Callable[[str], Iterable[Any]] = compiled.finditer
        self.memory = memory
        """An upper estimate of the bytes of the program with its states. RE2 reserves more than it uses."""


_programs: Final[BoundedCache[str, _Program]] = BoundedCache(
    _PROGRAMS_MEMORY, max_key_bytes=_PROGRAMS_MEMORY, cost=lambda program: program.memory
)


@remember(2 * 1024 * 1024, cost=lambda pattern: 500)
def compile_pattern(text: str) -> Pattern:
    """Return a pattern with Go's meaning: \\d and \\w are ASCII, `$` matches only at the end.

    Raise PatternError if Go rejects the pattern.
    """
    if not text.isprintable():
        text = replace_lone_surrogates(text)
    translator = _Translator(text)
    translated = translator.translate()
    extent = translator.extent
    if extent.steps > _MAX_GO_STEPS:
        raise PatternError("expression too large", text)
    if extent.steps <= _MAX_STEPS:
        _check(translated, text)
    else:
        # The translator checks the rest.
        for part in translator.classes:
            _check(part, text)
    return Pattern(translated, extent)


def _check(translated: str, text: str) -> None:
    """Raise PatternError if a pattern is invalid. RE2 stops to compile it when it exceeds a little memory."""
    try:
        _compile(translated, _CHECK_MEMORY)
    except re2.error as error:
        code, _, expr = str(error).partition(": ")
        if not code.startswith("pattern too large"):
            raise PatternError(_go_error_code(code), expr or text) from None
    except Exception:
        raise PatternError("invalid or unsupported Perl syntax", text) from None


def _compile(translated: str, memory: int) -> Any:
    try:
        return re2.compile(translated, re2.ASCII, max_mem=memory)
    finally:
        # The module keeps the last patterns as well, however large they are.
        re2.purge()


def to_re2(text: str) -> str:
    """Translate a Go pattern for RE2, which lacks numeric escapes and (?<name>) groups.

    Raise PatternError if Go rejects the pattern.
    """
    return _Translator(text).translate()


def _go_error_code(code: str) -> str:
    return "invalid repeat count" if code == "invalid repetition size" else code


class _Extent:
    """The size of a part of a pattern, with its repetitions expanded."""

    __slots__ = ("product", "size", "steps")

    def __init__(self, size: int = 0, steps: int = 0, product: int = 0) -> None:
        self.size = size
        """The number of RE2 instructions, which match bytes: an upper estimate."""
        self.steps = steps
        """The number of Go instructions, which match characters."""
        self.product = product
        """The largest product of nested counts, which Go limits."""

    @property
    def memory(self) -> int:
        """The limit of memory that RE2 needs for the program with its states."""
        return _SMALL_MEMORY + _INSTRUCTION_MEMORY * self.size

    def add(self, other: _Extent) -> None:
        """Add a part that follows, or that is an alternative."""
        self.size += other.size
        self.steps += other.steps
        self.product = max(self.product, other.product)

    def repeated(self, minimum: int, maximum: int) -> _Extent:
        """Return the extent of this part with a count. `maximum` is -1 if there is none."""
        copies = max(maximum if maximum >= 0 else minimum, 1)
        count = maximum if maximum >= 0 else minimum
        return _Extent((self.size + 1) * copies, (self.steps + 1) * copies, count * max(self.product, 1))


class _Translator:
    """Translates one pattern in a single pass. It checks Go's grammar and collects the pattern for RE2 in `out`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.out: list[str] = []
        self.depth = 0
        self.classes: set[str] = set()
        """The character classes of the translated pattern."""
        self.extent = _Extent()
        """The extent of what has been translated."""
        self._groups: list[_Extent] = []
        """For each open group: the extent of the pattern before it."""
        self._before = _Extent()
        """The extent of the pattern, in its innermost open group, before the last operand."""
        self._operand = _Extent()
        self._folds = False
        """True if the pattern ignores case."""

    def translate(self) -> str:
        text, size = self.text, len(self.text)
        operand = False
        repeat_from = -1
        while self.at < size:
            char, start = text[self.at], self.at
            if char in "*+?" or (char == "{" and self._is_count()):
                end = self._repetition_end(start)
                if not operand and repeat_from < 0:
                    raise PatternError("missing argument to repetition operator", text[start:end])
                if repeat_from >= 0:
                    raise PatternError("invalid nested repetition operator", text[repeat_from:end])
                self._repeat(start, end)
                self.at, operand, repeat_from = end, False, start
                continue
            repeat_from = -1
            operand = self._part(char, operand)
        if self.depth:
            raise PatternError("missing closing )", text)
        return "".join(self.out)

    def _part(self, char: str, operand: bool) -> bool:
        """Translate a part that is no repetition. True if a repetition can follow. `operand`: it could before."""
        start, begin = self.at, len(self.out)
        if char == "(":
            return self._open()
        if char == ")":
            self._close()
            return True
        if char == "[":
            self._class()
            operand = True
        elif char == "\\":
            operand = self._escape_outside_class(operand)
        else:
            plain = _plain_text(self.text, self.at)
            if plain is not None:  # all but the last character, to which a repetition applies
                self._copy(plain.end() - self.at - 1)
                self._add(_Extent(_literal_size(self.out.pop()) << self._folds, plain.end() - start - 1))
                self.out.append(self.text[start : self.at])
                begin = len(self.out)
            self._copy(1)
            operand = char != "|"
        part = "".join(self.out[begin:])
        if char == "[" or self.text[start : start + 2] in ("\\p", "\\P"):
            self.classes.add(part)
            self._add(_Extent(_class_size(part), 1))
        elif char == ".":
            self._add(_Extent(_CLASS_SIZE, 1))
        else:
            self._add(_Extent(_literal_size(part) << self._folds, len(part)))
        return operand

    def _add(self, operand: _Extent) -> None:
        """Add an operand, which a repetition may follow."""
        self._before = _Extent(self.extent.size, self.extent.steps, self.extent.product)
        self._operand = operand
        self.extent.add(operand)

    def _close(self) -> None:
        """Translate the end of a group."""
        if not self.depth:
            raise PatternError("unexpected )", self.text)
        self.depth -= 1
        self._copy(1)
        inner, self.extent = self.extent, self._groups.pop()
        self._add(_Extent(inner.size + 2, inner.steps + 2, inner.product))

    def _repeat(self, start: int, end: int) -> None:
        """Translate a repetition of the last operand."""
        self.out.append(self.text[start:end])
        minimum, maximum, _ = self._count_bounds(start) or (1, -1, end)
        repeated = self._operand.repeated(minimum, maximum)
        if self.text[start] != "{":
            repeated.product = self._operand.product
        elif max(minimum, maximum) >= 2 and repeated.product > _MAX_REPEATS:
            raise PatternError("invalid repeat count", self.text[start:end])
        self.extent = self._before
        self.extent.add(repeated)

    def _copy(self, count: int) -> None:
        self.out.append(self.text[self.at : self.at + count])
        self.at += count

    def _is_count(self) -> bool:
        return self._count_bounds(self.at) is not None

    def _count_bounds(self, start: int) -> tuple[int, int, int] | None:
        """Return the minimum, the maximum (-1: no limit) and the end position of {n}, {n,} or {n,m}.

        Return None if the text at `start` has none of these forms.
        """
        end = self.text.find("}", start, start + _MAX_COUNT_TEXT)
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
        if self.text[end : end + 1] == "?":
            end += 1
        return end

    def _open(self) -> bool:
        text, start = self.text, self.at
        if not text.startswith("(?", start):
            self._push()
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
            self._push()
            return False
        return self._flags(start)

    def _push(self) -> None:
        """Begin a group."""
        self.depth += 1
        self._groups.append(self.extent)
        self.extent = _Extent()

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
                self._folds = self._folds or "i" in text[start:at]
                if char == ":":
                    self._push()
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
                end = text.find(":]", self.at + 2, self.at + _MAX_COUNT_TEXT)
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


_plain_text = re.compile(r"[^\\.+*?()|\[{^$]{2,}").match
_unicode_classes = re.compile(r"\\[pP](?:\{\^?([^}]*)\}|(.))", re.DOTALL).findall


def _class_size(text: str) -> int:
    """Return an upper estimate of the RE2 instructions of a character class."""
    names = [long or short for long, short in _unicode_classes(text)]
    sizes = (_CATEGORY_SIZES.get(name[:1], _SCRIPT_SIZE) if len(name) < 3 else _SCRIPT_SIZE for name in names)
    return _CLASS_SIZE + _CLASS_ITEM_SIZE * len(text) + sum(sizes)


def _literal_size(text: str) -> int:
    """Return an upper estimate of the RE2 instructions of other parts, which match bytes."""
    return _CLASS_SIZE + 8 if text in ("\\D", "\\W", "\\S") else len(text) if text.isascii() else len(text) * 4


def _literal(char: str) -> str:
    return "\\" + char if char.isascii() and not char.isalnum() and char.isprintable() and char != " " else char
