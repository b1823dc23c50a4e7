"""What is looked at in a tree after its types: literals that could never be read, lists and maps of mixed types."""

from __future__ import annotations

from collections.abc import Iterator

from polykind.cel import cel_types
from polykind.cel.ast import Call, Expr, Ident, ListExpr, Literal, MapExpr, Select, children, qualified_name
from polykind.cel.cel_types import Type, unwrap_optional
from polykind.cel.constant_folding import constant_value
from polykind.cel.evaluation_errors import EvalError
from polykind.cel.library.regex import compile_regex
from polykind.cel.library.string_format import CLAUSE_ERRORS, Clause, FormatError, parse_format
from polykind.cel.source import Source
from polykind.cel.well_known_types import REGISTERED_TYPES, WELL_KNOWN_TYPES
from polykind.golang.regexp import PatternError

_SHOWN = "list map int uint double bool string timestamp bytes duration type null"
_FITTING = {
    "s": frozenset(_SHOWN.split()),
    "d": frozenset({"int", "uint"}),
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "b": frozenset({"int", "uint", "bool"}),
    "x": frozenset({"int", "uint", "string", "bytes"}),
    "o": frozenset({"int", "uint"}),
}
REGEX_FUNCTIONS = frozenset({"matches", "find", "findAll"})
"""Functions that are given a pattern."""
_RUNTIME_NAMES = {"timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration", "null": "null_type"}


def validate_ast(tree: Expr, source: Source) -> None:
    """Reports to the source."""
    for node, exempt in _walk(tree):
        if isinstance(node, ListExpr) and not exempt:
            _list(node, source)
        elif isinstance(node, MapExpr) and not exempt:
            _map(node, source)
        elif isinstance(node, Call):
            _call(node, source)


def instantiation_error(tree: Expr) -> str | None:
    """What is wrong with a constant that is computed when the program is made, None if nothing is."""
    found: list[tuple[int, str]] = []
    for node, _ in _walk(tree):
        if isinstance(node, Ident | Select) and node.type.kind == "type":
            name = (qualified_name(node) or "").removeprefix(".")
            if node.type.params and _undefined(name, node.type.params[0]):
                found.append((node.offset, f"reference to undefined type: {name}"))
        if not isinstance(node, Call):
            continue
        try:
            if node.function in REGEX_FUNCTIONS:
                args = [*([node.target] if node.target is not None else []), *node.args]
                given = constant_value(args[1]) if len(args) > 1 else None
                if given is not None and isinstance(given[0], str):
                    compile_regex(given[0])
            else:
                constant_value(node)
        except (EvalError, PatternError) as wrong:
            found.append((node.offset, str(wrong)))
    return min(found)[1] if found else None


def _undefined(name: str, type_: Type) -> bool:
    """Whether a name is of a type that values can be made of, but which is not there when expressions run."""
    if name in REGISTERED_TYPES:
        return False
    return name in WELL_KNOWN_TYPES or (type_.kind == "struct" and type_.name == name)


def _walk(tree: Expr) -> Iterator[tuple[Expr, bool]]:
    """All nodes, and whether each stands in the arguments of format()."""
    pending = [(tree, False)]
    while pending:
        node, exempt = pending.pop()
        yield node, exempt
        inside = exempt or (isinstance(node, Call) and node.function == "format")
        pending.extend((child, inside) for child in children(node))


def _mismatch(source: Source, node: Expr, wanted: Type, found: Type) -> None:
    source.report(node.offset, f"expected type '{wanted}' but found '{found}'")


def _list(node: ListExpr, source: Source) -> None:
    first: Type | None = None
    for index, item in enumerate(node.items):
        found = unwrap_optional(item.type)[0] if index in node.optional else item.type
        if first is None:
            first = found
        elif not _equivalent(first, found):
            _mismatch(source, item, first, found)
            break


def _map(node: MapExpr, source: Source) -> None:
    keys: Type | None = None
    values: Type | None = None
    for entry in node.entries:
        value = unwrap_optional(entry.value.type)[0] if entry.optional else entry.value.type
        if keys is None or values is None:
            keys, values = entry.key.type, value
            continue
        if not _equivalent(keys, entry.key.type):
            _mismatch(source, entry.key, keys, entry.key.type)
        if not _equivalent(values, value):
            _mismatch(source, entry.value, values, value)


def _equivalent(first: Type, second: Type) -> bool:
    """The same but for type parameters."""
    if first.kind == "param" or second.kind == "param":
        return True
    if first.kind != second.kind or first.name != second.name or len(first.params) != len(second.params):
        return False
    return all(_equivalent(a, b) for a, b in zip(first.params, second.params, strict=True))


def _call(node: Call, source: Source) -> None:
    if node.function == "format" and node.target is not None:
        _format(node, source)
        return
    if node.function not in ("duration", "timestamp", "matches") or not node.args:
        return
    arg = node.args[0]
    if not isinstance(arg, Literal):
        return
    try:
        if node.function == "matches":
            compile_regex(str(arg.value))
        else:
            constant_value(node)
    except (EvalError, PatternError):
        source.report(arg.offset, f"invalid {node.function} argument")


def _format(node: Call, source: Source) -> None:
    text, args = node.target, node.args
    if not isinstance(text, Literal) or not isinstance(text.value, str) or len(args) != 1:
        return
    items = args[0]
    if not isinstance(items, ListExpr):
        return
    given = iter(items.items)
    try:
        for part in parse_format(text.value, len(items.items), literal=True):
            bad = _unfit(part.kind, next(given)) if isinstance(part, Clause) else None
            if bad is not None and isinstance(part, Clause):
                name = _RUNTIME_NAMES.get(bad.type.kind, bad.type.name)
                source.report(bad.offset, f"error during formatting: {CLAUSE_ERRORS[part.kind].format(name)}")
                return
    except FormatError as wrong:
        source.report(node.offset, str(wrong))
        return
    if left := len(list(given)):
        count = len(items.items)
        source.report(
            node.offset, f"too many arguments supplied to string.format (expected {count - left}, got {count})"
        )


def _unfit(kind: str, item: Expr) -> Expr | None:
    """The expression that a clause cannot show, None if all is well."""
    if item.type is not cel_types.DYN and item.type.kind not in _FITTING[kind]:
        return item
    if kind != "s":
        return None
    if isinstance(item, ListExpr | MapExpr):
        for inner in children(item):
            found = _unfit(kind, inner)
            if found is not None:
                return found
    return None
