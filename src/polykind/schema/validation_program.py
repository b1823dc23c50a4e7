"""Generation of functions that return True if a value is valid. They give the same result as the slow path.

For rare keywords a generated function calls the slow path (value_validation.py, list_types.py, embedded_resources.py).
"""

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
"""Also the number of required properties and of branches. Compiling code for many holds the interpreter lock."""
_BUILTINS = (type, len, str, int, float, bool, dict, list)
_PYTHON_TYPES = {"string": "str", "integer": "int", "boolean": "bool", "object": "dict", "array": "list"}


class ValidationProgramWriter:
    """Generates functions for the nodes of one schema. A function returns False for values that the slow path rejects.

    Inside anyOf, oneOf, allOf and not, list types and embedded resources are not validated (`values_only` is true).

    If `single_pass` is true, the functions also fill in scalar defaults. They then return True only if the value is
    valid and if pruning and defaulting would not change it any more. If a function returns False, the caller has to
    prune, default and validate the value.
    """

    def __init__(self, *, single_pass: bool = False) -> None:
        self._single_pass = single_pass
        self.program = Program({builtin.__name__: builtin for builtin in _BUILTINS})
        self._nodes: list[SchemaNode] = []
        self._root: SchemaNode | None = None

    def function(self, node: SchemaNode, *, values_only: bool = False) -> str:
        """Return the name of the generated function that validates values of a node."""
        self._root = self._root or node
        self._nodes.append(node)
        return self.program.function((id(node), values_only), "x", lambda body: self._write(body, node, values_only))

    def _write(self, body: FunctionBody, node: SchemaNode, values_only: bool) -> None:
        self._value(body, node, "x", values_only)
        body.add("return True")

    def _slow_path(self, node: SchemaNode, values_only: bool) -> str:
        def valid(value: Any) -> bool:
            if validate_value(node, value).errors:
                return False
            errors: list[FieldError] = []
            if not values_only:
                validate_embedded(node, value, "", errors)
                validate_list_types(node, value, "", errors)
            return not errors

        return self.program.constant(valid)

    def _value(self, body: FunctionBody, node: SchemaNode, var: str, values_only: bool, for_none: str = "") -> None:
        """Generate the checks of the variable `var`. `for_none` is the code to run if `var` is None (absent)."""
        if self._is_trivial(node, values_only):
            return
        word = "if"
        for kind in self._kinds(node):
            body.block(f"{word} type({var}) is {kind}:", partial(self._kind, body, node, var, kind, values_only))
            word = "elif"
        if for_none:
            body.add(f"{word} {var} is None:", f" {for_none}")
            word = "elif"
        if self._single_pass and not values_only:
            body.add("else: return False" if word == "elif" else "return False")
        else:
            body.add(f"{word} not {self._slow_path(node, values_only)}({var}): return False")

    def _is_trivial(self, node: SchemaNode, values_only: bool) -> bool:
        """True if the schema accepts every value except null, so that no check needs to be generated."""
        return not (
            (self._single_pass and not values_only and not node.preserve_unknown)
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
        """Return the Python types whose values the generated function checks. It calls the slow path for all others."""
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
        return [_PYTHON_TYPES[name] for name in node.types if name in _PYTHON_TYPES]

    def _kind(self, body: FunctionBody, node: SchemaNode, var: str, kind: str, values_only: bool) -> None:
        body.room -= 1
        if kind == "str":
            self._string(body, node, var)
        elif kind in ("int", "float"):
            self._number(body, node, var, kind)
        elif kind == "list":
            self._list(body, node, var, values_only)
        elif kind == "dict":
            self._object(body, node, var, values_only)
        if node.enum:
            self._enum(body, node, var, kind)
        self._junctors(body, node, var)
        body.add("pass")

    def _string(self, body: FunctionBody, node: SchemaNode, var: str) -> None:
        if node.max_length is not None:
            body.add(f"if len({var}) > {self.program.constant(node.max_length)}: return False")
        if node.min_length is not None:
            body.add(f"if len({var}) < {self.program.constant(node.min_length)}: return False")
        if node.pattern:
            matcher = node.matcher()
            if isinstance(matcher, Pattern):
                body.add(f"if not {self.program.constant(matcher.contains)}({var}): return False")
            else:
                body.add("return False")
        check = format_check(node.format) if node.format else None
        if check:
            body.add(f"if not {self.program.constant(check)}({var}): return False")

    def _number(self, body: FunctionBody, node: SchemaNode, var: str, kind: str) -> None:
        constraints = (node.minimum, node.maximum, node.multiple_of)
        if kind == "float":
            if any(limit is not None for limit in constraints) or node.format:
                body.add(f"if not {self._slow_path(node, True)}({var}): return False")
            return
        if any(limit is not None and not is_in_range(node, limit) for limit in constraints):
            body.add("return False")
            return
        if node.format == "float":
            body.add(f"if not {self._slow_path(node, True)}({var}): return False")
            return
        bits = 31 if node.types == ("integer",) and node.format == "int32" else 63
        low, high = -(2**bits), 2**bits - 1
        if node.minimum is not None:
            low = max(low, float_to_int64(node.minimum) + node.exclusive_minimum)
        if node.maximum is not None:
            high = min(high, float_to_int64(node.maximum) - node.exclusive_maximum)
        lower, upper = self.program.constant(low), self.program.constant(high)
        if low > -(2**63) and high < 2**63 - 1:
            body.add(f"if not {lower} <= {var} <= {upper}: return False")
        elif low > -(2**63):
            body.add(f"if {var} < {lower}: return False")
        elif high < 2**63 - 1:
            body.add(f"if {var} > {upper}: return False")
        if node.multiple_of is not None:
            step = float_to_int64(node.multiple_of)
            body.add(f"if {var} % {self.program.constant(step)}: return False" if step > 0 else "return False")

    def _enum(self, body: FunctionBody, node: SchemaNode, var: str, kind: str) -> None:
        types = {type(value) for value in node.enum}
        if (kind == "str" and types == {str}) or (kind == "int" and types == {int}):
            body.add(f"if {var} not in {self.program.constant(frozenset(node.enum))}: return False")
        else:
            body.add(f"if not {self._slow_path(node, True)}({var}): return False")

    def _junctors(self, body: FunctionBody, node: SchemaNode, var: str) -> None:
        def calls(branches: tuple[SchemaNode, ...]) -> list[str]:
            return [f"{self.function(branch, values_only=True)}({var})" for branch in branches]

        if len(node.any_of) + len(node.one_of) + len(node.all_of) > _MANY_PROPERTIES:
            body.add(f"if not {self._slow_path(node, True)}({var}): return False")
            return
        if node.any_of:
            body.add(f"if not ({' or '.join(calls(node.any_of))}): return False")
        if node.one_of:
            body.add(f"if {' + '.join(calls(node.one_of))} != 1: return False")
        for call in calls(node.all_of):
            body.add(f"if not {call}: return False")
        if node.not_ is not None:
            body.add(f"if {self.function(node.not_, values_only=True)}({var}): return False")

    def _list(self, body: FunctionBody, node: SchemaNode, var: str, values_only: bool) -> None:
        if node.min_items is not None:
            body.add(f"if len({var}) < {self.program.constant(node.min_items)}: return False")
        if node.max_items is not None:
            body.add(f"if len({var}) > {self.program.constant(node.max_items)}: return False")
        items = node.items
        if items is not None:
            item = body.variable()
            body.block(f"for {item} in {var}:", lambda: self._child(body, items, item, values_only))
        elif self._single_pass and not values_only:
            body.add(f"if {var}: return False")
        # Check uniqueness after the items, because the checks of items may have filled in defaults of the list keys.
        if node.unique_items:
            body.add(f"if not {self._slow_path(node, values_only)}({var}): return False")
        if node.list_type in ("set", "map") and not values_only:
            body.add(f"if not {self._unique(node)}({var}): return False")

    def _unique(self, node: SchemaNode) -> str:
        def unique(value: list[Any]) -> bool:
            errors: list[FieldError] = []
            validate_list_type(node, value, "", errors)
            return not errors

        return self.program.constant(unique)

    def _child(self, body: FunctionBody, node: SchemaNode, var: str, values_only: bool) -> None:
        """Generate the checks of a nested value: in this function if it is not too long yet, otherwise in another."""
        if self._single_pass and not values_only and self._is_trivial(node, values_only):
            body.add(f"if {var} is None: return False")
        if body.room > 0 and body.indent < 16:
            self._value(body, node, var, values_only)
        elif not self._is_trivial(node, values_only):
            body.add(f"if not {self.function(node, values_only=values_only)}({var}): return False")

    def _object(self, body: FunctionBody, node: SchemaNode, var: str, values_only: bool) -> None:
        if node.min_properties is not None:
            body.add(f"if len({var}) < {self.program.constant(node.min_properties)}: return False")
        if node.max_properties is not None:
            body.add(f"if len({var}) > {self.program.constant(node.max_properties)}: return False")
        names = list(node.property_names)
        single_pass = self._single_pass and not values_only
        if single_pass and (node.additional_allowed is not None) and node.additional is None:
            body.add("return False")
        elif single_pass and node.additional is None and not node.preserve_unknown:
            names_constant = self.program.constant(
                frozenset(names) | (META_KEYS if node is self._root else frozenset())
            )
            body.add(f"if not {names_constant}.issuperset({var}): return False")
        elif node.additional_allowed is False:
            names_constant = self.program.constant(frozenset(names))
            body.add(f"if not {names_constant}.issuperset({var}): return False")
        elif node.additional is not None:
            self._additional_properties(body, node, node.additional, var, values_only)
        if len(names) > _MANY_PROPERTIES and single_pass:
            body.add("return False")
        elif len(names) > _MANY_PROPERTIES:
            self._property_loop(body, node, names, var, values_only)
        self._required(body, node, var, values_only)
        if len(names) <= _MANY_PROPERTIES:
            for name in names:
                self._property(body, node, name, var, values_only)

    def _required(self, body: FunctionBody, node: SchemaNode, var: str, values_only: bool) -> None:
        """Generate the check of required properties that no other check contains."""
        many = len(list(node.property_names)) > _MANY_PROPERTIES
        names = [name for name in node.required if many or not self._is_loaded(node, name, values_only)]
        if len(names) > _MANY_PROPERTIES:
            body.add(f"if not {self.program.constant(frozenset(names))} <= {var}.keys(): return False")
            return
        for name in names:
            body.add(f"if {self.program.constant(name)} not in {var}: return False")

    def _is_loaded(self, node: SchemaNode, name: str, values_only: bool) -> bool:
        child = node.property_node(name)
        return child is not None and not self._is_trivial(child, values_only)

    def _property(self, body: FunctionBody, node: SchemaNode, name: str, var: str, values_only: bool) -> None:
        child = node.property_node(name)
        assert child is not None
        single_pass = self._single_pass and not values_only
        if single_pass and node is self._root and name in META_KEYS:
            return
        if single_pass and effective_default(child) is not None:
            body.add(f"if {self.program.constant(name)} not in {var}: {self._fill_default(node, child, name, var)}")
        if single_pass and self._is_trivial(child, values_only) and not child.nullable:
            key = self.program.constant(name)
            body.add(f"if {key} in {var} and {var}[{key}] is None: return False")
        if self._is_trivial(child, values_only):
            return
        value, key = body.variable(), self.program.constant(name)
        null_fits = (child.nullable or not child.types or "null" in child.types) and not child.enum
        if single_pass:
            null_fits = child.nullable and not child.enum
        if name in node.required:
            absent = f"if {key} not in {var}: return False" if null_fits else "return False"
        else:
            absent = "" if null_fits else f"if {key} in {var}: return False"
        body.add(f"{value} = {var}.get({key})")
        if body.room > 0 and body.indent < 16:
            self._value(body, child, value, values_only, absent or "pass")
        else:
            body.add(f"if {value} is None:", f" {absent or 'pass'}")
            body.add(f"elif not {self.function(child, values_only=values_only)}({value}): return False")

    def _fill_default(self, node: SchemaNode, child: SchemaNode, name: str, var: str) -> str:
        """Return the code to run if a property is absent. The code fills in a scalar default, or ends the generated
        function with False.
        """
        default = effective_default(child)
        size_checked = node.min_properties is not None or node.max_properties is not None
        already_required = name in node.required and self._is_trivial(child, False)
        if type(default) not in (str, int, bool, float) or size_checked or already_required:
            return "return False"
        return f"{var}[{self.program.constant(name)}] = {self.program.constant(default)}"

    def _additional_properties(
        self, body: FunctionBody, node: SchemaNode, additional: SchemaNode, var: str, values_only: bool
    ) -> None:
        item = body.variable()
        if not any(True for _ in node.property_names):
            body.block(f"for {item} in {var}.values():", lambda: self._child(body, additional, item, values_only))
            return
        key, names_constant = body.variable(), self.program.constant(frozenset(node.property_names))

        def skip_properties() -> None:
            body.block(f"if {key} not in {names_constant}:", lambda: self._child(body, additional, item, values_only))

        body.block(f"for {key}, {item} in {var}.items():", skip_properties)

    def _property_loop(
        self, body: FunctionBody, node: SchemaNode, names: list[str], var: str, values_only: bool
    ) -> None:
        """Generate a loop over the keys of the value. This is fast for many, mostly absent properties."""
        table: dict[str, Any] = {}
        for name in names:
            child = node.property_node(name)
            if child is not None and not self._is_trivial(child, values_only):
                table[name] = self._call_later(self.function(child, values_only=values_only))
        key, item, check = body.variable(), body.variable(), body.variable()
        body.add(
            f"for {key}, {item} in {var}.items():",
            f" {check} = {self.program.constant(table)}.get({key})",
            f" if {check} is not None and not {check}({item}): return False",
        )

    def _call_later(self, name: str) -> Any:
        return lambda value: self.program.compiled(name)(value)


_OBJECT_KEYWORDS = frozenset(("properties", "additionalProperties", "required", "minProperties", "maxProperties"))
_LIST_KEYWORDS = frozenset(("items", "minItems", "maxItems", "uniqueItems", "x-kubernetes-list-type"))
_KEYWORDS = (
    frozenset(("minLength", "maxLength", "minimum", "maximum", "multipleOf")) | _OBJECT_KEYWORDS | _LIST_KEYWORDS
)
