"""Checked trees made into Python closures that count what they cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from polykind.cel import folds, lookup, messages, operators, patches, reading
from polykind.cel.declared import Declared
from polykind.cel.dispatch import dispatcher, guarded
from polykind.cel.frame import OLD, SELF, Frame, Part, Run
from polykind.cel.library import IMPLEMENTATIONS, core
from polykind.cel.overloads import BY_ID, Overload
from polykind.cel.spending import QUADRATIC, Spend, spend_of
from polykind.cel.tree import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
    qualified_name,
)
from polykind.cel.types import AUTHORIZATION, INT, Type
from polykind.cel.values import (
    FAILURES,
    BuiltList,
    BuiltMap,
    CostExceeded,
    Texts,
    named_type,
)

_AUTHORIZERS = frozenset(AUTHORIZATION.values())
_NAMED = _AUTHORIZERS | {INT}


class _Variable(NamedTuple):
    """Where a variable lies; with `declared`, as the JSON it was."""

    slot: int
    declared: Declared | None


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
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListExpr):
            return self._list(node)
        if isinstance(node, MapExpr):
            return self._map(node)
        if isinstance(node, StructExpr):
            return self._struct(node)
        return self._comprehension(node)

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
        slot, declared = variable
        if node.type in _AUTHORIZERS:
            return lookup.authorizer(node.name.removeprefix("."), slot)
        read = declared.read if declared is not None else None
        if read is None and node.type == INT:
            # Items are not looked at when their list is read.
            read = reading.whole
        if slot == OLD and self.optional_old:
            return Part(lookup.old_reader(read), 1)
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
        operand, cost = self.compile(node.operand)
        name = node.name
        kind = node.operand.type.kind
        if kind == "struct" and patches.made_type(node.operand.type.name) is not None:
            return Part(lambda frame: patches.select(operand(frame), name), cost + 1)
        if kind == "struct" and not self.plain:
            return Part(lambda frame: operand(frame).get(name), cost + 1)
        if kind == "map":
            return Part(lambda frame: core.index_map(operand(frame), name), cost + 1)
        return Part(lambda frame: core.select(operand(frame), name), cost + 1)

    def _is_type_name(self, node: Select) -> bool:
        operand: Expr = node
        while isinstance(operand, Select):
            operand = operand.operand
        return isinstance(operand, Ident) and self._find(operand.name) is None

    def _test(self, node: Select) -> Part:
        name = node.name
        raw = self.raw(node.operand)
        if raw is not None and raw[1].fields is not None:
            getter, cost = raw[0], raw[2]
            key = raw[1].fields.key(name)
            return Part(lambda frame: getter(frame).get(key) is not None, cost)
        operand, cost = self.compile(node.operand)
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
                self.compile(node.args[0]), self._branch(node.args[1]), self._branch(node.args[2])
            )
        if function == "_?._":
            return self._optional_field(node)
        args = [*([self.compile(node.target)] if node.target is not None else []), *map(self.compile, node.args)]
        if function in ("or", "orValue") and node.target is not None:
            return operators.otherwise(args[0], args[1], unwrap=function == "orValue")
        nodes = [*([node.target] if node.target is not None else []), *node.args]
        if function in ("_==_", "_!=_"):
            return operators.equality(nodes, args, negated=function == "_!=_")
        cost = sum(arg.cost for arg in args)
        if function in ("_[_]", "_[?_]") and any(_is_dynamic(arg.type) for arg in nodes):
            find = core.index if function == "_[_]" else core.optional_index
            return Part(operators.applied(find, [arg.run for arg in args]), cost + 1)
        if len(node.overloads) == 1:
            part = self._bound(BY_ID[node.overloads[0]], nodes, args, cost)
        else:
            part = self._dispatched(node, args, cost)
        run = part.run
        if function == "_[_]" and node.type == INT:
            return Part(lambda frame: reading.whole(run(frame)), part.cost)
        if not self.plain or function not in ("split", "findAll"):
            return part
        return Part(lambda frame: Texts(run(frame)), part.cost)

    def _branch(self, node: Expr) -> Part:
        """A branch that is but a variable or a field of one: looking up the variable costs nothing there."""
        run, cost = self.compile(node)
        return Part(run, max(cost - 1, 0) if isinstance(node, Ident | Select) else cost)

    def _optional_field(self, node: Call) -> Part:
        operand, cost = self.compile(node.args[0])
        field = node.args[1]
        name = str(field.value) if isinstance(field, Literal) else ""
        return Part(lambda frame: core.optional_index(operand(frame), name), cost + 1)

    def _bound(self, overload: Overload, nodes: Sequence[Expr], args: Sequence[Part], cost: int) -> Part:
        implementation = IMPLEMENTATIONS[overload.id]
        if overload.id == "in_list":
            implementation = operators.membership(nodes)
        dynamic = any(_is_dynamic(node.type) for node in nodes)
        if not dynamic:
            quick = operators.quick(overload.id, nodes, args, cost)
            if quick is not None:
                return quick
        else:
            implementation = guarded(overload, implementation)
        spend = spend_of(overload.function, overload.id)
        if overload.id == "in_list" and _is_constant(nodes[1]):
            spend = 0
        if nodes and all(isinstance(node, Literal) for node in nodes):
            folded = _folded(implementation, spend, [node.value for node in nodes if isinstance(node, Literal)])
            if folded is not None:
                return folded
        runs = [arg.run for arg in args]
        if isinstance(spend, int):
            return Part(operators.applied(implementation, runs), cost + spend)
        return Part(operators.counted(implementation, runs, spend, known=overload.id in QUADRATIC), cost)

    def _dispatched(self, node: Call, args: Sequence[Part], cost: int) -> Part:
        """Which overload is meant shows only when the arguments are there."""
        dispatch = dispatcher(node.function, node.overloads)
        spend = spend_of(node.function, "")
        runs = [arg.run for arg in args]
        if isinstance(spend, int):
            return Part(operators.applied(dispatch, runs), cost + spend)
        return Part(operators.counted(dispatch, runs, spend), cost)

    # ------------------------------------------------------------------ aggregates and folds

    def _list(self, node: ListExpr) -> Part:
        if _is_constant(node):
            constants = self.list(item.value for item in node.items if isinstance(item, Literal))
            return Part(lambda frame: constants, 0)
        parts = [self.compile(item) for item in node.items]
        runs = [part.run for part in parts]
        cost = 10 + sum(part.cost for part in parts)
        if not node.optional:
            if self.plain:
                return Part(lambda frame: BuiltList([run(frame) for run in runs]), cost)
            return Part(lambda frame: [run(frame) for run in runs], cost)
        optional, empty = node.optional, self.list

        def build(frame: Frame) -> list[Any]:
            found = empty()
            for index, run in enumerate(runs):
                value = run(frame)
                if index not in optional:
                    found.append(value)
                elif value.present:
                    found.append(value.value)
            return found

        return Part(build, cost)

    def _map(self, node: MapExpr) -> Part:
        if all(isinstance(e.key, Literal) and isinstance(e.value, Literal) and not e.optional for e in node.entries):
            constants = self.map({e.key.value: e.value.value for e in node.entries})  # type: ignore[union-attr]
            return Part(lambda frame: constants, 0)
        entries = [(self.compile(e.key), self.compile(e.value), e.optional) for e in node.entries]
        cost = 30 + sum(key.cost + value.cost for key, value, _ in entries)
        empty = self.map

        def build(frame: Frame) -> dict[Any, Any]:
            found = empty()
            for key, value, optional in entries:
                name, item = key.run(frame), value.run(frame)
                if optional:
                    if not item.present:
                        continue
                    item = item.value
                found[name] = item
            return found

        return Part(build, cost)

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
            self.scopes.pop()
            return folds.fold(node.macro, ranged, slots, parts)
        accumulator = self._new_slot()
        initial = self.compile(node.initial)
        self.scopes.append({node.accumulator: _Variable(accumulator, None)})
        self.scopes.append(scope)
        step = self.compile(node.step)
        self.scopes.pop()
        self.scopes.pop()
        return folds.general(ranged, slots, accumulator, initial, step)

    def _bind(self, node: Comprehension) -> Part:
        slot = self._new_slot()
        value = self.compile(node.initial)
        self.scopes.append({node.accumulator: _Variable(slot, None)})
        body = self.compile(node.result)
        self.scopes.pop()

        def run(frame: Frame) -> Any:
            frame[slot] = value.run(frame)
            return body.run(frame)

        return Part(run, value.cost + body.cost)

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


def _is_constant(node: Expr) -> bool:
    return isinstance(node, ListExpr) and not node.optional and all(isinstance(item, Literal) for item in node.items)


def _is_dynamic(t: Type) -> bool:
    return t.kind in ("dyn", "error", "param") or any(_is_dynamic(p) for p in t.params if t.kind != "type")
