"""Regular expressions with Go's grammar and meaning."""

from __future__ import annotations

import pytest

from polykind.golang.regexp import PatternError, compile_pattern


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"^\d+$", "12", True),
        (r"^\d+$", "12\n", False),
        (r"^\d+$", "\u0663", False),
        (r"^\w+$", "ä", False),
        (r"^\s$", "\xa0", False),
        ("^.$", "ä", True),
        (r"^\pL+$", "ä", True),
        (r"a\z", "a\n", False),
        ("b", "abc", True),
        (r"^\Qa.b\E$", "axb", False),
        (r"^(?P<first>a+?)b{2,3}$", "abb", True),
        ("^(?<first>a)$", "a", True),
        (r"^\x{41}\x42\103$", "ABC", True),
        ("a{,2}", "a{,2}", True),
        (r"^[\]\-a-c[:digit:]]+$", "]-b5", True),
        ("^.$", "\ud800", True),
    ],
)
def test_patterns_match_as_in_go(pattern: str, text: str, expected: bool) -> None:
    assert compile_pattern(pattern)(text) is expected


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(unclosed", "missing closing ): `(unclosed`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:nope:]]", "invalid character class range: `[:nope:]`"),
        (r"\p{Nope}", r"invalid character class range: `\p{Nope}`"),
        ("(?P<a b>x)", "invalid named capture: `(?P<a b>`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_invalid_pattern_raises_go_message(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError) as refusal:
        compile_pattern(pattern)
    assert str(refusal.value) == f"error parsing regexp: {problem}"


def test_matching_takes_linear_time() -> None:
    assert compile_pattern("^(a+)+$")("a" * 5000 + "!") is False
