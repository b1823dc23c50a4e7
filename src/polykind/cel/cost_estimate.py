"""Cost estimate of an expression for the largest values that its schema allows. Follows cel-go's checker/cost.go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from polykind.cel.ast import ACCUMULATOR, Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, children
from polykind.cel.call_cost_estimate import (
    ESTIMATORS_BY_FUNCTION,
    ESTIMATORS_BY_OVERLOAD,
    MAX_UINT64,
    ONE,
    REGEX_STRING_LENGTH_FACTOR,
    STRING_TRAVERSAL_FACTOR,
    UNKNOWN,
    ZERO,
    Argument,
    CallEstimate,
    EstimatedCall,
    Range,
    exactly,
)
from polykind.cel.cel_types import Type, unwrap_optional
from polykind.cel.runtime_cost import COMPARISON_OVERLOADS
from polykind.cel.schema_types import DeclType

_STRUCT_COST = exactly(40)
_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


class _Entry(NamedTuple):
    """The sizes of the elements of a list or map: `key` is the size of its indexes or keys, `value` of its values."""

    kind: str
    key: Range
    value: Range

    def union(self, other: _Entry | None) -> _Entry | None:
        if other is None:
            return None
        return _Entry(self.kind, self.key.union(other.key), self.value.union(other.value))


class _Local(NamedTuple):
    """An iteration or accumulator variable: the schema path, size and element sizes of its value, as far as known."""

    path: tuple[str, ...]
    size: Range | None
    entry: _Entry | None


def estimate_cost(ast: Expr, decl_type: DeclType) -> Range:
    """Return the minimum and maximum cost of a checked expression whose variables have the declared type."""
    return _Estimator(decl_type).cost(ast)


class _Estimator:
    """Estimates the cost of one AST. Stores each node's path and sizes, which the parent nodes need."""

    def __init__(self, decl_type: DeclType) -> None:
        self.root = decl_type
        self.paths: dict[Expr, tuple[str, ...]] = {}
        self.sizes: dict[Expr, Range] = {}
        self.entries: dict[Expr, _Entry] = {}
        self.locals: dict[str, list[_Local]] = {}

    def size_at(self, path: tuple[str, ...]) -> Range | None:
        if not path:
            return None
        node: DeclType | None = self.root
        for name in path[1:]:
            if node is None:
                return None
            if name in ("@items", "@values"):
                node = node.elem
            elif name == "@keys":
                node = node.key
            else:
                node = node.fields.get(name) if node.fields is not None else None
        return Range(0, node.max_elements) if node is not None else None

    def cost(self, node: Expr) -> Range:
        if isinstance(node, Literal):
            return ZERO
        if isinstance(node, Ident):
            local = self._local(node.name)
            self.paths[node] = local.path if local is not None else (node.name,)
            return ONE
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
        cost = _STRUCT_COST
        for child in children(node):
            cost = cost.plus(self.cost(child))
        return cost

    # ------------------------------------------------------------------ paths and sizes of nodes

    def _local(self, name: str) -> _Local | None:
        stack = self.locals.get(name)
        return stack[-1] if stack else None

    def _path(self, node: Expr) -> tuple[str, ...]:
        if isinstance(node, Ident):
            local = self._local(node.name)
            if local is not None:
                return local.path
        return self.paths.get(node, ())

    def _size(self, node: Expr) -> Range | None:
        size = self.sizes.get(node) or _literal_size(node)
        if size is not None:
            return size
        size = self.size_at(self._path(node))
        if size is not None:
            self.sizes[node] = size
            return size
        if _is_scalar(node.type):
            return ONE
        if isinstance(node, Ident):
            local = self._local(node.name)
            if local is not None:
                return local.size
        return None

    def _size_or_unknown(self, node: Expr) -> Range:
        return self._size(node) or UNKNOWN

    def _entry(self, node: Expr) -> _Entry | None:
        entry = self.entries.get(node)
        if entry is not None:
            return entry
        if isinstance(node, Ident):
            local = self._local(node.name)
            return local.entry if local is not None else None
        return None

    def _record(self, node: Expr, size: Range | None, entry: _Entry | None = None) -> None:
        if size is not None:
            self.sizes[node] = size
        if entry is not None:
            self.entries[node] = entry

    def _argument(self, node: Expr) -> Argument:
        path = self._path(node)
        if path and path[0] in (ACCUMULATOR, "__result__"):
            path = ()
        return Argument(node, path, self._size(node))

    # ------------------------------------------------------------------ simple nodes

    def _select(self, node: Select) -> Range:
        if node.type.kind == "type":
            # A type name that contains dots.
            self.paths[node] = (node.name,)
            return ONE
        cost = self.cost(node.operand)
        if node.test_only:
            return cost
        if node.operand.type.kind in ("map", "struct"):
            cost = cost.plus(ONE)
        self.paths[node] = (*self._path(node.operand), node.name)
        return cost

    def _list(self, node: ListExpr) -> Range:
        total = ZERO
        items = Range(MAX_UINT64 if node.items else 0, 0)
        for item in node.items:
            total = total.plus(self.cost(item))
            items = items.union(self._size_or_unknown(item))
        self.entries[node] = _Entry("list", ONE, items)
        return total.plus(exactly(10))

    def _map(self, node: MapExpr) -> Range:
        total = ZERO
        keys = values = Range(MAX_UINT64 if node.entries else 0, 0)
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            keys = keys.union(self._size_or_unknown(entry.key))
            values = values.union(self._size_or_unknown(entry.value))
        self.entries[node] = _Entry("map", keys, values)
        return total.plus(exactly(30))

    # ------------------------------------------------------------------ comprehensions

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _comprehension(self, node: Comprehension) -> Range:
        total = self.cost(node.iter_range).plus(self.cost(node.accu_init))
        self._push(
            node.accu_var, _Local(self._path(node.accu_init), self._size(node.accu_init), self._entry(node.accu_init))
        )
        self._push_variables(node)
        iteration_cost = self.cost(node.loop_condition).plus(self.cost(node.loop_step))
        for name in node.iter_vars:
            self.locals[name].pop()
        total = total.plus(self.cost(node.result))
        self.locals[node.accu_var].pop()
        count = self._size_or_unknown(node.iter_range)
        total = total.plus(count.times(iteration_cost))
        if isinstance(node.accu_init, Literal):
            self._record(node, self._size(node.accu_init))
        elif isinstance(node.accu_init, ListExpr | MapExpr):
            self._record(node, count, self._entry(node.loop_step))
        return total

    def _push_variables(self, node: Comprehension) -> None:
        entry, path = self._entry(node.iter_range), self._path(node.iter_range)
        kind = entry.kind if entry is not None else node.iter_range.type.kind
        is_list = kind == "list"
        keys = entry.key if entry is not None else None
        values = entry.value if entry is not None else None
        if len(node.iter_vars) == 2:
            self._push(node.iter_vars[0], _Local((*path, "@indices" if is_list else "@keys"), keys, None))
            self._push(node.iter_vars[1], _Local((*path, "@items" if is_list else "@values"), values, None))
        elif is_list:
            self._push(node.iter_vars[0], _Local((*path, "@items"), values, None))
        else:
            self._push(node.iter_vars[0], _Local((*path, "@keys"), keys, None))

    def _bind(self, node: Comprehension) -> Range:
        total = self.cost(node.iter_range).plus(self.cost(node.accu_init))
        self._push(
            node.accu_var, _Local(self._path(node.accu_init), self._size(node.accu_init), self._entry(node.accu_init))
        )
        total = total.plus(self.cost(node.result))
        size, entry = self._size(node.result), self._entry(node.result)
        self.locals[node.accu_var].pop()
        self._record(node, size, entry)
        return total

    # ------------------------------------------------------------------ calls

    def _call(self, node: Call) -> Range:
        if node.function == "dyn":
            cost = self.cost(node.args[0])
            self._record(node, self._size(node.args[0]), self._entry(node.args[0]))
            return cost.plus(ONE)
        costs: list[Range] = []
        args: list[Argument] = []
        for arg in node.args:
            costs.append(self.cost(arg))
            args.append(self._argument(arg))
        if not node.overloads:
            return ZERO
        total = ZERO
        if node.target is not None:
            total = self.cost(node.target)
            args.insert(0, self._argument(node.target))
        cost = Range(MAX_UINT64, 0)
        result: Range | None = None
        for overload in node.overloads:
            estimate = self._overload_estimate(node, EstimatedCall(args, self.size_at, overload), costs)
            cost = cost.union(estimate.cost)
            if estimate.result_size is not None:
                result = estimate.result_size if result is None else result.union(estimate.result_size)
            if overload in ("index_list", "index_map") and node.args:
                entry = self._entry(node.args[0])
                result = entry.value if entry is not None else None
                step = "@items" if overload == "index_list" else "@values"
                self.paths[node] = (*self._path(node.args[0]), step)
            if result is None:
                result = self._size(node)
        self._record(node, result)
        return total.plus(cost)

    def _overload_estimate(self, node: Call, call: EstimatedCall, costs: Sequence[Range]) -> CallEstimate:
        """Estimate the cost of a call to one overload, including its arguments."""
        overload, args, args_cost = call.overload, call.args, ZERO
        for cost in costs:
            args_cost = args_cost.plus(cost)
        for estimator in (ESTIMATORS_BY_OVERLOAD.get(overload), ESTIMATORS_BY_FUNCTION.get(node.function)):
            estimate = estimator(call) if estimator is not None else None
            if estimate is not None:
                return CallEstimate(estimate.cost.plus(args_cost), estimate.result_size)
        if overload in ("logical_and", "logical_or"):
            return CallEstimate(Range(costs[0].min, args_cost.max))
        if overload == "conditional":
            return self._conditional(node, args, costs)
        if overload in ("add_string", "add_bytes", "add_list"):
            return self._concatenation(node, overload, args, args_cost)
        standard = _standard_estimate(call)
        return CallEstimate(standard.cost.plus(args_cost), standard.result_size)

    def _conditional(self, node: Call, args: Sequence[Argument], costs: Sequence[Range]) -> CallEstimate:
        size = (args[1].size or UNKNOWN).union(args[2].size or UNKNOWN)
        entry = self._entry(node.args[1])
        self._record(node, None, entry.union(self._entry(node.args[2])) if entry is not None else None)
        return CallEstimate(costs[0].plus(costs[1].union(costs[2])), size)

    def _concatenation(self, node: Call, overload: str, args: Sequence[Argument], args_cost: Range) -> CallEstimate:
        size = (args[0].size or UNKNOWN).plus(args[1].size or UNKNOWN)
        entry = self._entry(node.args[0])
        self._record(node, None, entry.union(self._entry(node.args[1])) if entry is not None else None)
        cost = ONE if overload == "add_list" else size.scaled(STRING_TRAVERSAL_FACTOR)
        return CallEstimate(cost.plus(args_cost), size)


def _standard_estimate(call: EstimatedCall) -> CallEstimate:
    """Estimate the cost of a function of CEL's standard library."""
    overload = call.overload
    if overload in COMPARISON_OVERLOADS:
        max_size = min(call.size(0).max, call.size(1).max)
        return CallEstimate(Range(1 if max_size > 0 else 0, max_size).scaled(STRING_TRAVERSAL_FACTOR))
    if overload in ("starts_with_string", "ends_with_string"):
        return CallEstimate(call.size(1).scaled(STRING_TRAVERSAL_FACTOR))
    if overload == "in_list":
        return CallEstimate(call.size(1).scaled(1))
    size = call.size(0) if call.args else ZERO
    traversal = size.scaled(STRING_TRAVERSAL_FACTOR)
    if overload == "string_to_bytes":
        return CallEstimate(traversal, Range(size.min, size.max * 4 % 2**64))
    if overload == "bytes_to_string":
        return CallEstimate(traversal, Range(size.min // 4, size.max))
    if overload == "strings_quote":
        return CallEstimate(traversal, Range((size.min + 2) % 2**64, (size.max * 2 + 2) % 2**64))
    if overload == "string_format":
        return CallEstimate(traversal)
    if overload == "matches_string":
        cost = size.plus(ONE).scaled(STRING_TRAVERSAL_FACTOR)
        return CallEstimate(cost.times(call.size(1).scaled(REGEX_STRING_LENGTH_FACTOR)))
    if overload == "contains_string":
        return CallEstimate(traversal.times(call.size(1).scaled(STRING_TRAVERSAL_FACTOR)))
    return CallEstimate(ONE)


def _literal_size(node: Expr) -> Range | None:
    if isinstance(node, Literal):
        value = node.value
        return exactly(len(value)) if isinstance(value, str | bytes) else ONE
    if isinstance(node, ListExpr):
        return exactly(len(node.items))
    if isinstance(node, MapExpr):
        return exactly(len(node.entries))
    return None


def _is_scalar(t: Type) -> bool:
    value_type, optional = unwrap_optional(t)
    return _is_scalar(value_type) if optional else t.kind in _SCALARS
