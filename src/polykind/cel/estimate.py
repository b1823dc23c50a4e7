"""The most that an expression can cost, for the largest values its schema allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from polykind.cel.bounds import LARGEST, NOTHING, UNKNOWN, Bounds, fixed
from polykind.cel.callcost import BY_FUNCTION, BY_OVERLOAD, Argument, CallCost
from polykind.cel.declared import Declared
from polykind.cel.tree import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    children,
)
from polykind.cel.types import Type, unwrapped

_ONCE = 0.1
_REGEX = 0.25
_ONE = fixed(1)
_STRUCT = fixed(40)
_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_COMPARED = frozenset(
    [f"{word}_{kind}" for word in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")]
    + ["equals", "not_equals"]
)


class _Entry(NamedTuple):
    """The sizes of a container's keys (or indexes) and values."""

    kind: str
    key: Bounds
    value: Bounds

    def union(self, other: _Entry | None) -> _Entry | None:
        if other is None:
            return None
        return _Entry(self.kind, self.key.union(other.key), self.value.union(other.value))


class _Local(NamedTuple):
    path: tuple[str, ...]
    size: Bounds | None
    entry: _Entry | None


def estimate(tree: Expr, declared: Declared) -> Bounds:
    return _Estimator(declared).cost(tree)


class _Estimator:
    """One walk over one tree; what it learns of sizes is kept by node."""

    def __init__(self, declared: Declared) -> None:
        self.root = declared
        self.paths: dict[Expr, tuple[str, ...]] = {}
        self.sizes: dict[Expr, Bounds] = {}
        self.entries: dict[Expr, _Entry] = {}
        self.locals: dict[str, list[_Local]] = {}

    def at(self, path: tuple[str, ...]) -> Bounds | None:
        if not path:
            return None
        node: Declared | None = self.root
        for name in path[1:]:
            if node is None:
                return None
            if name in ("@items", "@values"):
                node = node.elem
            elif name == "@keys":
                node = node.key
            else:
                node = node.fields.get(name) if node.fields is not None else None
        return Bounds(0, node.largest) if node is not None else None

    def cost(self, node: Expr) -> Bounds:
        if isinstance(node, Literal):
            return NOTHING
        if isinstance(node, Ident):
            local = self._local(node.name)
            self.paths[node] = local.path if local is not None else (node.name,)
            return _ONE
        if isinstance(node, Select):
            return self._select(node)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, ListExpr):
            return self._list(node)
        if isinstance(node, MapExpr):
            return self._map(node)
        if isinstance(node, Comprehension):
            return self._bind(node) if node.is_bind else self._comprehension(node)
        cost = _STRUCT
        for child in children(node):
            cost = cost.plus(self.cost(child))
        return cost

    # ------------------------------------------------------------------ what is known of a node

    def _local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def _path(self, node: Expr) -> tuple[str, ...]:
        if isinstance(node, Ident):
            local = self._local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(node, ())

    def _size(self, node: Expr) -> Bounds | None:
        known = self.sizes.get(node)
        if known is not None:
            return known
        literal = _literal_size(node)
        if literal is not None:
            return literal
        declared = self.at(self._path(node))
        if declared is not None:
            self.sizes[node] = declared
            return declared
        if _is_scalar(node.type):
            return _ONE
        if isinstance(node, Ident):
            local = self._local(node.name)
            if local is not None:
                return local.size
        return None

    def _size_or_unknown(self, node: Expr) -> Bounds:
        return self._size(node) or UNKNOWN

    def _entry(self, node: Expr) -> _Entry | None:
        known = self.entries.get(node)
        if known is not None:
            return known
        if isinstance(node, Ident):
            local = self._local(node.name)
            return local.entry if local is not None else None
        return None

    def _keep(self, node: Expr, size: Bounds | None, entry: _Entry | None = None) -> None:
        if size is not None:
            self.sizes[node] = size
        if entry is not None:
            self.entries[node] = entry

    def _argument(self, node: Expr) -> Argument:
        path = self._path(node)
        if path and path[0] in (ACCUMULATOR, "__result__"):
            path = ()
        return Argument(node, node.type, path, self._size(node))

    # ------------------------------------------------------------------ simple nodes

    def _select(self, node: Select) -> Bounds:
        if node.type.kind == "type":
            # The name of a type, with dots in it.
            self.paths[node] = (node.name,)
            return _ONE
        cost = self.cost(node.operand)
        if node.test:
            return cost
        if node.operand.type.kind in ("map", "struct"):
            cost = cost.plus(_ONE)
        self.paths[node] = (*self._path(node.operand), node.name)
        return cost

    def _list(self, node: ListExpr) -> Bounds:
        total = NOTHING
        items = Bounds(LARGEST if node.items else 0, 0)
        for item in node.items:
            total = total.plus(self.cost(item))
            items = items.union(self._size_or_unknown(item))
        self.entries[node] = _Entry("list", _ONE, items)
        return total.plus(fixed(10))

    def _map(self, node: MapExpr) -> Bounds:
        total = NOTHING
        keys = values = Bounds(LARGEST if node.entries else 0, 0)
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys = keys.union(self._size_or_unknown(entry.key))
            values = values.union(self._size_or_unknown(entry.value))
        self.entries[node] = _Entry("map", keys, values)
        return total.plus(fixed(30))

    # ------------------------------------------------------------------ folds

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _comprehension(self, node: Comprehension) -> Bounds:
        total = self.cost(node.range).plus(self.cost(node.initial))
        self._push(
            node.accumulator, _Local(self._path(node.initial), self._size(node.initial), self._entry(node.initial))
        )
        self._push_variables(node)
        each = self.cost(node.condition).plus(self.cost(node.step))
        for name in node.variables:
            self.locals[name].pop()
        total = total.plus(self.cost(node.result))
        self.locals[node.accumulator].pop()
        count = self._size_or_unknown(node.range)
        total = total.plus(count.times(each))
        if isinstance(node.initial, Literal):
            self._keep(node, self._size(node.initial))
        elif isinstance(node.initial, ListExpr | MapExpr):
            self._keep(node, count, self._entry(node.step))
        return total

    def _push_variables(self, node: Comprehension) -> None:
        entry, path = self._entry(node.range), self._path(node.range)
        kind = entry.kind if entry is not None else node.range.type.kind
        is_list = kind == "list"
        keys = entry.key if entry is not None else None
        values = entry.value if entry is not None else None
        if len(node.variables) == 2:
            self._push(node.variables[0], _Local((*path, "@indices" if is_list else "@keys"), keys, None))
            self._push(node.variables[1], _Local((*path, "@items" if is_list else "@values"), values, None))
        elif is_list:
            self._push(node.variables[0], _Local((*path, "@items"), values, None))
        else:
            self._push(node.variables[0], _Local((*path, "@keys"), keys, None))

    def _bind(self, node: Comprehension) -> Bounds:
        total = self.cost(node.range).plus(self.cost(node.initial))
        self._push(
            node.accumulator, _Local(self._path(node.initial), self._size(node.initial), self._entry(node.initial))
        )
        total = total.plus(self.cost(node.result))
        size, entry = self._size(node.result), self._entry(node.result)
        self.locals[node.accumulator].pop()
        self._keep(node, size, entry)
        return total

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call) -> Bounds:
        if node.function == "dyn":
            cost = self.cost(node.args[0])
            self._keep(node, self._size(node.args[0]), self._entry(node.args[0]))
            return cost.plus(_ONE)
        costs: list[Bounds] = []
        args: list[Argument] = []
        for arg in node.args:
            costs.append(self.cost(arg))
            args.append(self._argument(arg))
        if not node.overloads:
            return NOTHING
        total, target = NOTHING, None
        if node.target is not None:
            total = self.cost(node.target)
            target = self._argument(node.target)
        spent = Bounds(LARGEST, 0)
        result: Bounds | None = None
        for overload in node.overloads:
            found = self._overload(node, overload, target, args, costs)
            spent = spent.union(found.cost)
            if found.result is not None:
                result = found.result if result is None else result.union(found.result)
            if overload in ("index_list", "index_map") and node.args:
                entry = self._entry(node.args[0])
                result = entry.value if entry is not None else None
                step = "@items" if overload == "index_list" else "@values"
                self.paths[node] = (*self._path(node.args[0]), step)
            if result is None:
                result = self._size(node)
        self._keep(node, result)
        return total.plus(spent)

    def _overload(
        self, node: Call, overload: str, target: Argument | None, args: Sequence[Argument], costs: Sequence[Bounds]
    ) -> CallCost:
        given = NOTHING
        for cost in costs:
            given = given.plus(cost)
        for known in (BY_OVERLOAD.get(overload), BY_FUNCTION.get(node.function)):
            found = known(target, args, self, overload) if known is not None else None
            if found is not None:
                return CallCost(found.cost.plus(given), found.result)
        if overload in ("logical_and", "logical_or"):
            return CallCost(Bounds(costs[0].low, given.high))
        if overload == "conditional":
            return self._conditional(node, args, costs)
        if overload in ("add_string", "add_bytes", "add_list"):
            return self._added(node, overload, args, given)
        own = _standard(overload, target, args)
        return CallCost(own.cost.plus(given), own.result)

    def _conditional(self, node: Call, args: Sequence[Argument], costs: Sequence[Bounds]) -> CallCost:
        size = (args[1].size or UNKNOWN).union(args[2].size or UNKNOWN)
        entry = self._entry(node.args[1])
        self._keep(node, None, entry.union(self._entry(node.args[2])) if entry is not None else None)
        return CallCost(costs[0].plus(costs[1].union(costs[2])), size)

    def _added(self, node: Call, overload: str, args: Sequence[Argument], given: Bounds) -> CallCost:
        size = (args[0].size or UNKNOWN).plus(args[1].size or UNKNOWN)
        entry = self._entry(node.args[0])
        self._keep(node, None, entry.union(self._entry(node.args[1])) if entry is not None else None)
        cost = _ONE if overload == "add_list" else size.scaled(_ONCE)
        return CallCost(cost.plus(given), size)


def _standard(overload: str, target: Argument | None, args: Sequence[Argument]) -> CallCost:
    """The functions every expression has."""

    def known(arg: Argument) -> Bounds:
        return arg.size or UNKNOWN

    if overload in _COMPARED:
        most = min(known(args[0]).high, known(args[1]).high)
        return CallCost(Bounds(1 if most > 0 else 0, most).scaled(_ONCE))
    if overload in ("starts_with_string", "ends_with_string"):
        return CallCost(known(args[0]).scaled(_ONCE))
    if overload == "in_list":
        return CallCost(known(args[1]).scaled(1))
    if overload == "string_to_bytes":
        size = known(args[0])
        return CallCost(size.scaled(_ONCE), Bounds(size.low, size.high * 4 % 2**64))
    if overload == "bytes_to_string":
        size = known(args[0])
        return CallCost(size.scaled(_ONCE), Bounds(size.low // 4, size.high))
    if overload == "strings_quote":
        size = known(args[0])
        return CallCost(size.scaled(_ONCE), Bounds((size.low + 2) % 2**64, (size.high * 2 + 2) % 2**64))
    if target is not None:
        if overload == "string_format":
            return CallCost(known(target).scaled(_ONCE))
        if overload == "matches_string":
            cost = known(target).plus(_ONE).scaled(_ONCE)
            return CallCost(cost.times(known(args[0]).scaled(_REGEX)))
        if overload == "contains_string":
            return CallCost(known(target).scaled(_ONCE).times(known(args[0]).scaled(_ONCE)))
    return CallCost(_ONE)


def _literal_size(node: Expr) -> Bounds | None:
    if isinstance(node, Literal):
        value = node.value
        return fixed(len(value)) if isinstance(value, str | bytes) else _ONE
    if isinstance(node, ListExpr):
        return fixed(len(node.items))
    if isinstance(node, MapExpr):
        return fixed(len(node.entries))
    return None


def _is_scalar(t: Type) -> bool:
    held, optional = unwrapped(t)
    return _is_scalar(held) if optional else t.kind in _SCALARS
