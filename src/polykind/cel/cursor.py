"""The tokens of an expression as they are read; complaints are worded as the reference's own parser words them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from polykind.cel.lexer import Token, tokens
from polykind.cel.source import Source

_KINDS = (
    "<EOF> == != in < <= >= > && || [ ] { } ( ) . , - ! ? : + * / % true false null "
    "NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER ESC_IDENTIFIER"
)
_ORDER = _KINDS.split()
_OPENING = "[ { ( . - ! true false null NUM_FLOAT NUM_INT NUM_UINT STRING BYTES IDENTIFIER"
_NAMED = frozenset({"<EOF>", "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER"})
STARTS = frozenset(_OPENING.split())
MEMBER_STARTS = STARTS - {"!"}
_OPERATORS = frozenset(["==", "!=", "in", "<", "<=", ">=", ">", "&&", "||", "[", ".", "-", "?", "+", "*", "/", "%"])
ELEMENTS = STARTS | {"?"}
_RESUMING = _OPERATORS - {".", "["}
FIELD_NAMES = frozenset({"IDENTIFIER", "ESC_IDENTIFIER"})
NUMBERS = frozenset({"NUM_INT", "NUM_FLOAT"})


class StopParsing(Exception):
    """Parsing cannot go on; what is wrong has been reported."""


class Cursor:
    """A place among the tokens, and what is said when something else should stand there."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = tokens(source)
        self.position = 0
        self.depth = 0
        self.enclosing: list[frozenset[str]] = [frozenset({"<EOF>"})]
        """What may follow an expression, besides operators, inside each bracket that is open."""
        self.recovering = False

    @property
    def next(self) -> Token:
        return self.tokens[self.position]

    @property
    def after(self) -> str:
        return self.tokens[min(self.position + 1, len(self.tokens) - 1)].kind

    def take(self) -> Token:
        token = self.tokens[self.position]
        self.recovering = False
        self.skip()
        return token

    def skip(self) -> None:
        if self.position < len(self.tokens) - 1:
            self.position += 1

    def accept(self, kind: str) -> Token | None:
        return self.take() if self.next.kind == kind else None

    # ------------------------------------------------------------------ complaints

    def syntax(self, message: str, token: Token | None = None) -> None:
        """One complaint for each stretch of text that cannot be read."""
        if not self.recovering:
            self.source.report((token or self.next).at, f"Syntax error: {message}")
        self.recovering = True

    def mismatched(self, expected: Iterable[str]) -> NoReturn:
        self.syntax(f"mismatched input '{self.next.text}' expecting {expected_text(expected)}")
        raise StopParsing

    def no_viable(self, start: Token) -> None:
        """Nothing that starts so can be read; parsing goes on where an operator or the end of a bracket comes."""
        end = self.next.at + (0 if self.next.kind == "<EOF>" else len(self.next.text))
        text = self.source.text[start.at : end].strip()
        if text in (".true", ".false", ".null"):
            self.syntax(f"mismatched input '{text[1:]}' expecting IDENTIFIER")
        else:
            self.syntax(f"no viable alternative at input '{text}'")
        self.resume()

    def resume(self) -> None:
        while self.next.kind not in _RESUMING and self.next.kind not in self.enclosing[-1]:
            if self.next.kind == "<EOF>":
                return
            self.skip()

    def stray(self, expected: frozenset[str]) -> bool:
        """Whether what must come next does; a single stray token before it is left out."""
        if self.next.kind in expected:
            return False
        if self.after in expected and self.next.kind != "<EOF>":
            self.syntax(f"extraneous input '{self.next.text}' expecting {expected_text(expected)}")
            self.skip()
            return False
        return True

    def sync(self, expected: frozenset[str]) -> None:
        if self.stray(expected):
            self.mismatched(expected)

    def expect(self, kind: str, *also: str) -> Token:
        """A token that closes something; one that is only missing is added, one stray token before it left out."""
        if self.next.kind == kind:
            return self.take()
        expected = {kind, *also}
        if self.after == kind and self.next.kind != "<EOF>":
            self.syntax(f"extraneous input '{self.next.text}' expecting {expected_text(expected)}")
            self.skip()
            return self.take()
        follows = STARTS if kind == ":" else _OPERATORS | self.enclosing[-1]
        if not also and self.next.kind in follows:
            self.syntax(f"missing '{kind}' at '{self.next.text}'")
            return self.next
        return self.mismatched(expected)

    def inside(self, *closing: str) -> None:
        self.enclosing.append(frozenset(closing))


def expected_text(kinds: Iterable[str]) -> str:
    wanted = set(kinds)
    shown = [kind if kind in _NAMED else f"'{kind}'" for kind in _ORDER if kind in wanted]
    return shown[0] if len(shown) == 1 else f"{{{', '.join(shown)}}}"
