from __future__ import annotations

import re
from random import Random

import pytest

from polykind.golang.regexp import compile_pattern
from polykind.toolkit.proving.choices import RandomChoices
from polykind.toolkit.proving.pattern_generator import UnsupportedPatternError, pattern_generator

PATTERNS = [
    "^[a-z]([-a-z0-9]*[a-z0-9])?$",
    r"^\d{3}-\d{4}$",
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    "^(?i)(abort|warn)?$",
    "^https?://",
    "end$",
    "middle",
    "",
    r"^[[:alpha:]_][[:^space:]]{2,}$",
    r"^\p{Lu}\pN+$",
    r"^[^/\s]+/[^/]+$",
    r"\Aa\Qb.c\Ed\z",
    "^(?P<first>a+?)(?:b|c){2,3}[]x-]$",
    r"^[\w.+-]+@\w+\.[a-z]{2,}$",
    r"^\x41\x{42}\101\t$",
    "a{,3}",
    "^([0-9]{1,3}\\.){3}[0-9]{1,3}$",
    r"\bword\b",
]


def drawn(pattern: str, least: int = 0, most: int = 1 << 20, count: int = 40) -> list[str | None]:
    choices = RandomChoices(Random(1))
    return [pattern_generator(pattern).draw(choices, least, most) for _ in range(count)]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_strings_match_like_re2(pattern: str) -> None:
    matches = compile_pattern(pattern)
    found = drawn(pattern)
    assert None not in found
    assert all(matches(text) for text in found if text is not None)


def test_strings_respect_length_bounds() -> None:
    for least, most in ((5, 5), (1, 3), (20, 30)):
        found = drawn("^[a-z]([-a-z0-9]*[a-z0-9])?$", least, most)
        assert all(text is not None and least <= len(text) <= most for text in found)
    assert {len(text or "") for text in drawn("^(ab|abcd)+$", 6, 6)} == {6}


def test_pattern_without_anchor_allows_padding() -> None:
    assert any(text != "middle" for text in drawn("middle"))
    assert all(text is not None and text.endswith("end") for text in drawn("end$"))
    assert {len(text or "") for text in drawn("^https://", 12, 12)} == {12}


def test_impossible_length_returns_none() -> None:
    assert set(drawn("^abc$", 5, 9)) == {None}


def test_strings_vary() -> None:
    assert len(set(drawn("^[a-z]{5}$"))) > 30


@pytest.mark.parametrize("pattern", ["(", r"^\p{Greek}$", "[b-a]"])
def test_unsupported_pattern_raises(pattern: str) -> None:
    with pytest.raises(UnsupportedPatternError):
        pattern_generator(pattern)


def test_simplest_choices_give_the_simplest_string() -> None:
    class Simplest(RandomChoices):
        def up_to(self, most: int) -> int:
            return 0

    assert pattern_generator("^[!a-z]{2}[0-9]?$").draw(Simplest(Random(0))) == "aa"
    assert re.fullmatch("a+", pattern_generator("^.+$").draw(Simplest(Random(0))) or "")
