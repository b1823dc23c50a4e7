"""Types for every node of a tree, and the overloads that each call may mean."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping

from polykind.cel import cel_types
from polykind.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
    UInt,
    children,
    qualified_name,
)
from polykind.cel.cel_types import (
    BOOL,
    DYN,
    ERROR,
    Type,
    list_of,
    map_of,
    optional_of,
    type_of,
    type_param,
    unwrap_optional,
)
from polykind.cel.function_declarations import FUNCTION_OVERLOADS, MUTATION_FUNCTION_OVERLOADS, Overload
from polykind.cel.mutation_types import constructible_field, constructible_type
from polykind.cel.source import Source
from polykind.cel.unification import Bindings, assign, assign_all, most_general, substitute
from polykind.cel.well_known_types import ENUM_CONSTANTS, WELL_KNOWN_TYPES

Fields = Callable[[str, str], Type | None]
"""The type of a field of a named type, None if it has no such field."""

_TYPE_NAMES = {
    **{name: type_of(t) for name, t in cel_types.PRIMITIVES.items() if name not in ("dyn", "timestamp", "duration")},
    "null_type": type_of(cel_types.NULL),
    "list": type_of(list_of(DYN)),
    "map": type_of(map_of(DYN, DYN)),
    "type": type_of(cel_types.TYPE),
    "optional_type": type_of(Type("opaque", "optional_type")),
    "google.protobuf.Timestamp": type_of(cel_types.TIMESTAMP),
    "google.protobuf.Duration": type_of(cel_types.DURATION),
    "net.IP": type_of(cel_types.IP),
    "net.CIDR": type_of(cel_types.CIDR),
}
_SCALARS = frozenset(["bool", "bytes", "double", "int", "list", "string", "uint"])
"""Types that the reference can look for fields in, though they have none."""


class Checker:
    """One check of one tree; `used` are the variables it names.

    With `patches`, it may make objects and patches; `structs` are names of types that have `fields`.
    """

    def __init__(
        self,
        source: Source,
        variables: Mapping[str, Type],
        fields: Fields,
        *,
        structs: Container[str] = (),
        patches: bool = False,
    ) -> None:
        self.source = source
        self.structs = structs
        self.scopes: list[dict[str, Type]] = [dict(variables)]
        self.patches = patches
        self.functions = MUTATION_FUNCTION_OVERLOADS if patches else FUNCTION_OVERLOADS
        self.fields = fields
        self.bindings: Bindings = {}
        self.used: set[str] = set()
        self._fresh = 0

    def check(self, tree: Expr) -> None:
        """Gives every node its type; what is wrong is reported to the source."""
        self._check(tree)
        pending = [tree]
        while pending:
            node = pending.pop()
            node.type = substitute(self.bindings, node.type, free_to_dyn=True)
            pending.extend(children(node))

    def _check(self, node: Expr) -> None:
        if isinstance(node, Literal):
            node.type = literal_type(node)
        elif isinstance(node, Ident):
            node.type = self._ident(node, node.name)
        elif isinstance(node, Select):
            self._select(node)
        elif isinstance(node, Call):
            self._call(node)
        elif isinstance(node, ListExpr):
            self._list(node)
        elif isinstance(node, MapExpr):
            self._map(node)
        elif isinstance(node, StructExpr):
            self._struct(node)
        else:
            self._comprehension(node)

    # ------------------------------------------------------------------ names

    def _lookup(self, name: str) -> Type | None:
        plain = name.removeprefix(".")
        for scope in reversed(self.scopes):
            if plain in scope:
                self.used.add(plain)
                return scope[plain]
        return self._type_name(plain)

    def _type_name(self, name: str) -> Type | None:
        made = constructible_type(name) if self.patches else None
        if made is None and name in WELL_KNOWN_TYPES:
            made = WELL_KNOWN_TYPES[name].type
        if made is None and name in self.structs:
            made = cel_types.struct_type(name)
        return type_of(made) if made is not None else _TYPE_NAMES.get(name)

    def _ident(self, node: Expr, name: str) -> Type:
        found = self._lookup(name)
        if found is None:
            self.source.report(node.offset, f"undeclared reference to '{name}' (in container '')")
            return ERROR
        return found

    def _select(self, node: Select) -> None:
        name = qualified_name(node)
        named = self._type_name(name.removeprefix(".")) if name is not None else None
        if named is not None:
            node.type = named
            return
        if name is not None and name.removeprefix(".") in ENUM_CONSTANTS:
            node.type = cel_types.INT
            return
        if name is not None and name.removeprefix(".") in self.scopes[0]:
            # A variable whose name has a dot in it.
            node.type = self.scopes[0][name.removeprefix(".")]
            return
        found = self._field(node, node.operand, node.name)
        node.type = BOOL if node.test_only else substitute(self.bindings, found, free_to_dyn=False)

    def _field(self, node: Expr, operand: Expr, name: str, *, optional: bool = False) -> Type:
        self._check(operand)
        target, was_optional = unwrap_optional(substitute(self.bindings, operand.type, free_to_dyn=False))
        result = ERROR
        if target.kind == "map":
            result = target.params[1]
        elif target.kind == "struct":
            found = None if target in cel_types.LIBRARY_STRUCTS else self._field_type(target.name, name)
            if found is None:
                if target in cel_types.LIBRARY_STRUCTS:
                    self.source.report(node.offset, f"unexpected failed resolution of '{target.name}'")
                else:
                    self.source.report(node.offset, f"undefined field '{name}'")
            else:
                result = found
        elif target.kind == "param":
            self._assign(DYN, target)
            result = DYN
        else:
            if target.kind not in ("dyn", "error"):
                self.source.report(node.offset, f"type '{target}' does not support field selection")
            result = DYN
        return optional_of(result) if was_optional or optional else result

    def _field_type(self, type_: str, name: str) -> Type | None:
        made = constructible_field(type_, name) if self.patches else None
        return made if made is not None else self.fields(type_, name)

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call) -> None:
        if node.function == "_?._":
            field = node.args[1]
            name = field.value if isinstance(field, Literal) else ""
            found = self._field(node, node.args[0], str(name), optional=True)
            field.type = cel_types.STRING
            node.type = substitute(self.bindings, found, free_to_dyn=False)
            node.overloads = ("select_optional_field",)
            return
        for arg in node.args:
            self._check(arg)
        if node.target is None:
            name = node.function.removeprefix(".")
            functions = self.functions.get(name)
            if functions is None:
                self._undeclared(node, node.function)
                return
            node.function = name
            self._resolve(node, functions)
            return
        prefix = qualified_name(node.target)
        if prefix is not None and f"{prefix.removeprefix('.')}.{node.function}" in self.functions:
            node.function = f"{prefix.removeprefix('.')}.{node.function}"
            node.target = None
            self._resolve(node, self.functions[node.function])
            return
        self._check(node.target)
        functions = self.functions.get(node.function)
        if functions is None:
            self._undeclared(node, node.function)
            return
        self._resolve(node, functions)

    def _undeclared(self, node: Call, name: str) -> None:
        node.type = ERROR
        self.source.report(node.offset, f"undeclared reference to '{name}' (in container '')")

    def _resolve(self, node: Call, functions: tuple[Overload, ...]) -> None:
        if node.function in ("_&&_", "_||_"):
            self._logical(node, functions[0].id)
            return
        given = [*([node.target.type] if node.target is not None else []), *(arg.type for arg in node.args)]
        result: Type | None = None
        chosen: list[str] = []
        for overload in functions:
            if overload.member != (node.target is not None):
                continue
            args, gives = overload.args, overload.result
            if overload.params:
                fresh: Bindings = {param: self._new_param() for param in overload.params}
                args = tuple(substitute(fresh, arg, free_to_dyn=False) for arg in args)
                gives = substitute(fresh, gives, free_to_dyn=False)
            grown = assign_all(self.bindings, given, args)
            if grown is None:
                continue
            self.bindings = grown
            chosen.append(overload.id)
            gives = substitute(self.bindings, gives, free_to_dyn=False)
            if result is None:
                result = gives
            elif result.kind != "dyn" and gives != result:
                result = DYN
        if result is None:
            shown = [str(substitute(self.bindings, t, free_to_dyn=True)) for t in given]
            signature = f"({', '.join(shown)})"
            if node.target is not None:
                signature = f"{shown[0]}.({', '.join(shown[1:])})"
            self.source.report(
                node.offset, f"found no matching overload for '{node.function}' applied to '{signature}'"
            )
            node.type = ERROR
            return
        node.type = result
        node.overloads = tuple(chosen)

    def _logical(self, node: Call, overload: str) -> None:
        fits = True
        for arg in node.args:
            if not self._assign(arg.type, BOOL):
                self._mismatch(arg, BOOL, arg.type)
                fits = False
        node.type = BOOL if fits else ERROR
        node.overloads = (overload,) if fits else ()

    # ------------------------------------------------------------------ aggregates

    def _list(self, node: ListExpr) -> None:
        items: Type | None = None
        for index, item in enumerate(node.items):
            self._check(item)
            items = self._joined(items, self._item_type(item, index in node.optional))
        node.type = list_of(items if items is not None else self._new_param())

    def _map(self, node: MapExpr) -> None:
        keys: Type | None = None
        values: Type | None = None
        for entry in node.entries:
            self._check(entry.key)
            keys = self._joined(keys, entry.key.type)
            self._check(entry.value)
            values = self._joined(values, self._item_type(entry.value, entry.optional))
        if keys is None or values is None:
            keys, values = self._new_param(), self._new_param()
        node.type = map_of(keys, values)

    def _item_type(self, item: Expr, optional: bool) -> Type:
        if not optional:
            return item.type
        held, was_optional = unwrap_optional(item.type)
        if not was_optional and held.kind != "dyn":
            self._mismatch(item, optional_of(held), held)
        return held

    def _joined(self, before: Type | None, now: Type) -> Type:
        if before is None:
            return now
        if self._assign(before, now):
            return most_general(before, now)
        return DYN

    def _struct(self, node: StructExpr) -> None:
        found = self._lookup(node.name)
        node.type = ERROR
        if found is None:
            self.source.report(node.offset, f"undeclared reference to '{node.name}' (in container '')")
            return
        type_ = node.name.removeprefix(".")
        if found.kind != "type":
            self.source.report(node.offset, f"'{found.name}' is not a type")
        elif found.params[0].kind in ("struct", "null") or type_ in WELL_KNOWN_TYPES:
            node.type = found.params[0]
        else:
            self.source.report(node.offset, f"'{node.name}' is not a message type")
        for at, name, value, optional in node.fields:
            self._check(value)
            given = self._item_type(value, optional)
            wanted = self._set_type(at, type_, name)
            if not self._assign(wanted, given):
                self.source.report(at, f"expected type of field '{name}' is '{wanted}' but provided type is '{given}'")

    def _set_type(self, at: int, type_: str, name: str) -> Type:
        """The type of a field that is to be set."""
        message = WELL_KNOWN_TYPES.get(type_)
        found = message.field(name) if message is not None else self._field_type(type_, name)
        if found is not None:
            return found
        if message is not None or type_ in self.structs or type_ in _SCALARS:
            self.source.report(at, f"undefined field '{name}'")
        elif type_ != "map":
            resolved = "google.protobuf.NullValue" if type_ == "null_type" else type_
            self.source.report(at, f"unexpected failed resolution of '{resolved}'")
        return ERROR

    # ------------------------------------------------------------------ folds

    def _comprehension(self, node: Comprehension) -> None:
        self._check(node.iter_range)
        self._check(node.accu_init)
        ranged = substitute(self.bindings, node.iter_range.type, free_to_dyn=False)
        accumulated = node.accu_init.type
        first = second = DYN
        if ranged.kind == "list":
            first = second = ranged.params[0]
            if len(node.iter_vars) == 2:
                first = cel_types.INT
        elif ranged.kind == "map":
            first, second = ranged.params
        elif ranged.kind in ("dyn", "error", "param"):
            self._assign(DYN, ranged)
        else:
            self.source.report(
                node.iter_range.offset,
                f"expression of type '{ranged}' cannot be range of a comprehension (must be list, map, or dynamic)",
            )
            first = second = ERROR
        self.scopes.append({node.accu_var: accumulated})
        self.scopes.append(dict(zip(node.iter_vars, (first, second), strict=False)))
        self._check(node.loop_condition)
        self._assert(node.loop_condition, BOOL)
        self._check(node.loop_step)
        self._assert(node.loop_step, accumulated)
        self.scopes.pop()
        self._check(node.result)
        self.scopes.pop()
        node.type = substitute(self.bindings, node.result.type, free_to_dyn=False)

    def _assert(self, node: Expr, wanted: Type) -> None:
        if not self._assign(wanted, node.type):
            self._mismatch(node, wanted, node.type)

    # ------------------------------------------------------------------ small things

    def _mismatch(self, node: Expr, wanted: Type, found: Type) -> None:
        self.source.report(node.offset, f"expected type '{wanted}' but found '{found}'")

    def _assign(self, given: Type, wanted: Type) -> bool:
        grown = assign(self.bindings, given, wanted)
        if grown is None:
            return False
        self.bindings = grown
        return True

    def _new_param(self) -> Type:
        self._fresh += 1
        return type_param(f"_var{self._fresh - 1}")


def literal_type(node: Literal) -> Type:
    value = node.value
    if value is None:
        return cel_types.NULL
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, UInt):
        return cel_types.UINT
    if isinstance(value, int):
        return cel_types.INT
    if isinstance(value, float):
        return cel_types.DOUBLE
    return cel_types.STRING if isinstance(value, str) else cel_types.BYTES
