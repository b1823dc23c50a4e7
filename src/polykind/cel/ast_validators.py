"""AST validators: checks that run after type checking and report invalid literals and mixed-type lists and maps.

These are cel-go's validators of duration, timestamp, regex, format and homogeneous aggregate literals.
"""

from __future__ import annotations

from polykind.cel import cel_types
from polykind.cel.ast import Call, Expr, ListExpr, Literal, MapExpr, children
from polykind.cel.cel_types import Type, unwrap_optional
from polykind.cel.constant_folding import constant_value
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.library.string_format import CLAUSE_ERRORS, Clause, FormatError, parse_format
from polykind.cel.source import Source
from polykind.golang.regexp import PatternError, compile_pattern

_STRING_CLAUSE_KINDS = "list map int uint double bool string timestamp bytes duration type null"
_CLAUSE_KINDS = {
    "s": frozenset(_STRING_CLAUSE_KINDS.split()),
    "d": frozenset({"int", "uint"}),
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "b": frozenset({"int", "uint", "bool"}),
    "x": frozenset({"int", "uint", "string", "bytes"}),
    "o": frozenset({"int", "uint"}),
}
"""Kinds of arguments that each clause of a format string, such as %d, accepts."""
_RUNTIME_NAMES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration", "null": "null_type"}


def validate_ast(ast: Expr, source: Source) -> None:
    """Report invalid literals and mixed-type lists and maps. The arguments of format() may have mixed types."""
    pending = [(ast, False)]
    while pending:
        node, in_format = pending.pop()
        in_format_args = in_format or (isinstance(node, Call) and node.function == "format")
        pending.extend((child, in_format_args) for child in children(node))
        if isinstance(node, ListExpr) and not in_format:
            _validate_list(node, source)
        elif isinstance(node, MapExpr) and not in_format:
            _validate_map(node, source)
        elif isinstance(node, Call):
            _validate_call(node, source)


def _report_mismatch(source: Source, node: Expr, expected: Type, actual: Type) -> None:
    source.report(node.offset, f"expected type '{expected}' but found '{actual}'")


def _validate_list(node: ListExpr, source: Source) -> None:
    first: Type | None = None
    for index, item in enumerate(node.items):
        actual = unwrap_optional(item.type)[0] if index in node.optional else item.type
        if first is None:
            first = actual
        elif not _is_equivalent(first, actual):
            _report_mismatch(source, item, first, actual)
            break


def _validate_map(node: MapExpr, source: Source) -> None:
    key_type: Type | None = None
    value_type: Type | None = None
    for entry in node.entries:
        actual = unwrap_optional(entry.value.type)[0] if entry.optional else entry.value.type
        if key_type is None or value_type is None:
            key_type, value_type = entry.key.type, actual
            continue
        if not _is_equivalent(key_type, entry.key.type):
            _report_mismatch(source, entry.key, key_type, entry.key.type)
        if not _is_equivalent(value_type, actual):
            _report_mismatch(source, entry.value, value_type, actual)


def _is_equivalent(first: Type, second: Type) -> bool:
    """True if the types are equal. A type parameter is equal to every type."""
    if first.kind == "param" or second.kind == "param":
        return True
    if first.kind != second.kind or first.name != second.name or len(first.params) != len(second.params):
        return False
    return all(_is_equivalent(a, b) for a, b in zip(first.params, second.params, strict=True))


def _validate_call(node: Call, source: Source) -> None:
    if node.function == "format" and node.target is not None:
        _validate_format(node, source)
        return
    if node.function not in ("duration", "timestamp", "matches") or not node.args:
        return
    arg = node.args[0]
    if not isinstance(arg, Literal):
        return
    try:
        if node.function == "matches":
            compile_pattern(str(arg.value))
        else:
            constant_value(node)
    except (EvalError, PatternError):
        source.report(arg.offset, f"invalid {node.function} argument")


def _validate_format(node: Call, source: Source) -> None:
    text, args = node.target, node.args
    if not isinstance(text, Literal) or not isinstance(text.value, str) or len(args) != 1:
        return
    items = args[0]
    if not isinstance(items, ListExpr):
        return
    remaining = iter(items.items)
    try:
        for part in parse_format(text.value, len(items.items), literal=True):
            invalid = _invalid_argument(part.kind, next(remaining)) if isinstance(part, Clause) else None
            if invalid is not None and isinstance(part, Clause):
                name = _RUNTIME_NAMES.get(invalid.type.kind, invalid.type.name)
                source.report(invalid.offset, f"error during formatting: {CLAUSE_ERRORS[part.kind].format(name)}")
                return
    except FormatError as error:
        source.report(node.offset, str(error))
        return
    if unused := len(list(remaining)):
        count = len(items.items)
        message = f"too many arguments supplied to string.format (expected {count - unused}, got {count})"
        source.report(node.offset, message)


def _invalid_argument(kind: str, item: Expr) -> Expr | None:
    """Return the argument, or the item in the argument, that a clause cannot format. Return None if all are valid."""
    if item.type is not cel_types.DYN and item.type.kind not in _CLAUSE_KINDS[kind]:
        return item
    if kind == "s" and isinstance(item, ListExpr | MapExpr):
        for child in children(item):
            invalid = _invalid_argument(kind, child)
            if invalid is not None:
                return invalid
    return None
