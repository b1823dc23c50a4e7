"""From text to tree, with macros expanded."""

from __future__ import annotations

from polykind.cel import literals
from polykind.cel.ast import Call, Expr, Ident, ListExpr, Literal, MapEntry, MapExpr, Select, StructExpr, UInt
from polykind.cel.macros import MacroError, expand
from polykind.cel.source import UNPARSED, Source
from polykind.cel.token_stream import (
    ELEMENT_START,
    FIELD_NAMES,
    MEMBER_START,
    NUMBERS,
    OPERATORS,
    SELECTORS,
    UNARY_START,
    ParsingAbortedError,
    RecognitionError,
    TokenStream,
)

_MOST_CODE_POINTS = 100_000
_DEEPEST = 250
_WORDS = "as break const continue else for function if import let loop package namespace return var void while"
_RESERVED = frozenset(_WORDS.split())
_RELATIONS = {op: f"_{op}_" for op in ("<", "<=", ">=", ">", "==", "!=")} | {"in": "@in"}
_BINDING = {"||": 1, "&&": 2} | dict.fromkeys(_RELATIONS, 3) | {"+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_CONDITION = OPERATORS | {"?"}
_CHOICE = OPERATORS | {":"}
_FUNCTIONS = _RELATIONS | {op: f"_{op}_" for op in ("||", "&&", *"+-*/%")}


def parse(source: Source) -> Expr | None:
    """The tree of an expression with its macros expanded; None if the source has problems."""
    if len(source.text) > _MOST_CODE_POINTS:
        size = len(source.text)
        source.report(-1, f"expression code point size exceeds limit: size: {size}, limit {_MOST_CODE_POINTS}")
        return None
    try:
        tree = _Parser(source).whole()
    except ParsingAbortedError:
        return None
    except RecursionError:
        source.report(-1, f"expression recursion limit exceeded: {_DEEPEST}")
        return None
    return None if source.errors else tree


class _Parser(TokenStream):
    """Precedence climbing over the tokens. Each rule that may fail goes on behind what it cannot read."""

    def error(self, at: int, message: str) -> Expr:
        self.source.report(at, message)
        return Literal(at, None)

    # ------------------------------------------------------------------ expressions

    def whole(self) -> Expr:
        tree = self.expr()
        try:
            self.expect("<EOF>")
        except RecognitionError as failure:
            self.recover(failure, 0)
        return tree

    def expr(self) -> Expr:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.source.report(-1, f"expression recursion limit exceeded: {_DEEPEST}")
            raise ParsingAbortedError
        waiting = len(self.recovery_stack)
        self.recovery_stack.append(_CONDITION)
        tree = self.binary(1)
        self.recovery_stack.pop()
        if mark := self.accept("?"):
            tree = Call(mark.offset, "_?_:_", None, [tree])
            try:
                self.recovery_stack.append(_CHOICE)
                self.follow_stack.append(frozenset({":"}))
                tree.args.append(self.binary(1))
                self.follow_stack.pop()
                self.recovery_stack.pop()
                self.expect(":")
                tree.args.append(self.expr())
            except RecognitionError as failure:
                self.recover(failure, waiting)
        self.depth -= 1
        return tree

    def expr_in(self, enclosing: frozenset[str], awaited: frozenset[str] | None = None) -> Expr:
        """An expression inside a bracket: what may follow it there, and what its surroundings wait for."""
        self.follow_stack.append(enclosing | {"?"})
        self.recovery_stack.append(awaited or enclosing)
        tree = self.expr()
        self.recovery_stack.pop()
        self.follow_stack.pop()
        return tree

    def binary(self, least: int) -> Expr:
        """Operators that bind at least so strongly.

        A chain of && or || becomes one call with all its terms. It stands where its middle operator does: the
        reference makes a balanced tree of it.
        """
        left = self.unary()
        joined: Call | None = None
        marks: list[int] = []
        chain = 0
        while (strength := _BINDING.get(self.next.kind, 0)) >= least:
            op = self.take()
            function = _FUNCTIONS[op.kind]
            right = self.binary(strength + 1)
            if joined is not None and joined is left and joined.function == function:
                joined.args.append(right)
                marks.append(op.offset)
                joined.offset = marks[len(marks) // 2]
                continue
            left = Call(op.offset, function, None, [left, right])
            if strength <= 2:
                joined, marks = left, [op.offset]
            chain += 1
            if chain + self.depth > _DEEPEST:
                self.source.report(-1, "max recursion depth exceeded")
                raise ParsingAbortedError
        return left

    def unary(self) -> Expr:
        waiting = len(self.recovery_stack)
        try:
            self.sync(UNARY_START, "unary")
            first = self.next
            if first.kind not in ("!", "-") or (first.kind == "-" and self.next_kind in NUMBERS):
                if first.kind not in UNARY_START:
                    self.no_viable_alternative(self.position, "unary")
                return self.member()
            negated = self.negations(first.kind)
            operand = self.member()
            return Call(first.offset, f"{first.kind}_", None, [operand]) if negated else operand
        except RecognitionError as failure:
            self.recover(failure, waiting)
            return Literal(UNPARSED, None)

    def negations(self, kind: str) -> bool:
        """Any number of the same sign: whether they change anything."""
        count = 0
        while self.next.kind == kind:
            if kind == "-" and self.next_kind not in MEMBER_START:
                self.no_viable_alternative(self.position + 1, f"sign {min(count, 1)}")
            self.take()
            count += 1
            self.sync_loop(UNARY_START if kind == "!" else MEMBER_START)
        return count % 2 == 1

    def member(self) -> Expr:
        waiting = len(self.recovery_stack)
        self.recovery_stack.append(SELECTORS)
        tree = self.primary()
        self.recovery_stack.pop()
        chain = 0
        while self.next.kind in SELECTORS:
            try:
                tree = self.selected(tree) if self.next.kind == "." else self.indexed(tree)
            except RecognitionError as failure:
                self.recover(failure, waiting)
                return failure.partial or tree
            chain += 1
            if chain + self.depth > _DEEPEST:
                self.source.report(-1, "max recursion depth exceeded")
                raise ParsingAbortedError
        return tree

    def selected(self, operand: Expr) -> Expr:
        if self.next_kind not in FIELD_NAMES and self.next_kind != "?":
            self.no_viable_alternative(self.position + 1, "selector")
        dot = self.take()
        if self.accept("?"):
            at, name = self.field_name(SELECTORS)
            return Call(dot.offset, "_?._", None, [operand, Literal(at, name)])
        if self.next.kind == "IDENTIFIER" and self.next_kind == "(":
            name = self.take().text
            opened = self.take()
            return self.call(opened.offset, name, operand)
        return Select(dot.offset, operand, self.field_name(SELECTORS)[1])

    def field_name(self, awaited: frozenset[str]) -> tuple[int, str]:
        """Where a name stands, and the name; one between backquotes is not understood."""
        at, waiting = self.next.offset, len(self.recovery_stack)
        self.recovery_stack.append(awaited)
        try:
            self.sync(FIELD_NAMES, "field name")
            at = self.next.offset
            if self.next.kind not in FIELD_NAMES:
                self.no_viable_alternative(self.position, "field name")
            name = self.take()
            if name.kind == "ESC_IDENTIFIER":
                self.error(name.offset, "unsupported syntax: '`'")
            return at, name.text
        except RecognitionError as failure:
            self.recover(failure, len(self.recovery_stack))
            self.error(at, "unsupported ident kind")
            return at, ""
        finally:
            del self.recovery_stack[waiting:]

    def indexed(self, operand: Expr) -> Expr:
        made = Call(self.take().offset, "_[_]", None, [operand])
        try:
            self.sync(ELEMENT_START, "index")
            if self.accept("?"):
                made.function = "_[?_]"
            made.args.append(self.expr_in(frozenset({"]"})))
            self.expect("]")
        except RecognitionError as failure:
            failure.partial = made
            raise
        return made

    def call(self, at: int, function: str, target: Expr | None) -> Expr:
        args: list[Expr] = []
        try:
            self.sync(UNARY_START | {")"}, "arguments")
            if self.next.kind in UNARY_START:
                inside = frozenset({",", ")"})
                args.append(self.expr_in(inside))
                while self.accept(","):
                    args.append(self.expr_in(inside))
            self.expect(")")
        except RecognitionError as failure:
            failure.partial = self.made(at, function, target, args)
            raise
        return self.made(at, function, target, args)

    def made(self, at: int, function: str, target: Expr | None, args: list[Expr]) -> Expr:
        try:
            expanded = expand(at, function, target, args)
        except MacroError as wrong:
            return self.error(wrong.at, str(wrong))
        return expanded or Call(at, function, target, args)

    # ------------------------------------------------------------------ what an expression is made of

    def primary(self) -> Expr:
        waiting = len(self.recovery_stack)
        # What has been begun is there, even if it cannot be read to its end.
        begun: Expr = Literal(UNPARSED, None)
        try:
            self.sync(MEMBER_START, "primary")
            match self.next.kind:
                case "IDENTIFIER" | ".":
                    return self.named()
                case "(":
                    self.take()
                    begun = self.expr_in(frozenset({")"}))
                    self.expect(")")
                    return begun
                case "[":
                    begun = ListExpr(self.next.offset, [])
                    return self.listed()
                case "{":
                    begun = MapExpr(self.take().offset, [])
                    return MapExpr(begun.offset, self.entries())
            if self.next.kind not in MEMBER_START:
                self.no_viable_alternative(self.position, "primary")
            return self.literal()
        except RecognitionError as failure:
            self.recover(failure, waiting)
            return failure.partial or begun

    def named(self) -> Expr:
        if self.next.kind == "." and self.next_kind != "IDENTIFIER":
            self.no_viable_alternative(self.position + 1, "primary")
        dot = self.accept(".")
        start = self.next
        if self._opens_message():
            return self.message("." if dot else "")
        token = self.take()
        name = f".{token.text}" if dot else token.text
        if token.text in _RESERVED:
            self.error((dot or start).offset, f"reserved identifier: {token.text}")
        if opened := self.accept("("):
            return self.call(opened.offset, name, None)
        return Ident(token.offset, name)

    def _opens_message(self) -> bool:
        at = self.position
        while self.tokens[at].kind == "IDENTIFIER" and self.tokens[at + 1].kind == ".":
            at += 2
        return self.tokens[at].kind == "IDENTIFIER" and self.tokens[at + 1].kind == "{"

    def message(self, prefix: str) -> Expr:
        waiting, names = len(self.recovery_stack), [self.take().text]
        while self.accept("."):
            names.append(self.take().text)
        message = StructExpr(self.take().offset, prefix + ".".join(names), [])
        try:
            message.fields = self.fields()
        except RecognitionError as failure:
            self.recover(failure, waiting)
        return message

    def closed(self, kind: str) -> None:
        """The end of a list or a map, with or without a comma before it."""
        self.sync(frozenset({kind, ","}), f", {kind}")
        self.accept(",")
        self.expect(kind)

    def fields(self) -> list[tuple[int, str, Expr, bool]]:
        self.sync(FIELD_NAMES | {"}", ",", "?"}, "fields")
        found: list[tuple[int, str, Expr, bool]] = []
        waiting, ends = len(self.recovery_stack), frozenset({",", "}"})
        try:
            more = self.next.kind in FIELD_NAMES or self.next.kind == "?"
            while more:
                optional = self.accept("?") is not None
                _, name = self.field_name(ends | {":"})
                colon = self.expect(":")
                found.append((colon.offset, name, self.expr_in(ends), optional))
                more = self.next.kind == "," and (self.next_kind in FIELD_NAMES or self.next_kind == "?")
                if more:
                    self.take()
        except RecognitionError as failure:
            self.recovery_stack.append(ends)
            self.recover(failure, waiting + 1)
            self.recovery_stack.pop()
        self.closed("}")
        return found

    def listed(self) -> Expr:
        opened = self.take()
        self.sync(ELEMENT_START | {"]", ","}, "list")
        items: list[Expr] = []
        optional: set[int] = set()
        more = self.next.kind in ELEMENT_START
        while more:
            if self.accept("?"):
                optional.add(len(items))
            items.append(self.expr_in(frozenset({",", "]"})))
            more = self.next.kind == "," and self.next_kind in ELEMENT_START
            if more:
                self.take()
        self.closed("]")
        return ListExpr(opened.offset, items, frozenset(optional))

    def entries(self) -> list[MapEntry]:
        self.sync(ELEMENT_START | {"}", ","}, "map")
        found: list[MapEntry] = []
        waiting, ends = len(self.recovery_stack), frozenset({",", "}"})
        try:
            more = self.next.kind in ELEMENT_START
            while more:
                optional = self.accept("?") is not None
                key = self.expr_in(frozenset({":"}), ends | {":"})
                colon = self.expect(":")
                found.append(MapEntry(colon.offset, key, self.expr_in(ends), optional))
                more = self.next.kind == "," and self.next_kind in ELEMENT_START
                if more:
                    self.take()
        except RecognitionError as failure:
            self.recovery_stack.append(ends)
            self.recover(failure, waiting + 1)
            self.recovery_stack.pop()
        self.closed("}")
        return found

    def literal(self) -> Expr:
        at, waiting = self.next.offset, len(self.recovery_stack)
        try:
            if self.next.kind == "-" and self.next_kind not in NUMBERS:
                self.no_viable_alternative(self.position + 1, "literal")
        except RecognitionError as failure:
            self.recover(failure, waiting)
            return Literal(UNPARSED, None)
        negative = self.accept("-") is not None
        token = self.take()
        try:
            match token.kind:
                case "NUM_INT":
                    return Literal(at, literals.int_value(token.text, negative))
                case "NUM_UINT":
                    return Literal(at, UInt(literals.uint_value(token.text)))
                case "NUM_FLOAT":
                    return Literal(at, literals.double_value(token.text, negative))
                case "STRING":
                    return Literal(at, literals.string_value(token.text))
                case "BYTES":
                    return Literal(at, literals.bytes_value(token.text))
                case "true" | "false":
                    return Literal(at, token.kind == "true")
                case _:
                    return Literal(at, None)
        except literals.LiteralError as wrong:
            return self.error(at, str(wrong))
