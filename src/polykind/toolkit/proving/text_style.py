"""The style of the object that is being generated: the texts and numbers that its theme prefers."""

from __future__ import annotations

from itertools import accumulate

from polykind.toolkit.proving.choices import Choices, chance, pick
from polykind.toolkit.proving.themes import MIXED_TEXTS, TextShares, theme_of
from polykind.toolkit.proving.vocabulary import TEXTS, Vocabulary, long_text, typical_text

_ODD_KINDS = ("multi-line", "spaces", "unicode", "case", "numeric", "boolean", "separators", "json")


class Style:
    """The theme of the object that is being generated, with the converter's vocabulary."""

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or Vocabulary()
        self.theme = theme_of("plain")
        self.longest_list = self.theme.longest_list
        """The number of items that the generator adds to a list, if its schema and budget allow."""
        self._texts: list[str] = []
        self._numbers: list[int] = []
        self._kind = ""

    def begin(self, choices: Choices, theme: str) -> None:
        """Choose the values that the theme needs once for an object."""
        self.theme = theme_of(theme)
        self._texts, self._numbers, self._kind = [], [], ""
        self.longest_list = self.theme.longest_list
        counts = self.vocabulary.counts
        if counts and chance(choices, self.theme.counted_lists):
            self.longest_list = max(self.longest_list, pick(choices, counts) + 2)
        if self.theme.equal_texts:
            self._texts = [self._mixed_text(choices, "name") for _ in range(1 + choices.up_to(1))]
        if self.theme.equal_numbers:
            self._numbers = [pick(choices, (1, 2, 3, 80, 100)) for _ in range(1 + choices.up_to(1))]
        if self.theme.similar_texts:
            self._kind = pick(choices, tuple(TEXTS))

    def text(self, choices: Choices, name: str) -> str | None:
        """Return a text for a field with this name, or None for a plain word."""
        theme = self.theme
        if chance(choices, theme.equal_texts):
            return pick(choices, self._texts)
        if chance(choices, theme.empty_texts):
            return ""
        if chance(choices, theme.similar_texts):
            return typical_text(choices, name, self._kind)
        return self._choose(choices, name, theme.texts)

    def number(self, choices: Choices) -> int | float | None:
        """Return a number that may be out of the bounds of a field, or None for a usual number."""
        theme = self.theme
        if chance(choices, theme.equal_numbers):
            return pick(choices, self._numbers)
        if chance(choices, theme.zeros):
            return 0
        return self.vocabulary.number(choices) if chance(choices, theme.constant_numbers) else None

    def _mixed_text(self, choices: Choices, name: str) -> str:
        return self._choose(choices, name, MIXED_TEXTS) or pick(choices, ("a", "web", "10", "b"))

    def _choose(self, choices: Choices, name: str, shares: TextShares) -> str | None:
        plain, typical, constant, odd, _ = accumulate(shares)
        at = choices.up_to(99)
        if at < plain:
            return None
        if at < typical:
            return typical_text(choices, name)
        if at < constant:
            return self.vocabulary.text(choices)
        if at < odd:
            return pick(choices, TEXTS[pick(choices, _ODD_KINDS)])
        return long_text(choices, self.vocabulary.lengths)
