"""Checked trees made into Python closures that count what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from polykind.cel import aggregates, folds, lookup, messages, operators, patches, reading
from polykind.cel.audit import PATTERNED
from polykind.cel.constants import constant
from polykind.cel.declared import Declared
from polykind.cel.dispatch import dispatcher, guarded, looking
from polykind.cel.failures import FAILURES, CostExceeded
from polykind.cel.frame import OLD, SELF, Part, Run
from polykind.cel.library import IMPLEMENTATIONS, core
from polykind.cel.overloads import BY_ID, Overload
from polykind.cel.spending import QUADRATIC, SELF_COMPARED, Spend, spend_of
from polykind.cel.tree import (
    INDEXED,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
    is_choice,
    is_path,
    qualified_name,
)
from polykind.cel.types import AUTHORIZATION, INT, Type, unwrapped
from polykind.cel.values import BuiltList, BuiltMap, Texts, kind_of, named_type

_AUTHORIZERS = frozenset(AUTHORIZATION.values())
_NAMED = _AUTHORIZERS | {INT}
_HASHED = frozenset({"bool", "double", "int", "string", "uint"})
"""Kinds of constants that are not gone through one by one to find another among them."""


class _Variable(NamedTuple):
    """Where a variable lies; with `declared`, as the JSON it was. A `total` is what a fold has come to."""

    slot: int
    declared: Declared | None
    total: bool = False


class Compiler:
    """One walk over one tree."""

    def __init__(
        self, variables: Mapping[str, Declared | None], *, optional_old: bool = False, plain: bool = False
    ) -> None:
        """The variables take the first slots in order; what is not declared is taken as it is.

        With `plain`, what has fields may be a plain map as well.
        """
        self.optional_old = optional_old
        self.plain = plain
        self.list: type[list[Any]] = BuiltList if plain else list
        self.map: type[dict[Any, Any]] = BuiltMap if plain else dict
        self.size = len(variables) + 1
        known = {name: _Variable(slot, declared) for slot, (name, declared) in enumerate(variables.items(), start=1)}
        self.scopes: list[dict[str, _Variable]] = [known]

    def compile(self, node: Expr) -> Part:
        if isinstance(node, Literal):
            value = node.value
            return Part(lambda frame: value, 0)
        if isinstance(node, Ident):
            return self._ident(node)
        if isinstance(node, Select):
            return self._select(node)
        made = self._constant(node)
        if made is not None:
            ready = made[0]
            return Part(lambda frame: ready, 0)
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
            return constant(node, self._named, lists=self.list, maps=self.map)
        except FAILURES:
            return None

    def _named(self, node: Expr) -> tuple[Any] | None:
        """The type that a name stands for."""
        if node.type.kind != "type" or not self._is_type_name(node):
            return None
        return (named_type(node.type.params[0]),)

    # ------------------------------------------------------------------ names and fields

    def _find(self, name: str) -> _Variable | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def _ident(self, node: Ident) -> Part:
        variable = self._find(node.name.removeprefix("."))
        if variable is None:
            constant = named_type(node.type.params[0])
            return Part(lambda frame: constant, 0)
        slot, declared, total = variable
        if total:
            return Part(folds.accumulated(slot), 1)
        if node.type in _AUTHORIZERS:
            return lookup.authorizer(node.name.removeprefix("."), slot)
        read = declared.read if declared is not None else None
        if read is None and node.type == INT:
            # Items are not looked at when their list is read.
            read = reading.whole
        if slot == OLD and declared is not None:
            return Part(lookup.optional_old if self.optional_old else lookup.old(read), 1)
        if read is None:
            return Part(lambda frame: frame[slot], 1)
        reader = read
        return Part(lambda frame: reader(frame[slot]), 1)

    def raw(self, node: Expr) -> tuple[Run, Declared, int] | None:
        """A path from a variable through fields, as a getter of JSON with what it is declared to be."""
        if isinstance(node, Ident):
            variable = self._find(node.name)
            if variable is None or variable.declared is None or (variable.slot == OLD and self.optional_old):
                return None
            slot = variable.slot
            return lambda frame: frame[slot], variable.declared, 1
        if not isinstance(node, Select) or node.test:
            return None
        below = self.raw(node.operand)
        if below is None or below[1].fields is None:
            return None
        getter, declared, cost = below
        field = declared.fields.get(node.name) if declared.fields is not None else None
        if field is None or declared.fields is None:
            return None
        key, name = declared.fields.key(node.name), node.name
        if isinstance(node.operand, Ident):
            return lookup.slot_getter(self._slot(node.operand), key, name), field, cost + 1
        return lookup.getter(getter, key, name), field, cost + 1

    def _slot(self, node: Ident) -> int:
        variable = self._find(node.name)
        return variable.slot if variable is not None else SELF

    def _select(self, node: Select) -> Part:
        if node.test:
            return self._test(node)
        raw = self.raw(node)
        if raw is not None:
            getter, declared, cost = raw
            read = declared.read
            return Part(lookup.reading(getter, read) if read is not None else getter, cost)
        if node.type.kind == "type" and self._is_type_name(node):
            constant = named_type(node.type.params[0])
            return Part(lambda frame: constant, 0)
        if node.type in _NAMED:
            # A variable or a constant whose name has a dot in it.
            whole = (qualified_name(node) or "").removeprefix(".")
            if whole in self.scopes[0]:
                return lookup.authorizer(whole, self.scopes[0][whole].slot)
            if whole in messages.CONSTANTS:
                number = messages.CONSTANTS[whole]
                return Part(lambda frame: number, 0)
        operand, cost = self._operand(node.operand)
        name = node.name
        kind = node.operand.type.kind
        if kind == "struct" and patches.made_type(node.operand.type.name) is not None:
            return Part(lambda frame: patches.select(operand(frame), name), cost + 1)
        if kind == "struct" and not self.plain and not self.optional_old:
            return Part(lambda frame: operand(frame).get(name), cost + 1)
        if kind == "map":
            return Part(lambda frame: core.index_map(operand(frame), name), cost + 1)
        return Part(lambda frame: core.select(operand(frame), name), cost + 1)

    def _is_type_name(self, node: Expr) -> bool:
        operand = node
        while isinstance(operand, Select):
            operand = operand.operand
        return isinstance(operand, Ident) and self._find(operand.name.removeprefix(".")) is None

    def _operand(self, node: Expr) -> Part:
        """What a field or an element is taken of: what is no path itself, becomes the start of one."""
        part = self.compile(node)
        return part if is_path(node) else Part(part.run, part.cost + 1)

    def _test(self, node: Select) -> Part:
        name = node.name
        raw = self.raw(node.operand)
        if raw is not None and raw[1].fields is not None:
            getter, cost = raw[0], raw[2]
            key = raw[1].fields.key(name)
            return Part(lambda frame: getter(frame).get(key) is not None, cost)
        operand, cost = self._operand(node.operand)
        if node.operand.type.kind == "struct" and patches.made_type(node.operand.type.name) is not None:
            return Part(lambda frame: patches.has(operand(frame), name), cost)
        return Part(lambda frame: core.has(operand(frame), name), cost)

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call) -> Part:
        function = node.function
        if function in ("_&&_", "_||_"):
            return operators.logical([self.compile(arg) for arg in node.args], stop=function == "_||_")
        if function == "_?_:_":
            return operators.conditional(
                self.compile(node.args[0]), self._within(node.args[1]), self._within(node.args[2])
            )
        if function == "_?._":
            return self._optional_field(node)
        if function in INDEXED:
            return self._index(node)
        args = [*([self.compile(node.target)] if node.target is not None else []), *map(self.compile, node.args)]
        if function in ("or", "orValue") and node.target is not None:
            return operators.otherwise(args[0], args[1], unwrap=function == "orValue")
        nodes = [*([node.target] if node.target is not None else []), *node.args]
        if function in ("_==_", "_!=_"):
            return operators.equality(nodes, args, negated=function == "_!=_")
        cost = sum(arg.cost for arg in args)
        if len(node.overloads) == 1:
            part = self._bound(BY_ID[node.overloads[0]], nodes, args, cost)
        else:
            part = self._dispatched(node, args, cost)
        run = part.run
        if not self.plain or function not in ("split", "findAll"):
            return part
        return Part(lambda frame: Texts(run(frame)), part.cost)

    def _index(self, node: Call) -> Part:
        container, (find, cost) = self._operand(node.args[0]), self._within(node.args[1])
        if node.function == "_[?_]" or unwrapped(node.args[0].type)[1]:
            return operators.sought(container.run, Part(find, cost), container.cost)
        cost += container.cost + 1
        if self._has_text_keys(node.args[0]) and _is_dynamic(node.args[1].type):
            return Part(operators.applied(node.function, core.index_texts, [container.run, find]), cost)
        if any(_is_dynamic(arg.type) for arg in node.args):
            return Part(operators.applied(node.function, core.index, [container.run, find]), cost)
        element = operators.applied(node.function, IMPLEMENTATIONS[node.overloads[0]], [container.run, find])
        if node.type == INT:
            return Part(lambda frame: reading.whole(element(frame)), cost)
        return Part(element, cost)

    def _has_text_keys(self, node: Expr) -> bool:
        """Whether it is a map as a schema describes it: nothing but a text can be asked of it."""
        raw = self.raw(node) if node.type.kind == "map" else None
        return raw is not None

    def _within(self, node: Expr) -> Part:
        """A branch or an index. To begin a path costs nothing there."""
        run, cost = self.compile(node)
        return Part(run, max(cost - 1, 0) if is_path(node) and not is_choice(node) else cost)

    def _optional_field(self, node: Call) -> Part:
        operand, cost = self._operand(node.args[0])
        field = node.args[1]
        name = str(field.value) if isinstance(field, Literal) else ""
        return operators.sought(operand, Part(lambda frame: name, 0), cost)

    def _bound(self, overload: Overload, nodes: Sequence[Expr], args: Sequence[Part], cost: int) -> Part:
        implementation = IMPLEMENTATIONS[overload.id]
        if overload.id == "in_list":
            implementation = operators.membership(nodes)
        elif overload.id == "in_map" and self._has_text_keys(nodes[1]):
            implementation = core.in_texts
        elif overload.id == "optional_ofNonZeroValue" and self.raw(nodes[0]) is not None:
            implementation = core.nonzero
        guard = self.plain or self.optional_old
        if any(_is_dynamic(node.type) for node in nodes):
            guard = True
        else:
            quick = operators.quick(overload.id, nodes, args, cost)
            if quick is not None:
                return quick
        if guard:
            # The reference takes calls with a pattern that it knows for another function.
            silent = overload.function in PATTERNED and self._constant(nodes[1]) is not None
            implementation = guarded(overload, implementation, silent=silent)
        else:
            implementation = looking(overload, implementation)
        spend = spend_of(overload.function, overload.id)
        fixed = self._constant(nodes[1]) if overload.id == "in_list" else None
        if fixed is not None and not fixed[0]:
            return Part(lambda frame: False, 0)
        if fixed is not None and all(kind_of(item) in _HASHED for item in fixed[0]):
            spend = 0
        if nodes and all(isinstance(node, Literal) for node in nodes):
            folded = _folded(implementation, spend, [node.value for node in nodes if isinstance(node, Literal)])
            if folded is not None:
                return folded
        runs = [operators.listed(arg.run) if overload.id in SELF_COMPARED else arg.run for arg in args]
        if isinstance(spend, int):
            return Part(operators.applied(overload.function, implementation, runs), cost + spend)
        known = overload.id in QUADRATIC
        return Part(operators.counted(overload.function, implementation, runs, spend, known=known), cost)

    def _dispatched(self, node: Call, args: Sequence[Part], cost: int) -> Part:
        """Which overload is meant shows only when the arguments are there."""
        dispatch = dispatcher(node.function, node.overloads)
        spend = spend_of(node.function, "")
        runs = [arg.run for arg in args]
        if isinstance(spend, int):
            return Part(operators.applied(node.function, dispatch, runs), cost + spend)
        return Part(operators.counted(node.function, dispatch, runs, spend), cost)

    # ------------------------------------------------------------------ aggregates and folds

    def _list(self, node: ListExpr) -> Part:
        parts = [self.compile(item) for item in node.items]
        runs = [part.run for part in parts]
        cost = 10 + sum(part.cost for part in parts)
        return Part(aggregates.listed(runs, node.optional, self.list), cost)

    def _map(self, node: MapExpr) -> Part:
        entries = [(self.compile(e.key), self.compile(e.value), e.optional) for e in node.entries]
        cost = 30 + sum(key.cost + value.cost for key, value, _ in entries)
        return Part(aggregates.mapped(entries, self.map), cost)

    def _struct(self, node: StructExpr) -> Part:
        fields = [(name, self.compile(value), optional) for _, name, value, optional in node.fields]
        make = patches.maker(node.type) or messages.maker(node.name.removeprefix("."))
        run = patches.construct(make, [(name, part.run, optional) for name, part, optional in fields])
        return Part(run, 40 + sum(part.cost for _, part, _ in fields))

    def _comprehension(self, node: Comprehension) -> Part:
        part = self._folded(node)
        if not self.plain or node.is_bind or node.type.kind not in ("list", "map"):
            return part
        run, built = part.run, self.list if node.type.kind == "list" else self.map
        return Part(lambda frame: built(run(frame)), part.cost)

    def _folded(self, node: Comprehension) -> Part:
        if node.is_bind:
            return self._bind(node)
        raw = self.raw(node.range)
        elem = raw[1].elem if raw is not None and len(node.variables) == 1 else None
        if raw is not None and elem is not None and elem.fields is not None and raw[1].type.kind == "list":
            ranged = Part(raw[0], raw[2])
        else:
            elem = None
            ranged = self.compile(node.range)
        slots = [self._new_slot() for _ in node.variables]
        scope = {name: _Variable(slot, None) for name, slot in zip(node.variables, slots, strict=True)}
        if elem is not None:
            scope[node.variables[0]] = _Variable(slots[0], elem)
        if node.macro in ("all", "exists", "exists_one", "list"):
            self.scopes.append(scope)
            parts = [self.compile(part) for part in node.parts]
            fixed = self._constant(node.parts[0]) is not None
            self.scopes.pop()
            return folds.fold(node.macro, ranged, slots, parts, fixed=fixed)
        accumulator = self._new_slot()
        initial = self.compile(node.initial)
        self.scopes.append({node.accumulator: _Variable(accumulator, None, total=True)})
        self.scopes.append(scope)
        step = self.compile(node.step)
        self.scopes.pop()
        self.scopes.pop()
        return folds.general(ranged, slots, accumulator, initial, step)

    def _bind(self, node: Comprehension) -> Part:
        slot = self._new_slot()
        value = self.compile(node.initial)
        self.scopes.append({node.accumulator: _Variable(slot, None, total=True)})
        body = self.compile(node.result)
        self.scopes.pop()
        return folds.bound(slot, value, body)

    def _new_slot(self) -> int:
        self.size += 1
        return self.size - 1


def _folded(implementation: Callable[..., Any], spend: Spend | int, values: list[Any]) -> Part | None:
    """A call of constants, made once; None if it fails, to fail when it is run."""
    try:
        result = implementation(*values)
    except (*FAILURES, CostExceeded):
        return None
    return Part(lambda frame: result, spend if isinstance(spend, int) else spend(values, result))


def _is_dynamic(t: Type) -> bool:
    return t.kind in ("dyn", "error", "param") or any(_is_dynamic(p) for p in t.params if t.kind != "type")
