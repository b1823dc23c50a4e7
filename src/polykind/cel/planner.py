"""Planner: turns a checked AST into Python closures that add up the same runtime cost as cel-go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from polykind.cel import activation, aggregate_literals, comprehensions, mutation_types, operators
from polykind.cel.activation import OLD_SELF, SELF, Closure, Plan
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
from polykind.cel.cel_types import AUTHORIZER_TYPES, INT, Type, unwrap_optional
from polykind.cel.constant_folding import REGEX_FUNCTIONS, constant_value
from polykind.cel.evaluation_errors import CEL_ERRORS, CostExceededError
from polykind.cel.from_json import integer_item
from polykind.cel.library import OVERLOADS_BY_ID, Overload, standard
from polykind.cel.library.regex import compile_work
from polykind.cel.overload_dispatch import Implementation, dispatcher, with_argument_checks, with_first_item_check
from polykind.cel.runtime_cost import QUADRATIC_OVERLOADS, SELF_COMPARING_OVERLOADS, CallCost, runtime_call_cost
from polykind.cel.runtime_values import ConstructedList, ConstructedMap, StringList, kind_of, type_constant
from polykind.cel.schema_types import DeclType
from polykind.cel.well_known_types import ENUM_CONSTANTS, message_constructor

_AUTHORIZERS = frozenset(AUTHORIZER_TYPES.values())
_DOTTED_NAME_TYPES = _AUTHORIZERS | {INT}
_HASHABLE = frozenset({"bool", "double", "int", "string", "uint"})
"""Kinds of items for which cel-go turns a constant list into a set. The operator `in` then costs nothing."""


class _Variable(NamedTuple):
    """A variable whose value is at index `slot` of the frame.

    The value is JSON if `decl_type` is set, and a CEL value otherwise. The value of an accumulator may be an EvalError.
    """

    slot: int
    decl_type: DeclType | None
    is_accumulator: bool = False


class Planner:
    """Turns one type-checked expression into a Plan: a closure that evaluates it, and its fixed cost."""

    def __init__(
        self, variables: Mapping[str, DeclType | None], *, optional_old: bool = False, untyped: bool = False
    ) -> None:
        """Assign the first frame slots to the variables in order. Variables without a DeclType have CEL values.

        If `untyped` is true, a value with a struct type may also be a plain map.
        """
        self.optional_old = optional_old
        self.untyped = untyped
        self.list: type[list[Any]] = ConstructedList if untyped else list
        self.map: type[dict[Any, Any]] = ConstructedMap if untyped else dict
        self.size = len(variables) + 1
        globals_ = {name: _Variable(slot, decl) for slot, (name, decl) in enumerate(variables.items(), start=1)}
        self.scopes: list[dict[str, _Variable]] = [globals_]

    def plan(self, node: Expr) -> Plan:
        if isinstance(node, Literal):
            return _constant_plan(node.value)
        if isinstance(node, Ident):
            return self._ident(node)
        if isinstance(node, Select):
            return self._select(node)
        folded = self._constant(node)
        if folded is not None:
            return _constant_plan(folded[0])
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
            return constant_value(node, self._type_name, list_class=self.list, map_class=self.map)
        except CEL_ERRORS:
            return None

    def _type_name(self, node: Expr) -> tuple[Any] | None:
        """Return a 1-tuple with the type that a name denotes. Return None if the name denotes a variable."""
        if node.type.kind != "type" or not self._is_type_name(node):
            return None
        return (type_constant(node.type.params[0]),)

    # ------------------------------------------------------------------ variables and fields

    def _find(self, name: str) -> _Variable | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def _ident(self, node: Ident) -> Plan:
        variable = self._find(node.name.removeprefix("."))
        if variable is None:
            return _constant_plan(type_constant(node.type.params[0]))
        slot, decl_type, is_accumulator = variable
        if is_accumulator:
            return Plan(comprehensions.accumulator(slot), 1)
        if node.type in _AUTHORIZERS:
            return activation.authorizer_variable(node.name.removeprefix("."), slot)
        from_json = decl_type.from_json if decl_type is not None else None
        if from_json is None and node.type == INT:
            # The conversion of a list from JSON does not check integers, so check the item here.
            from_json = integer_item
        if slot == OLD_SELF and decl_type is not None:
            return Plan(activation.optional_old_self if self.optional_old else activation.old_self(from_json), 1)
        if from_json is None:
            return Plan(lambda frame: frame[slot], 1)
        convert = from_json
        return Plan(lambda frame: convert(frame[slot]), 1)

    def json_path(self, node: Expr) -> tuple[Closure, DeclType, int] | None:
        """Plan a path of fields from a typed variable. Return a closure for its JSON, its declared type and its cost.

        Return None if the expression is not such a path.
        """
        if isinstance(node, Ident):
            variable = self._find(node.name)
            if variable is None or variable.decl_type is None or (variable.slot == OLD_SELF and self.optional_old):
                return None
            slot = variable.slot
            return lambda frame: frame[slot], variable.decl_type, 1
        if not isinstance(node, Select) or node.test_only:
            return None
        parent = self.json_path(node.operand)
        if parent is None or parent[1].fields is None:
            return None
        operand, decl_type, cost = parent
        field = decl_type.fields.get(node.name) if decl_type.fields is not None else None
        if field is None or decl_type.fields is None:
            return None
        key, name = decl_type.fields.key(node.name), node.name
        if isinstance(node.operand, Ident):
            variable = self._find(node.operand.name)
            slot = variable.slot if variable is not None else SELF
            return activation.slot_field(slot, key, name), field, cost + 1
        return activation.nested_field(operand, key, name), field, cost + 1

    def _select(self, node: Select) -> Plan:
        if node.test_only:
            return self._presence_test(node)
        path = self.json_path(node)
        if path is not None:
            get, decl_type, cost = path
            convert = decl_type.from_json
            return Plan(get if convert is None else lambda frame: convert(get(frame)), cost)
        if node.type.kind == "type" and self._is_type_name(node):
            return _constant_plan(type_constant(node.type.params[0]))
        if node.type in _DOTTED_NAME_TYPES:
            # A variable or an enum constant whose name contains a dot.
            dotted_name = (qualified_name(node) or "").removeprefix(".")
            if dotted_name in self.scopes[0]:
                return activation.authorizer_variable(dotted_name, self.scopes[0][dotted_name].slot)
            if dotted_name in ENUM_CONSTANTS:
                return _constant_plan(ENUM_CONSTANTS[dotted_name])
        return self._plan_field(node)

    def _plan_field(self, node: Select) -> Plan:
        """Plan the access to a field or a key of a value."""
        operand, cost = self._operand(node.operand)
        name = node.name
        kind = node.operand.type.kind
        if kind == "struct" and mutation_types.constructible_type(node.operand.type.name) is not None:
            return Plan(lambda frame: mutation_types.select(operand(frame), name), cost + 1)
        if kind == "struct" and not self.untyped and not self.optional_old:
            return Plan(lambda frame: operand(frame).get(name), cost + 1)
        if kind == "map":
            return Plan(lambda frame: standard.index_map(operand(frame), name), cost + 1)
        return Plan(lambda frame: standard.select(operand(frame), name), cost + 1)

    def _is_type_name(self, node: Expr) -> bool:
        operand = node
        while isinstance(operand, Select):
            operand = operand.operand
        return isinstance(operand, Ident) and self._find(operand.name.removeprefix(".")) is None

    def _operand(self, node: Expr) -> Plan:
        """Plan the operand of a selection or index. As in cel-go, an operand that is not an attribute costs 1 more."""
        operand = self.plan(node)
        return operand if is_attribute(node) else Plan(operand.run, operand.cost + 1)

    def _presence_test(self, node: Select) -> Plan:
        name = node.name
        path = self.json_path(node.operand)
        if path is not None and path[1].fields is not None:
            get, cost = path[0], path[2]
            key = path[1].fields.key(name)
            return Plan(lambda frame: get(frame).get(key) is not None, cost)
        operand, cost = self._operand(node.operand)
        if node.operand.type.kind == "struct" and mutation_types.constructible_type(node.operand.type.name) is not None:
            return Plan(lambda frame: mutation_types.has(operand(frame), name), cost)
        return Plan(lambda frame: standard.has(operand(frame), name), cost)

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call) -> Plan:
        function = node.function
        if function in ("_&&_", "_||_"):
            return operators.logical([self.plan(arg) for arg in node.args], stop=function == "_||_")
        if function == "_?_:_":
            condition, then, otherwise = node.args
            return operators.conditional(self.plan(condition), self._branch(then), self._branch(otherwise))
        if function == "_?._":
            return self._optional_field(node)
        if function in INDEX_FUNCTIONS:
            return self._index(node)
        nodes = [*([node.target] if node.target is not None else []), *node.args]
        args = [self.plan(arg) for arg in nodes]
        if function in ("or", "orValue") and node.target is not None:
            return operators.optional_or(args[0], args[1], unwrap=function == "orValue")
        if function in ("_==_", "_!=_"):
            return operators.equality(nodes, args, negated=function == "_!=_")
        cost = sum(arg.cost for arg in args)
        if len(node.overloads) == 1:
            planned = self._overload(OVERLOADS_BY_ID[node.overloads[0]], nodes, args, cost)
        else:
            planned = self._dynamic_dispatch(node, args, cost)
        run = planned.run
        if not self.untyped or function not in ("split", "findAll"):
            return planned
        return Plan(lambda frame: StringList(run(frame)), planned.cost)

    def _index(self, node: Call) -> Plan:
        container, (index, cost) = self._operand(node.args[0]), self._branch(node.args[1])
        if node.function == "_[?_]" or unwrap_optional(node.args[0].type)[1]:
            return operators.optional_index_or_select(container.run, Plan(index, cost), container.cost)
        cost += container.cost + 1
        args = [container.run, index]
        if self._is_schema_map(node.args[0]) and _is_dynamic(node.args[1].type):
            return Plan(operators.fixed_cost_call(node.function, standard.index_string_map, args), cost)
        if any(_is_dynamic(arg.type) for arg in node.args):
            return Plan(operators.fixed_cost_call(node.function, standard.index, args), cost)
        element = operators.fixed_cost_call(node.function, OVERLOADS_BY_ID[node.overloads[0]].implementation, args)
        if node.type == INT:
            return Plan(lambda frame: integer_item(element(frame)), cost)
        return Plan(element, cost)

    def _is_schema_map(self, node: Expr) -> bool:
        """True if the expression is a map declared by a schema. Such a map accepts only string keys."""
        return node.type.kind == "map" and self.json_path(node) is not None

    def _branch(self, node: Expr) -> Plan:
        """Plan a branch of a conditional, or an index. Like cel-go, subtract 1 from the cost if it is an attribute."""
        run, cost = self.plan(node)
        return Plan(run, max(cost - 1, 0) if is_attribute(node) and not is_conditional(node) else cost)

    def _optional_field(self, node: Call) -> Plan:
        operand, cost = self._operand(node.args[0])
        field = node.args[1]
        name = str(field.value) if isinstance(field, Literal) else ""
        return operators.optional_index_or_select(operand, Plan(lambda frame: name, 0), cost)

    def _implementation(self, overload: Overload, nodes: Sequence[Expr], *, check_arguments: bool) -> Implementation:
        """Return the function that computes a call, with the checks of its arguments."""
        implementation = overload.implementation
        if overload.id == "in_list":
            implementation = operators.list_membership(nodes)
        elif overload.id == "in_map" and self._is_schema_map(nodes[1]):
            implementation = standard.in_string_map
        elif overload.id == "optional_ofNonZeroValue" and self.json_path(nodes[0]) is not None:
            implementation = standard.optional_of_non_zero_field
        if not check_arguments:
            return with_first_item_check(overload, implementation)
        # With a constant pattern, cel-go optimizes the regex call, and its error does not name the arguments.
        terse = overload.function in REGEX_FUNCTIONS and self._constant(nodes[1]) is not None
        return with_argument_checks(overload, implementation, terse=terse)

    def _overload(self, overload: Overload, nodes: Sequence[Expr], args: Sequence[Plan], cost: int) -> Plan:
        """Plan a call whose overload the checker resolved."""
        is_dynamic = any(_is_dynamic(node.type) for node in nodes)
        fast = None if is_dynamic else operators.fast_call(overload.id, nodes, args, cost)
        if fast is not None:
            return fast
        check_arguments = is_dynamic or self.untyped or self.optional_old
        implementation = self._implementation(overload, nodes, check_arguments=check_arguments)
        call_cost = runtime_call_cost(overload.function, overload.id)
        if overload.id == "in_list" and (items := self._constant(nodes[1])) is not None:
            if not items[0]:
                return Plan(lambda frame: False, 0)
            if all(kind_of(item) in _HASHABLE for item in items[0]):
                call_cost = 0
        folded = _fold_literals(implementation, call_cost, nodes)
        if folded is not None:
            return folded
        is_self_comparing = overload.id in SELF_COMPARING_OVERLOADS
        runs = [operators.list_argument(arg.run) if is_self_comparing else arg.run for arg in args]
        if isinstance(call_cost, int):
            return Plan(operators.fixed_cost_call(overload.function, implementation, runs), cost + call_cost)
        reserve = overload.id in QUADRATIC_OVERLOADS
        call = operators.variable_cost_call(
            overload.function, implementation, runs, call_cost, reserve=reserve, work=_work(overload.function)
        )
        return Plan(call, cost)

    def _dynamic_dispatch(self, node: Call, args: Sequence[Plan], cost: int) -> Plan:
        """Plan a call whose overload depends on the runtime types of its arguments."""
        dispatch = dispatcher(node.function, node.overloads)
        call_cost = runtime_call_cost(node.function, "")
        runs = [arg.run for arg in args]
        if isinstance(call_cost, int):
            return Plan(operators.fixed_cost_call(node.function, dispatch, runs), cost + call_cost)
        call = operators.variable_cost_call(node.function, dispatch, runs, call_cost, work=_work(node.function))
        return Plan(call, cost)

    # ------------------------------------------------------------------ aggregate literals and comprehensions

    def _list(self, node: ListExpr) -> Plan:
        items = [self.plan(item) for item in node.items]
        cost = 10 + sum(item.cost for item in items)
        return Plan(aggregate_literals.list_literal([item.run for item in items], node.optional, self.list), cost)

    def _map(self, node: MapExpr) -> Plan:
        entries = [(self.plan(e.key), self.plan(e.value), e.optional) for e in node.entries]
        cost = 30 + sum(key.cost + value.cost for key, value, _ in entries)
        return Plan(aggregate_literals.map_literal(entries, self.map), cost)

    def _struct(self, node: StructExpr) -> Plan:
        fields = [(name, self.plan(value), optional) for _, name, value, optional in node.fields]
        construct = mutation_types.object_constructor(node.type) or message_constructor(node.name.removeprefix("."))
        cost = 40 + sum(value.cost for _, value, _ in fields)
        return Plan(aggregate_literals.struct_literal(construct, fields), cost)

    def _comprehension(self, node: Comprehension) -> Plan:
        planned = self._bind(node) if node.is_bind else self._loop(node)
        if not self.untyped or node.is_bind or node.type.kind not in ("list", "map"):
            return planned
        run, result_class = planned.run, self.list if node.type.kind == "list" else self.map
        return Plan(lambda frame: result_class(run(frame)), planned.cost)

    def _loop(self, node: Comprehension) -> Plan:
        path = self.json_path(node.iter_range)
        elem = path[1].elem if path is not None and len(node.iter_vars) == 1 else None
        if path is not None and elem is not None and elem.fields is not None and path[1].type.kind == "list":
            iter_range = Plan(path[0], path[2])
        else:
            elem = None
            iter_range = self.plan(node.iter_range)
        slots = [self._new_slot() for _ in node.iter_vars]
        scope = {name: _Variable(slot, None) for name, slot in zip(node.iter_vars, slots, strict=True)}
        if elem is not None:
            scope[node.iter_vars[0]] = _Variable(slots[0], elem)
        if node.macro in ("all", "exists", "exists_one", "list"):
            self.scopes.append(scope)
            parts = [self.plan(part) for part in node.parts]
            is_constant = self._constant(node.parts[0]) is not None
            self.scopes.pop()
            return comprehensions.macro_comprehension(node.macro, iter_range, slots, parts, is_constant=is_constant)
        accumulator = self._new_slot()
        accu_init = self.plan(node.accu_init)
        self.scopes.append({node.accu_var: _Variable(accumulator, None, is_accumulator=True)})
        self.scopes.append(scope)
        loop_step = self.plan(node.loop_step)
        self.scopes.pop()
        self.scopes.pop()
        return comprehensions.general_comprehension(iter_range, slots, accumulator, accu_init, loop_step)

    def _bind(self, node: Comprehension) -> Plan:
        slot = self._new_slot()
        value = self.plan(node.accu_init)
        self.scopes.append({node.accu_var: _Variable(slot, None, is_accumulator=True)})
        body = self.plan(node.result)
        self.scopes.pop()
        return comprehensions.bind(slot, value, body)

    def _new_slot(self) -> int:
        self.size += 1
        return self.size - 1


def _constant_plan(value: Any) -> Plan:
    return Plan(lambda frame: value, 0)


def _fold_literals(implementation: Implementation, call_cost: CallCost | int, nodes: Sequence[Expr]) -> Plan | None:
    """Return the plan of a call whose arguments are literals, or None if they are not, or the call fails."""
    literals = [node.value for node in nodes if isinstance(node, Literal)]
    return _fold_call(implementation, call_cost, literals) if literals and len(literals) == len(nodes) else None


def _fold_call(implementation: Callable[..., Any], call_cost: CallCost | int, args: list[Any]) -> Plan | None:
    """Evaluate a call with constant arguments at planning time. Return None if the evaluation fails."""
    try:
        result = implementation(*args)
    except (*CEL_ERRORS, CostExceededError):
        return None
    return Plan(lambda frame: result, call_cost if isinstance(call_cost, int) else call_cost(args, result))


def _is_dynamic(t: Type) -> bool:
    return t.kind in ("dyn", "error", "param") or any(_is_dynamic(p) for p in t.params if t.kind != "type")


def _work(function: str) -> Callable[[Sequence[Any]], int] | None:
    """Return what tells the work of a function's call that its cost does not contain, or None if there is none."""
    return compile_work if function in REGEX_FUNCTIONS else None
