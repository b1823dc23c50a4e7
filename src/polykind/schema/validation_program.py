"""Programs that decide whether a value is valid; they agree exactly with the slow rules, and ask those if in doubt."""

from __future__ import annotations

from functools import partial
from typing import Any

from polykind.errors import FieldError
from polykind.golang.regexp import Pattern
from polykind.golang.strconv import float_to_int64
from polykind.schema.codegen import FunctionBody, Program
from polykind.schema.embedded_resources import validate_embedded
from polykind.schema.list_types import validate_list_type, validate_list_types
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.schema.numeric_validation import is_in_range
from polykind.schema.pruning import effective_default
from polykind.schema.string_formats import format_check
from polykind.schema.value_validation import validate_value

_MANY_PROPERTIES = 40
_BUILTINS = (type, len, str, int, float, bool, dict, list)
_PLAIN = {"string": "str", "integer": "int", "boolean": "bool", "object": "dict", "array": "list"}


class ValidationProgramWriter:
    """Writes the programs for the nodes of one schema. A program returns False for what the slow rules would refuse.

    Below a junctor only values count (`bare`), elsewhere lists of type set and map and embedded resources as well.
    A `tidy` judge is not exact: it accepts only what is valid and would not be changed by pruning and defaulting, but
    for plain defaults, which it fills in on its way. Whatever it refuses is to be pruned and defaulted all the same.
    """

    def __init__(self, *, tidy: bool = False) -> None:
        self._tidy = tidy
        self.program = Program({known.__name__: known for known in _BUILTINS})
        self._kept: list[SchemaNode] = []
        self._root: SchemaNode | None = None

    def function(self, node: SchemaNode, *, bare: bool = False) -> str:
        self._root = self._root or node
        self._kept.append(node)
        return self.program.function((id(node), bare), "x", lambda lines: self._write(lines, node, bare))

    def _write(self, lines: FunctionBody, node: SchemaNode, bare: bool) -> None:
        self._value(lines, node, "x", bare)
        lines.add("return True")

    def _slow(self, node: SchemaNode, bare: bool) -> str:
        def valid(value: Any) -> bool:
            if validate_value(node, value).errors:
                return False
            found: list[FieldError] = []
            if not bare:
                validate_embedded(node, value, "", found)
                validate_list_types(node, value, "", found)
            return not found

        return self.program.constant(valid)

    def _value(self, lines: FunctionBody, node: SchemaNode, var: str, bare: bool, for_none: str = "") -> None:
        """Checks of a variable's value; `for_none` is what to do if that is None and may mean that there is none."""
        if self._is_trivial(node, bare):
            return
        word = "if"
        for kind in self._kinds(node):
            lines.inner(f"{word} type({var}) is {kind}:", partial(self._kind, lines, node, var, kind, bare))
            word = "elif"
        if for_none:
            lines.add(f"{word} {var} is None:", f" {for_none}")
            word = "elif"
        if self._tidy and not bare:
            lines.add("else: return False" if word == "elif" else "return False")
        else:
            lines.add(f"{word} not {self._slow(node, bare)}({var}): return False")

    def _is_trivial(self, node: SchemaNode, bare: bool) -> bool:
        """Whether every value but null is accepted, whatever lies below."""
        return not (
            (self._tidy and not bare and not node.preserve_unknown)
            or node.types
            or node.format
            or node.enum
            or node.embedded_resource
            or node.pattern
            or node.required
            or node.any_of
            or node.all_of
            or node.one_of
            or node.not_
            or node.list_type in ("set", "map")
            or node.additional_allowed is not None
            or node.raw.keys() & _KEYWORDS
        )

    def _kinds(self, node: SchemaNode) -> list[str]:
        """The Python types that are checked by the program itself; none: the node is left to the slow rules."""
        if node.embedded_resource:
            return []
        if not node.types:
            if node.enum or node.format:
                return []
            kinds = []
            if node.pattern or node.min_length is not None or node.max_length is not None:
                kinds.append("str")
            if node.minimum is not None or node.maximum is not None or node.multiple_of is not None:
                kinds.append("int")
            if node.raw.keys() & _OBJECT_KEYWORDS:
                kinds.append("dict")
            if node.raw.keys() & _LIST_KEYWORDS:
                kinds.append("list")
            return kinds
        if node.types == ("integer", "string"):
            return ["str", "int"]
        if node.types == ("number",):
            return ["float", "int"]
        return [_PLAIN[name] for name in node.types if name in _PLAIN]

    def _kind(self, lines: FunctionBody, node: SchemaNode, var: str, kind: str, bare: bool) -> None:
        lines.room -= 1
        if kind == "str":
            self._string(lines, node, var)
        elif kind in ("int", "float"):
            self._number(lines, node, var, kind)
        elif kind == "list":
            self._list(lines, node, var, bare)
        elif kind == "dict":
            self._object(lines, node, var, bare)
        if node.enum:
            self._enum(lines, node, var, kind)
        self._junctors(lines, node, var)
        lines.add("pass")

    def _string(self, lines: FunctionBody, node: SchemaNode, var: str) -> None:
        if node.max_length is not None:
            lines.add(f"if len({var}) > {self.program.constant(node.max_length)}: return False")
        if node.min_length is not None:
            lines.add(f"if len({var}) < {self.program.constant(node.min_length)}: return False")
        if node.pattern:
            matcher = node.matcher()
            if isinstance(matcher, Pattern):
                lines.add(f"if not {self.program.constant(matcher.contains)}({var}): return False")
            else:
                lines.add("return False")
        judge = format_check(node.format) if node.format else None
        if judge:
            lines.add(f"if not {self.program.constant(judge)}({var}): return False")

    def _number(self, lines: FunctionBody, node: SchemaNode, var: str, kind: str) -> None:
        constraints = (node.minimum, node.maximum, node.multiple_of)
        if kind == "float":
            if any(limit is not None for limit in constraints) or node.format:
                lines.add(f"if not {self._slow(node, True)}({var}): return False")
            return
        if any(limit is not None and not is_in_range(node, limit) for limit in constraints):
            lines.add("return False")
            return
        if node.format == "float":
            lines.add(f"if not {self._slow(node, True)}({var}): return False")
            return
        bits = 31 if node.types == ("integer",) and node.format == "int32" else 63
        least, most = -(2**bits), 2**bits - 1
        if node.minimum is not None:
            least = max(least, float_to_int64(node.minimum) + node.exclusive_minimum)
        if node.maximum is not None:
            most = min(most, float_to_int64(node.maximum) - node.exclusive_maximum)
        lower, upper = self.program.constant(least), self.program.constant(most)
        if least > -(2**63) and most < 2**63 - 1:
            lines.add(f"if not {lower} <= {var} <= {upper}: return False")
        elif least > -(2**63):
            lines.add(f"if {var} < {lower}: return False")
        elif most < 2**63 - 1:
            lines.add(f"if {var} > {upper}: return False")
        if node.multiple_of is not None:
            step = float_to_int64(node.multiple_of)
            lines.add(f"if {var} % {self.program.constant(step)}: return False" if step > 0 else "return False")

    def _enum(self, lines: FunctionBody, node: SchemaNode, var: str, kind: str) -> None:
        types = {type(value) for value in node.enum}
        if (kind == "str" and types == {str}) or (kind == "int" and types == {int}):
            lines.add(f"if {var} not in {self.program.constant(frozenset(node.enum))}: return False")
        else:
            lines.add(f"if not {self._slow(node, True)}({var}): return False")

    def _junctors(self, lines: FunctionBody, node: SchemaNode, var: str) -> None:
        def calls(branches: tuple[SchemaNode, ...]) -> list[str]:
            return [f"{self.function(branch, bare=True)}({var})" for branch in branches]

        if node.any_of:
            lines.add(f"if not ({' or '.join(calls(node.any_of))}): return False")
        if node.one_of:
            lines.add(f"if {' + '.join(calls(node.one_of))} != 1: return False")
        for call in calls(node.all_of):
            lines.add(f"if not {call}: return False")
        if node.not_ is not None:
            lines.add(f"if {self.function(node.not_, bare=True)}({var}): return False")

    def _list(self, lines: FunctionBody, node: SchemaNode, var: str, bare: bool) -> None:
        if node.min_items is not None:
            lines.add(f"if len({var}) < {self.program.constant(node.min_items)}: return False")
        if node.max_items is not None:
            lines.add(f"if len({var}) > {self.program.constant(node.max_items)}: return False")
        items = node.items
        if items is not None:
            item = lines.variable()
            lines.inner(f"for {item} in {var}:", lambda: self._child(lines, items, item, bare))
        elif self._tidy and not bare:
            lines.add(f"if {var}: return False")
        # After the items: their keys may have been filled in.
        if node.unique_items:
            lines.add(f"if not {self._slow(node, bare)}({var}): return False")
        if node.list_type in ("set", "map") and not bare:
            lines.add(f"if not {self._unique(node)}({var}): return False")

    def _unique(self, node: SchemaNode) -> str:
        def unique(value: list[Any]) -> bool:
            found: list[FieldError] = []
            validate_list_type(node, value, "", found)
            return not found

        return self.program.constant(unique)

    def _child(self, lines: FunctionBody, node: SchemaNode, var: str, bare: bool) -> None:
        """A value inside another: in place while there is room, else in a function of its own."""
        if self._tidy and not bare and self._is_trivial(node, bare):
            lines.add(f"if {var} is None: return False")
        if lines.room > 0 and lines.indent < 16:
            self._value(lines, node, var, bare)
        elif not self._is_trivial(node, bare):
            lines.add(f"if not {self.function(node, bare=bare)}({var}): return False")

    def _object(self, lines: FunctionBody, node: SchemaNode, var: str, bare: bool) -> None:
        if node.min_properties is not None:
            lines.add(f"if len({var}) < {self.program.constant(node.min_properties)}: return False")
        if node.max_properties is not None:
            lines.add(f"if len({var}) > {self.program.constant(node.max_properties)}: return False")
        names = list(node.property_names)
        tidy = self._tidy and not bare
        if tidy and (node.additional_allowed is not None) and node.additional is None:
            lines.add("return False")
        elif tidy and node.additional is None and not node.preserve_unknown:
            known = self.program.constant(frozenset(names) | (META_KEYS if node is self._root else frozenset()))
            lines.add(f"if not {known}.issuperset({var}): return False")
        elif node.additional_allowed is False:
            known = self.program.constant(frozenset(names))
            lines.add(f"if not {known}.issuperset({var}): return False")
        elif node.additional is not None:
            self._further(lines, node, node.additional, var, bare)
        if len(names) > _MANY_PROPERTIES and tidy:
            lines.add("return False")
        elif len(names) > _MANY_PROPERTIES:
            self._dispatch(lines, node, names, var, bare)
        for name in node.required:
            if len(names) > _MANY_PROPERTIES or not self._fetched(node, name, bare):
                lines.add(f"if {self.program.constant(name)} not in {var}: return False")
        if len(names) <= _MANY_PROPERTIES:
            for name in names:
                self._property(lines, node, name, var, bare)

    def _fetched(self, node: SchemaNode, name: str, bare: bool) -> bool:
        child = node.property_node(name)
        return child is not None and not self._is_trivial(child, bare)

    def _property(self, lines: FunctionBody, node: SchemaNode, name: str, var: str, bare: bool) -> None:
        child = node.property_node(name)
        assert child is not None
        tidy = self._tidy and not bare
        if tidy and node is self._root and name in META_KEYS:
            return
        if tidy and effective_default(child) is not None:
            lines.add(f"if {self.program.constant(name)} not in {var}: {self._fill(node, child, name, var)}")
        if tidy and self._is_trivial(child, bare) and not child.nullable:
            key = self.program.constant(name)
            lines.add(f"if {key} in {var} and {var}[{key}] is None: return False")
        if self._is_trivial(child, bare):
            return
        value, key = lines.variable(), self.program.constant(name)
        null_fits = (child.nullable or not child.types or "null" in child.types) and not child.enum
        if tidy:
            null_fits = child.nullable and not child.enum
        if name in node.required:
            absent = f"if {key} not in {var}: return False" if null_fits else "return False"
        else:
            absent = "" if null_fits else f"if {key} in {var}: return False"
        lines.add(f"{value} = {var}.get({key})")
        if lines.room > 0 and lines.indent < 16:
            self._value(lines, child, value, bare, absent or "pass")
        else:
            lines.add(f"if {value} is None:", f" {absent or 'pass'}")
            lines.add(f"elif not {self.function(child, bare=bare)}({value}): return False")

    def _fill(self, node: SchemaNode, child: SchemaNode, name: str, var: str) -> str:
        """What to do where a property is absent: fill in its default, if nothing has been judged by its absence."""
        filling = effective_default(child)
        counted = node.min_properties is not None or node.max_properties is not None
        looked_for = name in node.required and self._is_trivial(child, False)
        if type(filling) not in (str, int, bool, float) or counted or looked_for:
            return "return False"
        return f"{var}[{self.program.constant(name)}] = {self.program.constant(filling)}"

    def _further(self, lines: FunctionBody, node: SchemaNode, more: SchemaNode, var: str, bare: bool) -> None:
        item = lines.variable()
        if not any(True for _ in node.property_names):
            lines.inner(f"for {item} in {var}.values():", lambda: self._child(lines, more, item, bare))
            return
        key, known = lines.variable(), self.program.constant(frozenset(node.property_names))

        def unless_known() -> None:
            lines.inner(f"if {key} not in {known}:", lambda: self._child(lines, more, item, bare))

        lines.inner(f"for {key}, {item} in {var}.items():", unless_known)

    def _dispatch(self, lines: FunctionBody, node: SchemaNode, names: list[str], var: str, bare: bool) -> None:
        """Where most properties are usually absent, look at those that are present."""
        table: dict[str, Any] = {}
        for name in names:
            child = node.property_node(name)
            if child is not None and not self._is_trivial(child, bare):
                table[name] = self._by_name(self.function(child, bare=bare))
        key, item, judge = lines.variable(), lines.variable(), lines.variable()
        lines.add(
            f"for {key}, {item} in {var}.items():",
            f" {judge} = {self.program.constant(table)}.get({key})",
            f" if {judge} is not None and not {judge}({item}): return False",
        )

    def _by_name(self, name: str) -> Any:
        return lambda value: self.program.called(name)(value)


_OBJECT_KEYWORDS = frozenset(("properties", "additionalProperties", "required", "minProperties", "maxProperties"))
_LIST_KEYWORDS = frozenset(("items", "minItems", "maxItems", "uniqueItems", "x-kubernetes-list-type"))
_KEYWORDS = (
    frozenset(("minLength", "maxLength", "minimum", "maximum", "multipleOf")) | _OBJECT_KEYWORDS | _LIST_KEYWORDS
)
