"""Parser: builds the AST of an expression and expands its macros."""

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

_MAX_CODE_POINTS = 100_000
_MAX_RECURSION_DEPTH = 250
_RESERVED_WORDS = "as break const continue else for function if import let loop package namespace return var void while"
_RESERVED = frozenset(_RESERVED_WORDS.split())
_RELATIONS = {op: f"_{op}_" for op in ("<", "<=", ">=", ">", "==", "!=")} | {"in": "@in"}
_PRECEDENCE = {"||": 1, "&&": 2} | dict.fromkeys(_RELATIONS, 3) | {"+": 4, "-": 4, "*": 5, "/": 5, "%": 5}
_AFTER_CONDITION = OPERATORS | {"?"}
_AFTER_THEN_BRANCH = OPERATORS | {":"}
_FUNCTIONS = _RELATIONS | {op: f"_{op}_" for op in ("||", "&&", *"+-*/%")}


def parse(source: Source) -> Expr | None:
    """Return the AST with macros expanded. Return None if the source has errors."""
    if len(source.text) > _MAX_CODE_POINTS:
        size = len(source.text)
        source.report(-1, f"expression code point size exceeds limit: size: {size}, limit {_MAX_CODE_POINTS}")
        return None
    try:
        expr = _Parser(source).start()
    except ParsingAbortedError:
        return None
    except RecursionError:
        source.report(-1, f"expression recursion limit exceeded: {_MAX_RECURSION_DEPTH}")
        return None
    return None if source.errors else expr


class _Parser(TokenStream):
    """A recursive-descent parser. Like ANTLR's parser, each grammar rule recovers from syntax errors inside it."""

    def error(self, offset: int, message: str) -> Expr:
        self.source.report(offset, message)
        return Literal(offset, None)

    # ------------------------------------------------------------------ expressions

    def start(self) -> Expr:
        expr = self.expr()
        try:
            self.expect("<EOF>")
        except RecognitionError as error:
            self.recover(error, 0)
        return expr

    def expr(self) -> Expr:
        self.depth += 1
        if self.depth > _MAX_RECURSION_DEPTH:
            self.source.report(-1, f"expression recursion limit exceeded: {_MAX_RECURSION_DEPTH}")
            raise ParsingAbortedError
        depth = len(self.recovery_stack)
        self.recovery_stack.append(_AFTER_CONDITION)
        expr = self.binary(1)
        self.recovery_stack.pop()
        if question_mark := self.accept("?"):
            expr = Call(question_mark.offset, "_?_:_", None, [expr])
            try:
                self.recovery_stack.append(_AFTER_THEN_BRANCH)
                self.follow_stack.append(frozenset({":"}))
                expr.args.append(self.binary(1))
                self.follow_stack.pop()
                self.recovery_stack.pop()
                self.expect(":")
                expr.args.append(self.expr())
            except RecognitionError as error:
                self.recover(error, depth)
        self.depth -= 1
        return expr

    def expr_in(self, enclosing: frozenset[str], recovery_set: frozenset[str] | None = None) -> Expr:
        """Parse an expression in brackets. `enclosing` are the tokens that may follow the expression.

        `recovery_set` defaults to `enclosing`.
        """
        self.follow_stack.append(enclosing | {"?"})
        self.recovery_stack.append(recovery_set or enclosing)
        expr = self.expr()
        self.recovery_stack.pop()
        self.follow_stack.pop()
        return expr

    def binary(self, min_precedence: int) -> Expr:
        """Parse binary operators of at least the given precedence.

        A chain of && or || becomes one call with all its terms. The call has the offset of the middle operator,
        because cel-go builds a balanced tree from the chain.
        """
        left = self.unary()
        joined: Call | None = None
        operator_offsets: list[int] = []
        chain = 0
        while (precedence := _PRECEDENCE.get(self.next.kind, 0)) >= min_precedence:
            op = self.take()
            function = _FUNCTIONS[op.kind]
            right = self.binary(precedence + 1)
            if joined is not None and joined is left and joined.function == function:
                joined.args.append(right)
                operator_offsets.append(op.offset)
                joined.offset = operator_offsets[len(operator_offsets) // 2]
                continue
            left = Call(op.offset, function, None, [left, right])
            if precedence <= 2:
                joined, operator_offsets = left, [op.offset]
            chain += 1
            if chain + self.depth > _MAX_RECURSION_DEPTH:
                self.source.report(-1, "max recursion depth exceeded")
                raise ParsingAbortedError
        return left

    def unary(self) -> Expr:
        depth = len(self.recovery_stack)
        try:
            self.sync(UNARY_START, "unary")
            first = self.next
            if first.kind not in ("!", "-") or (first.kind == "-" and self.kind_after_next in NUMBERS):
                if first.kind not in UNARY_START:
                    self.no_viable_alternative(self.position, "unary")
                return self.member()
            negated = self.negations(first.kind)
            operand = self.member()
            return Call(first.offset, f"{first.kind}_", None, [operand]) if negated else operand
        except RecognitionError as error:
            self.recover(error, depth)
            return Literal(UNPARSED, None)

    def negations(self, kind: str) -> bool:
        """Parse a sequence of the same unary operator. Return True if the number of operators is odd."""
        count = 0
        while self.next.kind == kind:
            if kind == "-" and self.kind_after_next not in MEMBER_START:
                self.no_viable_alternative(self.position + 1, f"sign {min(count, 1)}")
            self.take()
            count += 1
            self.sync_loop(UNARY_START if kind == "!" else MEMBER_START)
        return count % 2 == 1

    def member(self) -> Expr:
        depth = len(self.recovery_stack)
        self.recovery_stack.append(SELECTORS)
        expr = self.primary()
        self.recovery_stack.pop()
        chain = 0
        while self.next.kind in SELECTORS:
            try:
                expr = self.selection(expr) if self.next.kind == "." else self.index(expr)
            except RecognitionError as error:
                self.recover(error, depth)
                return error.partial or expr
            chain += 1
            if chain + self.depth > _MAX_RECURSION_DEPTH:
                self.source.report(-1, "max recursion depth exceeded")
                raise ParsingAbortedError
        return expr

    def selection(self, operand: Expr) -> Expr:
        if self.kind_after_next not in FIELD_NAMES and self.kind_after_next != "?":
            self.no_viable_alternative(self.position + 1, "selector")
        dot = self.take()
        if self.accept("?"):
            offset, name = self.field_name(SELECTORS)
            return Call(dot.offset, "_?._", None, [operand, Literal(offset, name)])
        if self.next.kind == "IDENTIFIER" and self.kind_after_next == "(":
            name = self.take().text
            opened = self.take()
            return self.call(opened.offset, name, operand)
        return Select(dot.offset, operand, self.field_name(SELECTORS)[1])

    def field_name(self, recovery_set: frozenset[str]) -> tuple[int, str]:
        """Return a field name and its offset. Report an error if the name is an escaped identifier."""
        offset, depth = self.next.offset, len(self.recovery_stack)
        self.recovery_stack.append(recovery_set)
        try:
            self.sync(FIELD_NAMES, "field name")
            offset = self.next.offset
            if self.next.kind not in FIELD_NAMES:
                self.no_viable_alternative(self.position, "field name")
            name = self.take()
            if name.kind == "ESC_IDENTIFIER":
                self.error(name.offset, "unsupported syntax: '`'")
            return offset, name.text
        except RecognitionError as error:
            self.recover(error, len(self.recovery_stack))
            self.error(offset, "unsupported ident kind")
            return offset, ""
        finally:
            del self.recovery_stack[depth:]

    def index(self, operand: Expr) -> Expr:
        call = Call(self.take().offset, "_[_]", None, [operand])
        try:
            self.sync(ELEMENT_START, "index")
            if self.accept("?"):
                call.function = "_[?_]"
            call.args.append(self.expr_in(frozenset({"]"})))
            self.expect("]")
        except RecognitionError as error:
            error.partial = call
            raise
        return call

    def call(self, offset: int, function: str, target: Expr | None) -> Expr:
        args: list[Expr] = []
        try:
            self.sync(UNARY_START | {")"}, "arguments")
            if self.next.kind in UNARY_START:
                inside = frozenset({",", ")"})
                args.append(self.expr_in(inside))
                while self.accept(","):
                    args.append(self.expr_in(inside))
            self.expect(")")
        except RecognitionError as error:
            error.partial = self.call_or_macro(offset, function, target, args)
            raise
        return self.call_or_macro(offset, function, target, args)

    def call_or_macro(self, offset: int, function: str, target: Expr | None, args: list[Expr]) -> Expr:
        try:
            expanded = expand(offset, function, target, args)
        except MacroError as error:
            return self.error(error.offset, str(error))
        return expanded or Call(offset, function, target, args)

    # ------------------------------------------------------------------ primary expressions

    def primary(self) -> Expr:
        depth = len(self.recovery_stack)
        # Like cel-go, keep the part of the AST that was parsed before a syntax error.
        partial: Expr = Literal(UNPARSED, None)
        try:
            self.sync(MEMBER_START, "primary")
            match self.next.kind:
                case "IDENTIFIER" | ".":
                    return self.ident_or_struct()
                case "(":
                    self.take()
                    partial = self.expr_in(frozenset({")"}))
                    self.expect(")")
                    return partial
                case "[":
                    partial = ListExpr(self.next.offset, [])
                    return self.list_literal()
                case "{":
                    partial = MapExpr(self.take().offset, [])
                    return MapExpr(partial.offset, self.map_entries())
            if self.next.kind not in MEMBER_START:
                self.no_viable_alternative(self.position, "primary")
            return self.literal()
        except RecognitionError as error:
            self.recover(error, depth)
            return error.partial or partial

    def ident_or_struct(self) -> Expr:
        if self.next.kind == "." and self.kind_after_next != "IDENTIFIER":
            self.no_viable_alternative(self.position + 1, "primary")
        dot = self.accept(".")
        start = self.next
        if self._is_struct_literal():
            return self.struct_literal("." if dot else "")
        token = self.take()
        name = f".{token.text}" if dot else token.text
        if token.text in _RESERVED:
            self.error((dot or start).offset, f"reserved identifier: {token.text}")
        if opened := self.accept("("):
            return self.call(opened.offset, name, None)
        return Ident(token.offset, name)

    def _is_struct_literal(self) -> bool:
        offset = self.position
        while self.tokens[offset].kind == "IDENTIFIER" and self.tokens[offset + 1].kind == ".":
            offset += 2
        return self.tokens[offset].kind == "IDENTIFIER" and self.tokens[offset + 1].kind == "{"

    def struct_literal(self, prefix: str) -> Expr:
        depth, names = len(self.recovery_stack), [self.take().text]
        while self.accept("."):
            names.append(self.take().text)
        struct = StructExpr(self.take().offset, prefix + ".".join(names), [])
        try:
            struct.fields = self.struct_fields()
        except RecognitionError as error:
            self.recover(error, depth)
        return struct

    def closing_bracket(self, kind: str) -> None:
        """Parse an optional trailing comma and the closing bracket of a list, map or struct."""
        self.sync(frozenset({kind, ","}), f", {kind}")
        self.accept(",")
        self.expect(kind)

    def struct_fields(self) -> list[tuple[int, str, Expr, bool]]:
        self.sync(FIELD_NAMES | {"}", ",", "?"}, "fields")
        fields: list[tuple[int, str, Expr, bool]] = []
        depth, ends = len(self.recovery_stack), frozenset({",", "}"})
        try:
            more = self.next.kind in FIELD_NAMES or self.next.kind == "?"
            while more:
                optional = self.accept("?") is not None
                _, name = self.field_name(ends | {":"})
                colon = self.expect(":")
                fields.append((colon.offset, name, self.expr_in(ends), optional))
                more = self.next.kind == "," and (self.kind_after_next in FIELD_NAMES or self.kind_after_next == "?")
                if more:
                    self.take()
        except RecognitionError as error:
            self.recovery_stack.append(ends)
            self.recover(error, depth + 1)
            self.recovery_stack.pop()
        self.closing_bracket("}")
        return fields

    def list_literal(self) -> Expr:
        opened = self.take()
        self.sync(ELEMENT_START | {"]", ","}, "list")
        items: list[Expr] = []
        optional: set[int] = set()
        more = self.next.kind in ELEMENT_START
        while more:
            if self.accept("?"):
                optional.add(len(items))
            items.append(self.expr_in(frozenset({",", "]"})))
            more = self.next.kind == "," and self.kind_after_next in ELEMENT_START
            if more:
                self.take()
        self.closing_bracket("]")
        return ListExpr(opened.offset, items, frozenset(optional))

    def map_entries(self) -> list[MapEntry]:
        self.sync(ELEMENT_START | {"}", ","}, "map")
        entries: list[MapEntry] = []
        depth, ends = len(self.recovery_stack), frozenset({",", "}"})
        try:
            more = self.next.kind in ELEMENT_START
            while more:
                optional = self.accept("?") is not None
                key = self.expr_in(frozenset({":"}), ends | {":"})
                colon = self.expect(":")
                entries.append(MapEntry(colon.offset, key, self.expr_in(ends), optional))
                more = self.next.kind == "," and self.kind_after_next in ELEMENT_START
                if more:
                    self.take()
        except RecognitionError as error:
            self.recovery_stack.append(ends)
            self.recover(error, depth + 1)
            self.recovery_stack.pop()
        self.closing_bracket("}")
        return entries

    def literal(self) -> Expr:
        offset, depth = self.next.offset, len(self.recovery_stack)
        try:
            if self.next.kind == "-" and self.kind_after_next not in NUMBERS:
                self.no_viable_alternative(self.position + 1, "literal")
        except RecognitionError as error:
            self.recover(error, depth)
            return Literal(UNPARSED, None)
        negative = self.accept("-") is not None
        token = self.take()
        try:
            match token.kind:
                case "NUM_INT":
                    return Literal(offset, literals.int_value(token.text, negative))
                case "NUM_UINT":
                    return Literal(offset, UInt(literals.uint_value(token.text)))
                case "NUM_FLOAT":
                    return Literal(offset, literals.double_value(token.text, negative))
                case "STRING":
                    return Literal(offset, literals.string_value(token.text))
                case "BYTES":
                    return Literal(offset, literals.bytes_value(token.text))
                case "true" | "false":
                    return Literal(offset, token.kind == "true")
                case _:
                    return Literal(offset, None)
        except literals.LiteralError as error:
            return self.error(offset, str(error))
