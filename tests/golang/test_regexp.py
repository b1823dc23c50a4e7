"""Regular expressions with Go's grammar and meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from polykind.golang.regexp import PatternError, PatternTooLargeError, compile_pattern


def memory() -> int:
    """Return the memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


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


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1000}" * 66,
        "a+" * 70_000,
        "a*" + "a" * 70_000,
        r"\pL{1000}",
        r"(\pL{30}){30}",
        r"\pL" * 2_000,
        "(?i)" + "[^a]{1000}" * 60,
    ],
)
def test_pattern_of_go_that_is_too_large_for_re2_fails_when_it_is_matched(pattern: str) -> None:
    """RE2 would end the process for some of them."""
    compiled = compile_pattern(pattern)
    with pytest.raises(PatternTooLargeError, match="the pattern needs more than 60 MB when it is compiled"):
        compiled("a")
    assert not compiled.contains("a")


@pytest.mark.parametrize(
    "pattern",
    [
        "x" * 9_000,
        "ab" * 20_000,
        r"^\pL{75}$",
        r"^[\pL\pN]{1,63}$",
        r"\S{500}\W{500}",
        ".{1,1000}",
        "((a{10}){10}){10}",
    ],
)
def test_large_pattern_is_matched_without_a_word_of_re2(pattern: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert compile_pattern(pattern)("!" * 100) in (True, False)
    assert capfd.readouterr().err == ""


def test_expressions_beyond_the_limits_of_go_are_invalid() -> None:
    with pytest.raises(PatternError, match="expression too large"):
        compile_pattern("a{1000}" * 4_000)
    with pytest.raises(PatternError, match=r"invalid repeat count: `\{11\}`"):
        compile_pattern("((a{10}){10}){11}")


def test_compiled_patterns_are_bounded_in_bytes() -> None:
    before = memory()
    for number in range(60):
        assert not compile_pattern(rf"^\pL{{70}}x{number}$")("!")
    for number in range(1_000):
        assert compile_pattern(f"(a|b)*a(a|b){{12}}|x{number}")("abb" * 1_000)
    assert memory() - before < 64 * 1024 * 1024


def test_work_of_a_match_is_known_before() -> None:
    pattern = compile_pattern(r"^\pL{9}-unique$")
    assert pattern.work > 8_000
    assert not pattern("a")
    assert pattern.work == 0
