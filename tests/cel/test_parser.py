"""Parsing: syntax errors with the messages and locations of cel-go's ANTLR parser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polykind.cel.parser import parse
from polykind.cel.source import Source
from tests.cel.support import compile_errors

EXPECTED_START = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("self.", ("1:6: Syntax error: no viable alternative at input '.'",)),
        ("self.a ==", ("1:10: Syntax error: mismatched input '<EOF>' expecting " + EXPECTED_START,)),
        ("(self.a", ("1:8: Syntax error: missing ')' at '<EOF>'",)),
        ("self.a)", ("1:7: Syntax error: extraneous input ')' expecting <EOF>",)),
        (
            "self.a = 'x'",
            (
                "1:8: Syntax error: token recognition error at: '= '",
                "1:10: Syntax error: extraneous input ''x'' expecting <EOF>",
            ),
        ),
        (
            "self.a == 'x",
            (
                "1:11: Syntax error: token recognition error at: ''x'",
                "1:13: Syntax error: mismatched input '<EOF>' expecting " + EXPECTED_START,
            ),
        ),
        (
            "self.a & true",
            (
                "1:8: Syntax error: token recognition error at: '& '",
                "1:10: Syntax error: extraneous input 'true' expecting <EOF>",
            ),
        ),
        ("self.a self.b", ("1:8: Syntax error: mismatched input 'self' expecting <EOF>",)),
        ("[1, 2", ("1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}",)),
        ("{'a'", ("1:5: Syntax error: mismatched input '<EOF>' expecting ':'",)),
        ("{'a': 1,", ("1:9: Syntax error: missing '}' at '<EOF>'",)),
        (
            "size(",
            ("1:6: Syntax error: mismatched input '<EOF>' expecting " + EXPECTED_START.replace("'('", "'(', ')'"),),
        ),
        ("size(self.a", ("1:12: Syntax error: missing ')' at '<EOF>'",)),
        ("self.l.all(x, x == 'a'", ("1:23: Syntax error: missing ')' at '<EOF>'",)),
        ("self.true", ("1:6: Syntax error: mismatched input 'true' expecting IDENTIFIER",)),
        (
            "self.in",
            (
                "1:6: Syntax error: no viable alternative at input '.in'",
                "1:8: Syntax error: mismatched input '<EOF>' expecting " + EXPECTED_START,
            ),
        ),
        ("!", ("1:2: Syntax error: extraneous input '<EOF>' expecting " + EXPECTED_START,)),
        (
            "-",
            (
                "1:2: Syntax error: no viable alternative at input '-'",
                "1:2: Syntax error: mismatched input '<EOF>' expecting " + EXPECTED_START,
            ),
        ),
        ("-!true", ("1:2: Syntax error: no viable alternative at input '-!'",)),
        ("true ? 1", ("1:9: Syntax error: mismatched input '<EOF>' expecting ':'",)),
        (
            "true ? : 2",
            (
                "1:8: Syntax error: extraneous input ':' expecting " + EXPECTED_START,
                "1:11: Syntax error: mismatched input '<EOF>' expecting ':'",
            ),
        ),
        ("true && && false", ("1:9: Syntax error: extraneous input '&&' expecting " + EXPECTED_START,)),
        (
            "has(self.",
            ("1:5: invalid argument to has() macro", "1:10: Syntax error: no viable alternative at input '.'"),
        ),
        (
            "self.?1",
            (
                "1:7: Syntax error: mismatched input '1' expecting {IDENTIFIER, ESC_IDENTIFIER}",
                "1:7: unsupported ident kind",
            ),
        ),
        ("1.2.3", ("1:4: Syntax error: extraneous input '.3' expecting <EOF>",)),
        ("99999999999999999999", ("1:1: invalid int literal",)),
        ("namespace == 1", ("1:1: reserved identifier: namespace",)),
        ("self.`a` == 'x'", ("1:6: unsupported syntax: '`'",)),
        ("has(self.`a`)", ("1:10: unsupported syntax: '`'",)),
        ("true // c\n&& )", ("2:4: Syntax error: mismatched input ')' expecting " + EXPECTED_START,)),
    ],
)
def test_syntax_errors(text: str, expected: tuple[str, ...]) -> None:
    assert compile_errors(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "self.l.all(x x > 0)",
            (
                "1:14: Syntax error: mismatched input 'x' expecting ')'",
                "1:19: Syntax error: extraneous input ')' expecting <EOF>",
            ),
        ),
        (
            "self.i in [1'a',2,3]",
            (
                "1:13: Syntax error: extraneous input ''a'' expecting {']', ','}",
                "1:17: Syntax error: mismatched input '2' expecting ']'",
            ),
        ),
        (
            "(self.+i + 2) * 3 == 9",
            (
                "1:7: Syntax error: no viable alternative at input '.+'",
                "1:13: Syntax error: mismatched input ')' expecting <EOF>",
            ),
        ),
        (
            "self.?.orValue('x') == 'x'",
            (
                "1:7: Syntax error: extraneous input '.' expecting {IDENTIFIER, ESC_IDENTIFIER}",
                "1:15: Syntax error: mismatched input '(' expecting <EOF>",
            ),
        ),
        (
            "self.b.~.x",
            (
                "1:8: Syntax error: token recognition error at: '~'",
                "1:9: Syntax error: no viable alternative at input '..'",
            ),
        ),
        (
            "`self == oldSelf",
            (
                "1:1: Syntax error: token recognition error at: '`self ='",
                "1:8: Syntax error: token recognition error at: '= '",
            ),
        ),
        (
            r"self == '\01' || true",
            (
                r"1:9: Syntax error: token recognition error at: ''\01''",
                "1:15: Syntax error: extraneous input '||' expecting " + EXPECTED_START,
            ),
        ),
        (r"self == 1 '\0-", (r"1:11: Syntax error: token recognition error at: ''\0-'",)),
        ("has(true && true && true)", ("1:18: invalid argument to has() macro",)),
        ("has(true || true || true || true || true)", ("1:26: invalid argument to has() macro",)),
        (
            "has(self.a?b)",
            ("1:11: invalid argument to has() macro", "1:13: Syntax error: mismatched input ')' expecting ':'"),
        ),
        (
            "has(self.a{1)",
            (
                "1:11: invalid argument to has() macro",
                "1:12: Syntax error: mismatched input '1' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}",
            ),
        ),
        (
            "has(self.a(true",
            ("1:11: invalid argument to has() macro", "1:16: Syntax error: mismatched input '<EOF>' expecting ')'"),
        ),
        (
            "has(self.a[0",
            ("1:11: invalid argument to has() macro", "1:13: Syntax error: mismatched input '<EOF>' expecting ']'"),
        ),
        ("!-self.b", ("1:3: Syntax error: no viable alternative at input '-self'",)),
        (
            "has(..s) || true",
            (
                "1:0: invalid argument to has() macro",
                "1:6: Syntax error: no viable alternative at input '..'",
            ),
        ),
    ],
)
def test_parser_continues_after_a_syntax_error(text: str, expected: tuple[str, ...]) -> None:
    assert compile_errors(text) == expected


def test_error_recovery_has_limits() -> None:
    many_errors = Source("(1 2) + " * 40 + "1")
    assert parse(many_errors) is None
    assert "ERROR: <input>:1:244: Syntax error: error recovery attempt limit exceeded: 30" in many_errors.error_text()
    long_skip = Source("(" + "a " * 600)
    assert parse(long_skip) is None
    assert "error recovery token lookahead limit exceeded: 512" in long_skip.error_text()


def test_error_text_shows_line_and_caret() -> None:
    source = Source("self.b\n  == 'é' é")
    parse(source)
    assert source.error_text() == (
        "ERROR: <input>:2:10: Syntax error: token recognition error at: 'é'\n |   == 'é' é\n | ......．..＾"
    )


@pytest.mark.parametrize(
    "text",
    ["1 + 2 * 3 == 7", "[1, 2,]", "{'a': 1,}", "a.b.c(1)[2].d", "!!true", "--1 == 1", "r'\\d' == 'x'", "b'\\x00'"],
)
def test_valid_syntax(text: str) -> None:
    source = Source(text)
    assert parse(source) is not None
    assert not source.errors


def test_chain_of_logical_operators_is_one_call() -> None:
    chain = parse(Source("a && b && c"))
    assert len(getattr(chain, "args", ())) == 3


@pytest.mark.parametrize(
    "text",
    ["(" * 300 + "1" + ")" * 300, "!" * 5000, "-" * 9999, "[" * 2000, "1" + "+1" * 5000, "a" + ".a" * 5000],
    ids=["parentheses", "not", "minus", "lists", "sum", "fields"],
)
def test_nesting_depth_is_limited(text: str) -> None:
    assert compile_errors(text)


def test_expression_length_is_limited() -> None:
    assert compile_errors("1" * 100_001) == (
        "-1:0: expression code point size exceeds limit: size: 100001, limit 100000",
    )


@given(st.text(alphabet="selfab.()[]{}!-+*/%<>=&|?:,'\"\\ 012ux`\n", max_size=40))
def test_any_text_parses_or_reports_errors(text: str) -> None:
    source = Source(text)
    assert (parse(source) is None) == bool(source.errors)


@given(st.text(max_size=30))
def test_any_unicode_text_raises_nothing(text: str) -> None:
    source = Source(text)
    parse(source)
    source.error_text()
