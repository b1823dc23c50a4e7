"""From text to tree, with macros expanded."""

from __future__ import annotations

from polykind.cel import literals
from polykind.cel.cursor import (
    ELEMENTS,
    FIELD_NAMES,
    MEMBER_STARTS,
    NUMBERS,
    STARTS,
    Cursor,
    StopParsing,
    expected_text,
)
from polykind.cel.macros import MacroError, expand
from polykind.cel.source import Source
from polykind.cel.tree import Call, Expr, Ident, ListExpr, Literal, MapEntry, MapExpr, Select, StructExpr, UInt

_MOST_CODE_POINTS = 100_000
_DEEPEST = 250
_WORDS = "as break const continue else for function if import let loop package namespace return var void while"
_RESERVED = frozenset(_WORDS.split())
_RELATIONS = {op: f"_{op}_" for op in ("<", "<=", ">=", ">", "==", "!=")} | {"in": "@in"}
_BINDING = {"||": 1, "&&": 2} | dict.fromkeys(_RELATIONS, 3) | {"+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_FUNCTIONS = _RELATIONS | {op: f"_{op}_" for op in ("||", "&&", *"+-*/%")}


def parse(source: Source) -> Expr | None:
    """The tree of an expression with its macros expanded; None if the source has problems."""
    if len(source.text) > _MOST_CODE_POINTS:
        size = len(source.text)
        source.report(-1, f"expression code point size exceeds limit: size: {size}, limit {_MOST_CODE_POINTS}")
        return None
    try:
        tree = _Parser(source).whole()
    except StopParsing:
        return None
    except RecursionError:
        source.report(-1, f"expression recursion limit exceeded: {_DEEPEST}")
        return None
    return None if source.problems else tree


class _Parser(Cursor):
    """Precedence climbing over the tokens."""

    def error(self, at: int, message: str) -> Expr:
        self.source.report(at, message)
        return Literal(at, None)

    # ------------------------------------------------------------------ expressions

    def whole(self) -> Expr:
        tree = self.expr()
        if self.next.kind != "<EOF>":
            if self.after == "<EOF>":
                self.syntax(f"extraneous input '{self.next.text}' expecting <EOF>")
                raise StopParsing
            self.mismatched({"<EOF>"})
        return tree

    def expr(self) -> Expr:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.source.report(-1, f"expression recursion limit exceeded: {_DEEPEST}")
            raise StopParsing
        tree = self.binary(1)
        if mark := self.accept("?"):
            self.inside(":")
            middle = self.binary(1)
            self.enclosing.pop()
            self.expect(":")
            tree = Call(mark.at, "_?_:_", None, [tree, middle, self.expr()])
        self.depth -= 1
        return tree

    def binary(self, least: int) -> Expr:
        """Operators that bind at least so strongly; a chain of && or || becomes one call with all its terms."""
        left = self.unary()
        joined: Call | None = None
        chain = 0
        while (strength := _BINDING.get(self.next.kind, 0)) >= least:
            op = self.take()
            function = _FUNCTIONS[op.kind]
            right = self.binary(strength + 1)
            if joined is not None and joined is left and joined.function == function:
                joined.args.append(right)
                continue
            left = Call(op.at, function, None, [left, right])
            if strength <= 2:
                joined = left
            chain += 1
            if chain + self.depth > _DEEPEST:
                self.source.report(-1, "max recursion depth exceeded")
                raise StopParsing
        return left

    def unary(self) -> Expr:
        if self.stray(STARTS):
            return self.nothing()
        kind = self.next.kind
        if kind not in ("!", "-") or (kind == "-" and self.after in NUMBERS):
            return self.member()
        if kind == "-" and self.after not in MEMBER_STARTS:
            return self.lone_minus()
        first = self.take()
        count = 1
        while self.next.kind == kind:
            self.take()
            count += 1
        if self.next.kind not in STARTS:
            self.syntax(f"extraneous input '{self.next.text}' expecting {expected_text(STARTS)}")
            while self.next.kind not in STARTS:
                if self.next.kind == "<EOF>":
                    raise StopParsing
                self.skip()
        operand = self.member()
        return operand if count % 2 == 0 else Call(first.at, f"{kind}_", None, [operand])

    def nothing(self) -> Expr:
        """No operand where one must stand; parsing goes on behind it."""
        at = self.next.at
        self.syntax(f"mismatched input '{self.next.text}' expecting {expected_text(STARTS)}")
        self.resume()
        return Literal(at, None)

    def lone_minus(self) -> Expr:
        """A minus before nothing it could negate is then read as one that subtracts."""
        start = self.next
        self.position += 1
        end = self.next.at + (0 if self.next.kind == "<EOF>" else len(self.next.text))
        self.syntax(f"no viable alternative at input '{self.source.text[start.at : end]}'")
        self.position -= 1
        return Literal(start.at, None)

    def member(self) -> Expr:
        tree = self.primary()
        chain = 0
        while self.next.kind in (".", "["):
            tree = self.selected(tree) if self.next.kind == "." else self.indexed(tree)
            chain += 1
            if chain + self.depth > _DEEPEST:
                self.source.report(-1, "max recursion depth exceeded")
                raise StopParsing
        return tree

    def selected(self, operand: Expr) -> Expr:
        dot = self.take()
        optional = self.accept("?")
        if self.next.kind not in ("IDENTIFIER", "ESC_IDENTIFIER"):
            if optional:
                at = self.next.at
                self.syntax(f"mismatched input '{self.next.text}' expecting {{IDENTIFIER, ESC_IDENTIFIER}}")
                self.resume()
                return self.error(at, "unsupported ident kind")
            self.no_viable(dot)
            return operand
        name = self.take()
        if name.kind == "ESC_IDENTIFIER":
            self.error(name.at, "unsupported syntax: '`'")
        if optional:
            return Call(dot.at, "_?._", None, [operand, Literal(name.at, name.text)])
        if name.kind == "IDENTIFIER" and (opened := self.accept("(")):
            return self.call(opened.at, name.text, operand, self.arguments())
        return Select(dot.at, operand, name.text)

    def indexed(self, operand: Expr) -> Expr:
        opened = self.take()
        optional = self.accept("?")
        if not optional:
            self.sync(STARTS | {"?"})
        self.inside("]")
        index = self.expr()
        self.enclosing.pop()
        self.expect("]")
        return Call(opened.at, "_[?_]" if optional else "_[_]", None, [operand, index])

    def arguments(self) -> list[Expr]:
        self.sync(STARTS | {")"})
        found: list[Expr] = []
        if self.next.kind != ")":
            self.inside(",", ")")
            found.append(self.expr())
            while self.accept(","):
                found.append(self.expr())
            self.enclosing.pop()
        self.expect(")")
        return found

    def call(self, at: int, function: str, target: Expr | None, args: list[Expr]) -> Expr:
        try:
            expanded = expand(at, function, target, args)
        except MacroError as wrong:
            return self.error(wrong.at, str(wrong))
        return expanded or Call(at, function, target, args)

    # ------------------------------------------------------------------ what an expression is made of

    def primary(self) -> Expr:
        token = self.next
        kind = token.kind
        if kind in ("IDENTIFIER", "."):
            return self.named()
        if kind == "(":
            self.take()
            self.inside(")")
            tree = self.expr()
            self.enclosing.pop()
            self.expect(")")
            return tree
        if kind == "[":
            return self.listed()
        if kind == "{":
            opened = self.take()
            return MapExpr(opened.at, self.entries())
        return self.literal()

    def named(self) -> Expr:
        dot = self.accept(".")
        if self.next.kind != "IDENTIFIER":
            self.no_viable(dot or self.next)
            return Literal(self.next.at, None)
        start = self.next
        if self._opens_message():
            return self.message("." if dot else "")
        token = self.take()
        name = f".{token.text}" if dot else token.text
        if token.text in _RESERVED:
            reserved = self.error((dot or start).at, f"reserved identifier: {token.text}")
            if self.accept("("):
                self.arguments()
            return reserved
        if opened := self.accept("("):
            return self.call(opened.at, name, None, self.arguments())
        return Ident(token.at, name)

    def _opens_message(self) -> bool:
        at = self.position
        while self.tokens[at].kind == "IDENTIFIER" and self.tokens[at + 1].kind == ".":
            at += 2
        return self.tokens[at].kind == "IDENTIFIER" and self.tokens[at + 1].kind == "{"

    def message(self, prefix: str) -> Expr:
        names = [self.take().text]
        while self.accept("."):
            names.append(self.take().text)
        opened = self.take()
        return StructExpr(opened.at, prefix + ".".join(names), self.fields())

    def fields(self) -> list[tuple[int, str, Expr, bool]]:
        self.sync(FIELD_NAMES | {"}", ",", "?"})
        start = self.next.at
        found: list[tuple[int, str, Expr, bool]] = []
        while self.next.kind == "?" or self.next.kind in FIELD_NAMES:
            optional = self.accept("?") is not None
            self.sync(FIELD_NAMES)
            name = self.take()
            if name.kind == "ESC_IDENTIFIER":
                self.error(start, "unsupported syntax: '`'")
            colon = self.expect(":")
            self.inside(",", "}")
            found.append((colon.at, name.text, self.expr(), optional))
            self.enclosing.pop()
            if not self.accept(","):
                self.expect("}", ",")
                return found
        if not found:
            self.accept(",")
        self.expect("}")
        return found

    def listed(self) -> Expr:
        opened = self.take()
        self.sync(STARTS | {"]", ",", "?"})
        items: list[Expr] = []
        optional: set[int] = set()
        self.inside(",", "]")
        while self.next.kind in ELEMENTS:
            if self.accept("?"):
                optional.add(len(items))
            items.append(self.expr())
            if not self.accept(","):
                self.enclosing.pop()
                self.expect("]", ",")
                return ListExpr(opened.at, items, frozenset(optional))
        self.enclosing.pop()
        if not items:
            self.accept(",")
        self.expect("]")
        return ListExpr(opened.at, items, frozenset(optional))

    def entries(self) -> list[MapEntry]:
        self.sync(STARTS | {"}", ",", "?"})
        found: list[MapEntry] = []
        while self.next.kind in ELEMENTS:
            optional = self.accept("?") is not None
            self.inside(":")
            key = self.expr()
            self.enclosing.pop()
            colon = self.expect(":")
            self.inside(",", "}")
            found.append(MapEntry(colon.at, key, self.expr(), optional))
            self.enclosing.pop()
            if not self.accept(","):
                self.expect("}", ",")
                return found
        if not found:
            self.accept(",")
        self.expect("}")
        return found

    def literal(self) -> Expr:
        at = self.next.at
        negative = self.accept("-") is not None
        token = self.take()
        try:
            match token.kind:
                case "NUM_INT":
                    return Literal(at, literals.integer(token.text, negative))
                case "NUM_UINT":
                    return Literal(at, UInt(literals.unsigned(token.text)))
                case "NUM_FLOAT":
                    return Literal(at, literals.double(token.text, negative))
                case "STRING":
                    return Literal(at, literals.string(token.text))
                case "BYTES":
                    return Literal(at, literals.octets(token.text))
                case "true" | "false":
                    return Literal(at, token.kind == "true")
                case _:
                    return Literal(at, None)
        except literals.LiteralError as wrong:
            return self.error(at, str(wrong))
