"""Checked trees made into Python closures that count what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from polykind.cel import (
    aggregate_literals,
    comprehensions,
    from_json,
    lookup,
    mutation_types,
    operators,
    well_known_types,
)
from polykind.cel.activation import OLD_SELF, SELF, Closure, Interpretable
from polykind.cel.ast import (
    INDEX_FUNCTIONS,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
    is_attribute,
    is_conditional,
    qualified_name,
)
from polykind.cel.ast_validators import REGEX_FUNCTIONS
from polykind.cel.cel_types import AUTHORIZER_TYPES, INT, Type, unwrap_optional
from polykind.cel.constant_folding import constant_value
from polykind.cel.evaluation_errors import CEL_ERRORS, CostExceededError
from polykind.cel.function_declarations import OVERLOADS_BY_ID, Overload
from polykind.cel.library import IMPLEMENTATIONS, standard
from polykind.cel.overload_dispatch import dispatcher, with_argument_checks, with_first_item_check
from polykind.cel.runtime_cost import QUADRATIC_OVERLOADS, SELF_COMPARING_OVERLOADS, CallCost, runtime_call_cost
from polykind.cel.runtime_values import ConstructedList, ConstructedMap, StringList, kind_of, type_constant
from polykind.cel.schema_types import DeclType

_AUTHORIZERS = frozenset(AUTHORIZER_TYPES.values())
_NAMED = _AUTHORIZERS | {INT}
_HASHED = frozenset({"bool", "double", "int", "string", "uint"})
"""Kinds of constants that are not gone through one by one to find another among them."""


class _Variable(NamedTuple):
    """Where a variable lies; with `declared`, as the JSON it was. A `total` is what a fold has come to."""

    slot: int
    declared: DeclType | None
    total: bool = False


class Planner:
    """One walk over one tree."""

    def __init__(
        self, variables: Mapping[str, DeclType | None], *, optional_old: bool = False, plain: bool = False
    ) -> None:
        """The variables take the first slots in order; what is not declared is taken as it is.

        With `plain`, what has fields may be a plain map as well.
        """
        self.optional_old = optional_old
        self.plain = plain
        self.list: type[list[Any]] = ConstructedList if plain else list
        self.map: type[dict[Any, Any]] = ConstructedMap if plain else dict
        self.size = len(variables) + 1
        known = {name: _Variable(slot, declared) for slot, (name, declared) in enumerate(variables.items(), start=1)}
        self.scopes: list[dict[str, _Variable]] = [known]

    def plan(self, node: Expr) -> Interpretable:
        if isinstance(node, Literal):
            value = node.value
            return Interpretable(lambda frame: value, 0)
        if isinstance(node, Ident):
            return self._ident(node)
        if isinstance(node, Select):
            return self._select(node)
        made = self._constant(node)
        if made is not None:
            ready = made[0]
            return Interpretable(lambda frame: ready, 0)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListExpr):
            return self._list(node)
        if isinstance(node, MapExpr):
            return self._map(node)
        if isinstance(node, StructExpr):
            return self._struct(node)
        return self._comprehension(node)

    def _constant(self, node: Expr) -> tuple[Any] | None:
        try:
            return constant_value(node, self._named, lists=self.list, maps=self.map)
        except CEL_ERRORS:
            return None

    def _named(self, node: Expr) -> tuple[Any] | None:
        """The type that a name stands for."""
        if node.type.kind != "type" or not self._is_type_name(node):
            return None
        return (type_constant(node.type.params[0]),)

    # ------------------------------------------------------------------ names and fields

    def _find(self, name: str) -> _Variable | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def _ident(self, node: Ident) -> Interpretable:
        variable = self._find(node.name.removeprefix("."))
        if variable is None:
            constant_value = type_constant(node.type.params[0])
            return Interpretable(lambda frame: constant_value, 0)
        slot, declared, total = variable
        if total:
            return Interpretable(comprehensions.accumulator(slot), 1)
        if node.type in _AUTHORIZERS:
            return lookup.authorizer_variable(node.name.removeprefix("."), slot)
        read = declared.from_json if declared is not None else None
        if read is None and node.type == INT:
            # Items are not looked at when their list is read.
            read = from_json.integer_item
        if slot == OLD_SELF and declared is not None:
            return Interpretable(lookup.optional_old_self if self.optional_old else lookup.old_self(read), 1)
        if read is None:
            return Interpretable(lambda frame: frame[slot], 1)
        reader = read
        return Interpretable(lambda frame: reader(frame[slot]), 1)

    def json_path(self, node: Expr) -> tuple[Closure, DeclType, int] | None:
        """A path from a variable through fields, as a getter of JSON with what it is declared to be."""
        if isinstance(node, Ident):
            variable = self._find(node.name)
            if variable is None or variable.declared is None or (variable.slot == OLD_SELF and self.optional_old):
                return None
            slot = variable.slot
            return lambda frame: frame[slot], variable.declared, 1
        if not isinstance(node, Select) or node.test_only:
            return None
        below = self.json_path(node.operand)
        if below is None or below[1].fields is None:
            return None
        getter, declared, cost = below
        field = declared.fields.get(node.name) if declared.fields is not None else None
        if field is None or declared.fields is None:
            return None
        key, name = declared.fields.key(node.name), node.name
        if isinstance(node.operand, Ident):
            return lookup.slot_field(self._slot(node.operand), key, name), field, cost + 1
        return lookup.field(getter, key, name), field, cost + 1

    def _slot(self, node: Ident) -> int:
        variable = self._find(node.name)
        return variable.slot if variable is not None else SELF

    def _select(self, node: Select) -> Interpretable:
        if node.test_only:
            return self._test(node)
        raw = self.json_path(node)
        if raw is not None:
            getter, declared, cost = raw
            read = declared.from_json
            return Interpretable(lookup.converted(getter, read) if read is not None else getter, cost)
        if node.type.kind == "type" and self._is_type_name(node):
            constant_value = type_constant(node.type.params[0])
            return Interpretable(lambda frame: constant_value, 0)
        if node.type in _NAMED:
            # A variable or a constant whose name has a dot in it.
            whole = (qualified_name(node) or "").removeprefix(".")
            if whole in self.scopes[0]:
                return lookup.authorizer_variable(whole, self.scopes[0][whole].slot)
            if whole in well_known_types.ENUM_CONSTANTS:
                number = well_known_types.ENUM_CONSTANTS[whole]
                return Interpretable(lambda frame: number, 0)
        operand, cost = self._operand(node.operand)
        name = node.name
        kind = node.operand.type.kind
        if kind == "struct" and mutation_types.constructible_type(node.operand.type.name) is not None:
            return Interpretable(lambda frame: mutation_types.select(operand(frame), name), cost + 1)
        if kind == "struct" and not self.plain and not self.optional_old:
            return Interpretable(lambda frame: operand(frame).get(name), cost + 1)
        if kind == "map":
            return Interpretable(lambda frame: standard.index_map(operand(frame), name), cost + 1)
        return Interpretable(lambda frame: standard.select(operand(frame), name), cost + 1)

    def _is_type_name(self, node: Expr) -> bool:
        operand = node
        while isinstance(operand, Select):
            operand = operand.operand
        return isinstance(operand, Ident) and self._find(operand.name.removeprefix(".")) is None

    def _operand(self, node: Expr) -> Interpretable:
        """What a field or an element is taken of: what is no path itself, becomes the start of one."""
        part = self.plan(node)
        return part if is_attribute(node) else Interpretable(part.run, part.cost + 1)

    def _test(self, node: Select) -> Interpretable:
        name = node.name
        raw = self.json_path(node.operand)
        if raw is not None and raw[1].fields is not None:
            getter, cost = raw[0], raw[2]
            key = raw[1].fields.key(name)
            return Interpretable(lambda frame: getter(frame).get(key) is not None, cost)
        operand, cost = self._operand(node.operand)
        if node.operand.type.kind == "struct" and mutation_types.constructible_type(node.operand.type.name) is not None:
            return Interpretable(lambda frame: mutation_types.has(operand(frame), name), cost)
        return Interpretable(lambda frame: standard.has(operand(frame), name), cost)

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call) -> Interpretable:
        function = node.function
        if function in ("_&&_", "_||_"):
            return operators.logical([self.plan(arg) for arg in node.args], stop=function == "_||_")
        if function == "_?_:_":
            return operators.conditional(
                self.plan(node.args[0]), self._within(node.args[1]), self._within(node.args[2])
            )
        if function == "_?._":
            return self._optional_field(node)
        if function in INDEX_FUNCTIONS:
            return self._index(node)
        args = [*([self.plan(node.target)] if node.target is not None else []), *map(self.plan, node.args)]
        if function in ("or", "orValue") and node.target is not None:
            return operators.optional_or(args[0], args[1], unwrap=function == "orValue")
        nodes = [*([node.target] if node.target is not None else []), *node.args]
        if function in ("_==_", "_!=_"):
            return operators.equality(nodes, args, negated=function == "_!=_")
        cost = sum(arg.cost for arg in args)
        if len(node.overloads) == 1:
            part = self._bound(OVERLOADS_BY_ID[node.overloads[0]], nodes, args, cost)
        else:
            part = self._dispatched(node, args, cost)
        run = part.run
        if not self.plain or function not in ("split", "findAll"):
            return part
        return Interpretable(lambda frame: StringList(run(frame)), part.cost)

    def _index(self, node: Call) -> Interpretable:
        container, (find, cost) = self._operand(node.args[0]), self._within(node.args[1])
        if node.function == "_[?_]" or unwrap_optional(node.args[0].type)[1]:
            return operators.optional_index_or_select(container.run, Interpretable(find, cost), container.cost)
        cost += container.cost + 1
        if self._has_text_keys(node.args[0]) and _is_dynamic(node.args[1].type):
            return Interpretable(
                operators.fixed_cost_call(node.function, standard.index_string_map, [container.run, find]), cost
            )
        if any(_is_dynamic(arg.type) for arg in node.args):
            return Interpretable(operators.fixed_cost_call(node.function, standard.index, [container.run, find]), cost)
        element = operators.fixed_cost_call(node.function, IMPLEMENTATIONS[node.overloads[0]], [container.run, find])
        if node.type == INT:
            return Interpretable(lambda frame: from_json.integer_item(element(frame)), cost)
        return Interpretable(element, cost)

    def _has_text_keys(self, node: Expr) -> bool:
        """Whether it is a map as a schema describes it: nothing but a text can be asked of it."""
        raw = self.json_path(node) if node.type.kind == "map" else None
        return raw is not None

    def _within(self, node: Expr) -> Interpretable:
        """A branch or an index. To begin a path costs nothing there."""
        run, cost = self.plan(node)
        return Interpretable(run, max(cost - 1, 0) if is_attribute(node) and not is_conditional(node) else cost)

    def _optional_field(self, node: Call) -> Interpretable:
        operand, cost = self._operand(node.args[0])
        field = node.args[1]
        name = str(field.value) if isinstance(field, Literal) else ""
        return operators.optional_index_or_select(operand, Interpretable(lambda frame: name, 0), cost)

    def _bound(
        self, overload: Overload, nodes: Sequence[Expr], args: Sequence[Interpretable], cost: int
    ) -> Interpretable:
        implementation = IMPLEMENTATIONS[overload.id]
        if overload.id == "in_list":
            implementation = operators.list_membership(nodes)
        elif overload.id == "in_map" and self._has_text_keys(nodes[1]):
            implementation = standard.in_string_map
        elif overload.id == "optional_ofNonZeroValue" and self.json_path(nodes[0]) is not None:
            implementation = standard.optional_of_non_zero_field
        guard = self.plain or self.optional_old
        if any(_is_dynamic(node.type) for node in nodes):
            guard = True
        else:
            quick = operators.fast_call(overload.id, nodes, args, cost)
            if quick is not None:
                return quick
        if guard:
            # The reference takes calls with a pattern that it knows for another function.
            silent = overload.function in REGEX_FUNCTIONS and self._constant(nodes[1]) is not None
            implementation = with_argument_checks(overload, implementation, silent=silent)
        else:
            implementation = with_first_item_check(overload, implementation)
        spend = runtime_call_cost(overload.function, overload.id)
        fixed = self._constant(nodes[1]) if overload.id == "in_list" else None
        if fixed is not None and not fixed[0]:
            return Interpretable(lambda frame: False, 0)
        if fixed is not None and all(kind_of(item) in _HASHED for item in fixed[0]):
            spend = 0
        if nodes and all(isinstance(node, Literal) for node in nodes):
            folded = _folded(implementation, spend, [node.value for node in nodes if isinstance(node, Literal)])
            if folded is not None:
                return folded
        runs = [
            operators.list_argument(arg.run) if overload.id in SELF_COMPARING_OVERLOADS else arg.run for arg in args
        ]
        if isinstance(spend, int):
            return Interpretable(operators.fixed_cost_call(overload.function, implementation, runs), cost + spend)
        known = overload.id in QUADRATIC_OVERLOADS
        return Interpretable(
            operators.variable_cost_call(overload.function, implementation, runs, spend, known=known), cost
        )

    def _dispatched(self, node: Call, args: Sequence[Interpretable], cost: int) -> Interpretable:
        """Which overload is meant shows only when the arguments are there."""
        dispatch = dispatcher(node.function, node.overloads)
        spend = runtime_call_cost(node.function, "")
        runs = [arg.run for arg in args]
        if isinstance(spend, int):
            return Interpretable(operators.fixed_cost_call(node.function, dispatch, runs), cost + spend)
        return Interpretable(operators.variable_cost_call(node.function, dispatch, runs, spend), cost)

    # ------------------------------------------------------------------ aggregates and folds

    def _list(self, node: ListExpr) -> Interpretable:
        parts = [self.plan(item) for item in node.items]
        runs = [part.run for part in parts]
        cost = 10 + sum(part.cost for part in parts)
        return Interpretable(aggregate_literals.list_literal(runs, node.optional, self.list), cost)

    def _map(self, node: MapExpr) -> Interpretable:
        entries = [(self.plan(e.key), self.plan(e.value), e.optional) for e in node.entries]
        cost = 30 + sum(key.cost + value.cost for key, value, _ in entries)
        return Interpretable(aggregate_literals.map_literal(entries, self.map), cost)

    def _struct(self, node: StructExpr) -> Interpretable:
        fields = [(name, self.plan(value), optional) for _, name, value, optional in node.fields]
        make = mutation_types.object_constructor(node.type) or well_known_types.message_constructor(
            node.name.removeprefix(".")
        )
        run = mutation_types.construct(make, [(name, part.run, optional) for name, part, optional in fields])
        return Interpretable(run, 40 + sum(part.cost for _, part, _ in fields))

    def _comprehension(self, node: Comprehension) -> Interpretable:
        part = self._folded(node)
        if not self.plain or node.is_bind or node.type.kind not in ("list", "map"):
            return part
        run, built = part.run, self.list if node.type.kind == "list" else self.map
        return Interpretable(lambda frame: built(run(frame)), part.cost)

    def _folded(self, node: Comprehension) -> Interpretable:
        if node.is_bind:
            return self._bind(node)
        raw = self.json_path(node.iter_range)
        elem = raw[1].elem if raw is not None and len(node.iter_vars) == 1 else None
        if raw is not None and elem is not None and elem.fields is not None and raw[1].type.kind == "list":
            ranged = Interpretable(raw[0], raw[2])
        else:
            elem = None
            ranged = self.plan(node.iter_range)
        slots = [self._new_slot() for _ in node.iter_vars]
        scope = {name: _Variable(slot, None) for name, slot in zip(node.iter_vars, slots, strict=True)}
        if elem is not None:
            scope[node.iter_vars[0]] = _Variable(slots[0], elem)
        if node.macro in ("all", "exists", "exists_one", "list"):
            self.scopes.append(scope)
            parts = [self.plan(part) for part in node.parts]
            fixed = self._constant(node.parts[0]) is not None
            self.scopes.pop()
            return comprehensions.macro_comprehension(node.macro, ranged, slots, parts, fixed=fixed)
        accumulator = self._new_slot()
        initial = self.plan(node.accu_init)
        self.scopes.append({node.accu_var: _Variable(accumulator, None, total=True)})
        self.scopes.append(scope)
        step = self.plan(node.loop_step)
        self.scopes.pop()
        self.scopes.pop()
        return comprehensions.general_comprehension(ranged, slots, accumulator, initial, step)

    def _bind(self, node: Comprehension) -> Interpretable:
        slot = self._new_slot()
        value = self.plan(node.accu_init)
        self.scopes.append({node.accu_var: _Variable(slot, None, total=True)})
        body = self.plan(node.result)
        self.scopes.pop()
        return comprehensions.bind(slot, value, body)

    def _new_slot(self) -> int:
        self.size += 1
        return self.size - 1


def _folded(implementation: Callable[..., Any], spend: CallCost | int, values: list[Any]) -> Interpretable | None:
    """A call of constants, made once; None if it fails, to fail when it is run."""
    try:
        result = implementation(*values)
    except (*CEL_ERRORS, CostExceededError):
        return None
    return Interpretable(lambda frame: result, spend if isinstance(spend, int) else spend(values, result))


def _is_dynamic(t: Type) -> bool:
    return t.kind in ("dyn", "error", "param") or any(_is_dynamic(p) for p in t.params if t.kind != "type")
