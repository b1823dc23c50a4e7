"""Type checker: assigns a type to every node of an AST and resolves the overloads of every call."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence

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
from polykind.cel.cel_types import BOOL, DYN, ERROR, Type, unwrap_optional
from polykind.cel.library import FUNCTION_OVERLOADS, MUTATION_FUNCTION_OVERLOADS, Overload
from polykind.cel.mutation_types import constructible_field, constructible_type
from polykind.cel.source import Source
from polykind.cel.unification import Bindings, assign, assign_all, most_general, substitute
from polykind.cel.well_known_types import ENUM_CONSTANTS, WELL_KNOWN_TYPES

FieldTypes = Callable[[str, str], Type | None]
"""A function that returns the type of a field by the names of struct and field, or None if the field is unknown."""

_TYPE_NAMES = {
    **{
        name: cel_types.type_of(t)
        for name, t in cel_types.PRIMITIVES.items()
        if name not in ("dyn", "timestamp", "duration")
    },
    "null_type": cel_types.type_of(cel_types.NULL),
    "list": cel_types.type_of(cel_types.list_of(DYN)),
    "map": cel_types.type_of(cel_types.map_of(DYN, DYN)),
    "type": cel_types.type_of(cel_types.TYPE),
    "optional_type": cel_types.type_of(Type("opaque", "optional_type")),
    "google.protobuf.Timestamp": cel_types.type_of(cel_types.TIMESTAMP),
    "google.protobuf.Duration": cel_types.type_of(cel_types.DURATION),
    "net.IP": cel_types.type_of(cel_types.IP),
    "net.CIDR": cel_types.type_of(cel_types.CIDR),
}
_LITERAL_TYPES: dict[type, Type] = {
    type(None): cel_types.NULL,
    bool: BOOL,
    int: cel_types.INT,
    UInt: cel_types.UINT,
    float: cel_types.DOUBLE,
    str: cel_types.STRING,
    bytes: cel_types.BYTES,
}
_SCALARS = frozenset(["bool", "bytes", "double", "int", "list", "string", "uint"])
"""Built-in types. In a struct literal of such a type, as in int{x: 1}, cel-go reports the field and not the type."""


class Checker:
    """Checks one AST and collects in `used` the names of the variables that the expression uses.

    `structs` are the names of declared struct types, and `fields` returns the types of their fields. If `patches` is
    true, the expression may construct Object and JSONPatch values.
    """

    def __init__(
        self,
        source: Source,
        variables: Mapping[str, Type],
        fields: FieldTypes,
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
        self._param_count = 0

    def check(self, ast: Expr) -> None:
        """Assign a type to every node and report errors to the source."""
        self._check(ast)
        pending = [ast]
        while pending:
            node = pending.pop()
            node.type = substitute(self.bindings, node.type, free_to_dyn=True)
            pending.extend(children(node))

    def _check(self, node: Expr) -> None:
        if isinstance(node, Literal):
            node.type = _LITERAL_TYPES[type(node.value)]
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
        name = name.removeprefix(".")
        for scope in reversed(self.scopes):
            if name in scope:
                self.used.add(name)
                return scope[name]
        return self._type_name(name)

    def _type_name(self, name: str) -> Type | None:
        """Return type(T) if `name` is the name of a type T. Return None if no type has this name."""
        type_ = constructible_type(name) if self.patches else None
        if type_ is None and name in WELL_KNOWN_TYPES:
            type_ = WELL_KNOWN_TYPES[name].type
        if type_ is None and name in self.structs:
            type_ = cel_types.struct_type(name)
        return cel_types.type_of(type_) if type_ is not None else _TYPE_NAMES.get(name)

    def _ident(self, node: Expr, name: str) -> Type:
        type_ = self._lookup(name)
        if type_ is None:
            self._report_undeclared(node, name)
            return ERROR
        return type_

    def _select(self, node: Select) -> None:
        name = (qualified_name(node) or "").removeprefix(".")
        type_name = self._type_name(name) if name else None
        if type_name is not None:
            node.type = type_name
            return
        if name in ENUM_CONSTANTS:
            node.type = cel_types.INT
            return
        if name and name in self.scopes[0]:
            # A variable whose name contains a dot, such as authorizer.requestResource.
            node.type = self.scopes[0][name]
            return
        field_type = self._field(node, node.operand, node.name)
        node.type = BOOL if node.test_only else substitute(self.bindings, field_type, free_to_dyn=False)

    def _field(self, node: Expr, operand: Expr, name: str, *, optional: bool = False) -> Type:
        self._check(operand)
        target, was_optional = unwrap_optional(substitute(self.bindings, operand.type, free_to_dyn=False))
        result = ERROR
        if target.kind == "map":
            result = target.params[1]
        elif target.kind == "struct":
            is_opaque = target in cel_types.LIBRARY_STRUCTS
            field_type = None if is_opaque else self._field_type(target.name, name)
            if field_type is not None:
                result = field_type
            elif is_opaque:
                self.source.report(node.offset, f"unexpected failed resolution of '{target.name}'")
            else:
                self.source.report(node.offset, f"undefined field '{name}'")
        elif target.kind == "param":
            self._assign(DYN, target)
            result = DYN
        else:
            if target.kind not in ("dyn", "error"):
                self.source.report(node.offset, f"type '{target}' does not support field selection")
            result = DYN
        return cel_types.optional_of(result) if was_optional or optional else result

    def _field_type(self, type_name: str, field: str) -> Type | None:
        field_type = constructible_field(type_name, field) if self.patches else None
        return field_type if field_type is not None else self.fields(type_name, field)

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call) -> None:
        if node.function == "_?._":
            field = node.args[1]
            name = field.value if isinstance(field, Literal) else ""
            field_type = self._field(node, node.args[0], str(name), optional=True)
            field.type = cel_types.STRING
            node.type = substitute(self.bindings, field_type, free_to_dyn=False)
            node.overloads = ("select_optional_field",)
            return
        for arg in node.args:
            self._check(arg)
        name = node.function
        if node.target is None:
            name = name.removeprefix(".")
        else:
            prefix = qualified_name(node.target)
            namespaced = f"{prefix.removeprefix('.')}.{name}" if prefix is not None else ""
            if namespaced in self.functions:
                name, node.target = namespaced, None
            else:
                self._check(node.target)
        overloads = self.functions.get(name)
        if overloads is None:
            self._report_undeclared(node, node.function)
            return
        node.function = name
        self._resolve(node, overloads)

    def _report_undeclared(self, node: Expr, name: str) -> None:
        node.type = ERROR
        self.source.report(node.offset, f"undeclared reference to '{name}' (in container '')")

    def _instantiate(self, overload: Overload) -> tuple[tuple[Type, ...], Type]:
        """Return the types of the arguments and of the result of an overload, with type parameters of this call."""
        if not overload.params:
            return overload.args, overload.result
        fresh: Bindings = {param: self._fresh_param() for param in overload.params}
        args = tuple(substitute(fresh, arg, free_to_dyn=False) for arg in overload.args)
        return args, substitute(fresh, overload.result, free_to_dyn=False)

    def _report_no_overload(self, node: Call, arg_types: Sequence[Type]) -> None:
        names = [str(substitute(self.bindings, t, free_to_dyn=True)) for t in arg_types]
        signature = f"({', '.join(names)})"
        if node.target is not None:
            signature = f"{names[0]}.({', '.join(names[1:])})"
        self.source.report(node.offset, f"found no matching overload for '{node.function}' applied to '{signature}'")
        node.type = ERROR

    def _resolve(self, node: Call, overloads: tuple[Overload, ...]) -> None:
        """Resolve the overloads that accept the argument types. The result type is dyn if their results differ."""
        if node.function in ("_&&_", "_||_"):
            self._logical(node, overloads[0].id)
            return
        arg_types = [*([node.target.type] if node.target is not None else []), *(arg.type for arg in node.args)]
        result: Type | None = None
        overload_ids: list[str] = []
        for overload in overloads:
            if overload.member != (node.target is not None):
                continue
            args, result_type = self._instantiate(overload)
            bindings = assign_all(self.bindings, arg_types, args)
            if bindings is None:
                continue
            self.bindings = bindings
            overload_ids.append(overload.id)
            result_type = substitute(self.bindings, result_type, free_to_dyn=False)
            if result is None:
                result = result_type
            elif result.kind != "dyn" and result_type != result:
                result = DYN
        if result is None:
            self._report_no_overload(node, arg_types)
            return
        node.type = result
        node.overloads = tuple(overload_ids)

    def _logical(self, node: Call, overload: str) -> None:
        valid = True
        for arg in node.args:
            if not self._assign(arg.type, BOOL):
                self._report_mismatch(arg, BOOL, arg.type)
                valid = False
        node.type = BOOL if valid else ERROR
        node.overloads = (overload,) if valid else ()

    # ------------------------------------------------------------------ aggregate literals

    def _list(self, node: ListExpr) -> None:
        item_type: Type | None = None
        for index, item in enumerate(node.items):
            self._check(item)
            item_type = self._join_types(item_type, self._item_type(item, index in node.optional))
        node.type = cel_types.list_of(item_type if item_type is not None else self._fresh_param())

    def _map(self, node: MapExpr) -> None:
        key_type: Type | None = None
        value_type: Type | None = None
        for entry in node.entries:
            self._check(entry.key)
            key_type = self._join_types(key_type, entry.key.type)
            self._check(entry.value)
            value_type = self._join_types(value_type, self._item_type(entry.value, entry.optional))
        if key_type is None or value_type is None:
            key_type, value_type = self._fresh_param(), self._fresh_param()
        node.type = cel_types.map_of(key_type, value_type)

    def _item_type(self, item: Expr, optional: bool) -> Type:
        if not optional:
            return item.type
        value_type, was_optional = unwrap_optional(item.type)
        if not was_optional and value_type.kind != "dyn":
            self._report_mismatch(item, cel_types.optional_of(value_type), value_type)
        return value_type

    def _join_types(self, joined: Type | None, added: Type) -> Type:
        """Return the more general of two types, or dyn if neither is assignable to the other. `joined` may be None."""
        if joined is None:
            return added
        return most_general(joined, added) if self._assign(joined, added) else DYN

    def _struct(self, node: StructExpr) -> None:
        declared = self._lookup(node.name)
        node.type = ERROR
        if declared is None:
            self._report_undeclared(node, node.name)
            return
        type_name = node.name.removeprefix(".")
        if declared.kind != "type":
            self.source.report(node.offset, f"'{declared.name}' is not a type")
        elif declared.params[0].kind in ("struct", "null") or type_name in WELL_KNOWN_TYPES:
            node.type = declared.params[0]
        else:
            self.source.report(node.offset, f"'{node.name}' is not a message type")
        for offset, name, value, optional in node.fields:
            self._check(value)
            actual = self._item_type(value, optional)
            expected = self._assigned_field_type(offset, type_name, name)
            if not self._assign(expected, actual):
                message = f"expected type of field '{name}' is '{expected}' but provided type is '{actual}'"
                self.source.report(offset, message)

    def _assigned_field_type(self, offset: int, type_name: str, field: str) -> Type:
        """Return the type of a field that a struct literal sets.

        Report an error if the struct type has no such field.
        """
        message = WELL_KNOWN_TYPES.get(type_name)
        field_type = message.field(field) if message is not None else self._field_type(type_name, field)
        if field_type is not None:
            return field_type
        if message is not None or type_name in self.structs or type_name in _SCALARS:
            self.source.report(offset, f"undefined field '{field}'")
        elif type_name != "map":
            resolved = "google.protobuf.NullValue" if type_name == "null_type" else type_name
            self.source.report(offset, f"unexpected failed resolution of '{resolved}'")
        return ERROR

    # ------------------------------------------------------------------ comprehensions

    def _comprehension(self, node: Comprehension) -> None:
        self._check(node.iter_range)
        self._check(node.accu_init)
        range_type = substitute(self.bindings, node.iter_range.type, free_to_dyn=False)
        accu_type = node.accu_init.type
        first = second = DYN
        if range_type.kind == "list":
            first = second = range_type.params[0]
            if len(node.iter_vars) == 2:
                first = cel_types.INT
        elif range_type.kind == "map":
            first, second = range_type.params
        elif range_type.kind in ("dyn", "error", "param"):
            self._assign(DYN, range_type)
        else:
            self.source.report(
                node.iter_range.offset,
                f"expression of type '{range_type}' cannot be range of a comprehension (must be list, map, or dynamic)",
            )
            first = second = ERROR
        self.scopes.append({node.accu_var: accu_type})
        self.scopes.append(dict(zip(node.iter_vars, (first, second), strict=False)))
        self._check(node.loop_condition)
        self._require_type(node.loop_condition, BOOL)
        self._check(node.loop_step)
        self._require_type(node.loop_step, accu_type)
        self.scopes.pop()
        self._check(node.result)
        self.scopes.pop()
        node.type = substitute(self.bindings, node.result.type, free_to_dyn=False)

    def _require_type(self, node: Expr, expected: Type) -> None:
        if not self._assign(expected, node.type):
            self._report_mismatch(node, expected, node.type)

    # ------------------------------------------------------------------ helpers

    def _report_mismatch(self, node: Expr, expected: Type, actual: Type) -> None:
        self.source.report(node.offset, f"expected type '{expected}' but found '{actual}'")

    def _assign(self, actual: Type, expected: Type) -> bool:
        """True if one type is assignable to the other. In this case, store the new bindings of type parameters."""
        bindings = assign(self.bindings, actual, expected)
        if bindings is None:
            return False
        self.bindings = bindings
        return True

    def _fresh_param(self) -> Type:
        self._param_count += 1
        return cel_types.type_param(f"_var{self._param_count - 1}")
