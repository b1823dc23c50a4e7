"""The tokens of an expression as they are read; complaints are worded as the reference's own parser words them.

It also goes on after a complaint as that one does: a single stray token is left out, a single missing one is imagined,
and else tokens are passed over up to one that somebody waits for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from polykind.cel.ast import Expr
from polykind.cel.lexer import Token, tokenize
from polykind.cel.source import Source

_KINDS = (
    "<EOF> == != in < <= >= > && || [ ] { } ( ) . , - ! ? : + * / % true false null "
    "NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER ESC_IDENTIFIER"
)
_ORDER = _KINDS.split()
_OPENING = "[ { ( . - ! true false null NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER"
_NAMED = frozenset({"<EOF>", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"})
UNARY_START = frozenset(_OPENING.split())
MEMBER_START = UNARY_START - {"!"}
ELEMENT_START = UNARY_START | {"?"}
FIELD_NAMES = frozenset({"IDENTIFIER", "ESC_IDENTIFIER"})
NUMBERS = frozenset({"NUM_INT", "NUM_FLOAT"})
SELECTORS = frozenset({".", "["})
OPERATORS = frozenset(["==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "-", "+", "*", "/", "%"])
_WORDS = frozenset({".true", ".false", ".null"})
_MOST_ATTEMPTS = 30
_FARTHEST = 512


class ParsingAbortedError(Exception):
    """Parsing cannot go on; what is wrong has been reported."""


class RecognitionError(Exception):
    """What stands here cannot be read; it has been reported. Whoever reads the part around it goes on behind it.

    `begun`: what of that part is there nevertheless.
    """

    def __init__(self, site: str) -> None:
        super().__init__(site)
        self.rule = site
        self.partial: Expr | None = None


class TokenStream:
    """A place among the tokens, and what is said when something else should stand there."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokenize(source)
        self.position = 0
        self.depth = 0
        self.follow_stack: list[frozenset[str]] = [frozenset({"<EOF>", "?"})]
        """What may follow an expression, besides operators, inside each bracket that is open."""
        self.recovery_stack: list[frozenset[str]] = [frozenset({"<EOF>"})]
        """What somebody waits for: those who have begun to read something and are not done."""
        self.recovering = False
        self._attempts = 0
        self._failed_at = -1
        self._failed_sites: set[str] = set()

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    @property
    def next_kind(self) -> str:
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)].kind

    def take(self) -> Token:
        token = self.tokens[self.position]
        self._recovered()
        self._skip()
        return token

    def accept(self, kind: str) -> Token | None:
        return self.take() if self.next.kind == kind else None

    def _skip(self) -> None:
        if self.position < len(self.tokens) - 1:
            self.position += 1

    def _recovered(self) -> None:
        if self.recovering:
            self.recovering = False
            self._failed_at = -1
            self._failed_sites.clear()

    # ------------------------------------------------------------------ complaints

    def syntax_error(self, message: str, token: Token | None = None) -> None:
        """One complaint for each stretch of text that cannot be read."""
        if not self.recovering:
            self.source.report((token or self.next).offset, f"Syntax error: {message}")
        self.recovering = True

    def mismatched_input(self, expected: Iterable[str], site: str) -> NoReturn:
        self.syntax_error(f"mismatched input {_quoted(self.next.text)} expecting {expected_text(expected)}")
        raise RecognitionError(site)

    def no_viable_alternative(self, last: int, site: str) -> NoReturn:
        """Nothing begins like the tokens from here to the one at `last`."""
        last = min(last, len(self.tokens) - 1)
        start, end = self.next, self.tokens[last]
        text = "<EOF>" if start.kind == "<EOF>" else self._between(start, end)
        if text in _WORDS:
            self.syntax_error(f"mismatched input '{text[1:]}' expecting IDENTIFIER", end)
        else:
            self.syntax_error(f"no viable alternative at input {_quoted(text)}", end)
        raise RecognitionError(site)

    def _between(self, start: Token, end: Token) -> str:
        """The text from one token to another, without what is no token."""
        stop = end.offset + (0 if end.kind == "<EOF>" else len(end.text))
        parts, at = [], start.offset
        for begin, finish in self.source.unrecognized_spans:
            if at <= begin < stop:
                parts.append(self.source.text[at:begin])
                at = finish
        parts.append(self.source.text[at:stop])
        return "".join(parts)

    # ------------------------------------------------------------------ going on

    def sync(self, expected: frozenset[str], site: str) -> None:
        """What may come next, does; a single stray token before it is left out. Not asked while recovering."""
        if self.recovering or self.next.kind in expected or self._left_out(expected):
            return
        self.mismatched_input(expected, site)

    def sync_loop(self, expected: frozenset[str]) -> None:
        """As `sync`, where more of the same may come: what is passed over then goes on to where somebody waits."""
        if self.recovering or self.next.kind in expected:
            return
        self.syntax_error(f"extraneous input {_quoted(self.next.text)} expecting {expected_text(expected)}")
        self._pass_over(expected.union(*self.recovery_stack))

    def expect(self, kind: str) -> Token:
        """A token that must come; one that is only missing is imagined, one stray token before it left out."""
        if self.next.kind == kind:
            return self.take()
        self._attempt()
        if self._left_out(frozenset({kind})):
            return self.take()
        follows = UNARY_START if kind == ":" else OPERATORS | SELECTORS | self.follow_stack[-1]
        if kind != "<EOF>" and self.next.kind in follows:
            self.syntax_error(f"missing '{kind}' at {_quoted(self.next.text)}")
            return self.next
        return self.mismatched_input({kind}, kind)

    def recover(self, failure: RecognitionError, awaited: int) -> None:
        """Pass over what cannot be read; `awaited` is how many waited before it was begun."""
        del self.recovery_stack[awaited:]
        self._attempt()
        if self._failed_at == self.position and failure.rule in self._failed_sites:
            self._skip()
        self._failed_at = self.position
        self._failed_sites.add(failure.rule)
        self._pass_over(frozenset().union(*self.recovery_stack))

    def _left_out(self, expected: frozenset[str]) -> bool:
        if self.next_kind not in expected or self.next.kind == "<EOF>":
            return False
        self.syntax_error(f"extraneous input {_quoted(self.next.text)} expecting {expected_text(expected)}")
        self._skip()
        self._recovered()
        return True

    def _pass_over(self, wanted: frozenset[str]) -> None:
        start = self.position
        while self.next.kind not in wanted and self.next.kind != "<EOF>":
            if self.position - start == _FARTHEST:
                self.source.report(-1, f"error recovery token lookahead limit exceeded: {_FARTHEST}")
                raise ParsingAbortedError
            self._skip()

    def _attempt(self) -> None:
        if self._attempts == _MOST_ATTEMPTS:
            message = f"Syntax error: error recovery attempt limit exceeded: {_MOST_ATTEMPTS}"
            self.source.report(self.next.offset, message)
            raise ParsingAbortedError
        self._attempts += 1


def _quoted(text: str) -> str:
    shown = text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{shown}'"


def expected_text(kinds: Iterable[str]) -> str:
    wanted = set(kinds)
    shown = [kind if kind in _NAMED else f"'{kind}'" for kind in _ORDER if kind in wanted]
    return shown[0] if len(shown) == 1 else f"{{{', '.join(shown)}}}"
