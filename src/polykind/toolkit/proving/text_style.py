"""Themes: the kinds of values that a generated object prefers.

A converter's fault often needs several unusual values of the same kind, for example two long texts or three equal
items. Objects in which every value is chosen independently rarely have them. Therefore each object of a run has a
theme, and the themes take turns, so that rare shapes occur early.
"""

from __future__ import annotations

from itertools import accumulate

from polykind.toolkit.proving.choices import Choices, chance, pick
from polykind.toolkit.proving.vocabulary import TEXTS, Vocabulary, long_text, typical_text

THEMES = (
    "plain", "mixed", "constants", "dense", "equal", "typical", "lists", "empty", "odd-text", "keys", "extremes",
    "mixed",
    "constants", "duplicates", "long-text", "dense", "typical", "equal", "sparse", "odd-text", "long-text", "mixed",
    "constants", "lists",
    "single-text",
)  # fmt: skip
"""The themes in the order of a run. Themes that find more faults occur more than once."""
_ODD_KINDS = ("multi-line", "spaces", "unicode", "case", "numeric", "boolean", "separators", "json")
_SHARES: dict[str, tuple[int, int, int, int, int]] = {
    #               plain, typical, constant, odd, long
    "plain":       (80, 10, 6, 4, 0),
    "constants":   (10, 5, 80, 5, 0),
    "typical":     (5, 85, 5, 5, 0),
    "odd-text":    (5, 5, 5, 85, 0),
    "long-text":   (20, 10, 5, 15, 50),
}  # fmt: skip
_MIXED = (35, 25, 20, 17, 3)
_LONGEST_LISTS = {"lists": 12, "duplicates": 6, "equal": 4, "mixed": 5}


class Style:
    """The theme of the object that is being generated, with the converter's vocabulary."""

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or Vocabulary()
        self.theme = "plain"
        self._texts: list[str] = []
        self._numbers: list[int] = []
        self._kind = ""
        self._longest = 3

    def begin(self, choices: Choices, theme: str) -> None:
        """Choose the values that the theme needs once for an object."""
        self.theme = theme
        self._texts, self._numbers, self._kind = [], [], ""
        self._longest = _LONGEST_LISTS.get(theme, 3)
        counts = self.vocabulary.counts
        if theme == "lists" and counts and chance(choices, 40):
            self._longest = max(self._longest, pick(choices, counts) + 2)
        if theme == "equal":
            self._texts = [self._mixed_text(choices, "name") for _ in range(1 + choices.up_to(1))]
            self._numbers = [pick(choices, (1, 2, 3, 80, 100)) for _ in range(1 + choices.up_to(1))]
        elif theme == "single-text":
            self._kind = pick(choices, tuple(TEXTS))

    def text(self, choices: Choices, name: str) -> str | None:
        """Return a text for a field with this name, or None for a plain word."""
        if self.theme == "equal" and chance(choices, 85):
            return pick(choices, self._texts)
        if self.theme == "empty" and chance(choices, 50):
            return ""
        if self.theme == "single-text" and chance(choices, 85):
            return typical_text(choices, name, self._kind)
        return self._choose(choices, name, _SHARES.get(self.theme, _MIXED))

    def number(self, choices: Choices) -> int | float | None:
        """Return a number that may be out of the bounds of a field, or None for a usual number."""
        if self.theme == "equal" and chance(choices, 80):
            return pick(choices, self._numbers)
        if self.theme == "empty" and chance(choices, 60):
            return 0
        if chance(choices, {"constants": 65, "plain": 8}.get(self.theme, 20)):
            return self.vocabulary.number(choices)
        return None

    @property
    def extreme_percent(self) -> int:
        """The percentage of integers that are at a limit of a type or unit."""
        return {"extremes": 75, "plain": 8, "equal": 5, "empty": 10}.get(self.theme, 20)

    @property
    def odd_key_percent(self) -> int:
        """The percentage of map keys that are not simple names."""
        return {"keys": 85, "plain": 10}.get(self.theme, 25)

    @property
    def longest_list(self) -> int:
        """The maximum number of items that the generator adds to a list, if its schema and budget allow."""
        return self._longest

    def _mixed_text(self, choices: Choices, name: str) -> str:
        return self._choose(choices, name, _MIXED) or pick(choices, ("a", "web", "10", "b"))

    def _choose(self, choices: Choices, name: str, shares: tuple[int, ...]) -> str | None:
        plain, typical, constant, odd, _ = accumulate(shares)
        at = choices.up_to(99)
        if at < plain:
            return None
        if at < typical:
            return typical_text(choices, name)
        if at < constant:
            return self.vocabulary.text(choices)
        return (
            pick(choices, TEXTS[pick(choices, _ODD_KINDS)]) if at < odd else long_text(choices, self.vocabulary.lengths)
        )
