"""Programs that prune, drop nulls and default in one pass. For what is rare they raise `Unsure`: the slow rules act.

What a program did before it gave up does not matter: the slow rules, applied to the rest, come to the same result.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from polykind.schema.codegen import FunctionBody, Program
from polykind.schema.equality import deep_copy
from polykind.schema.node import META_KEYS, SchemaNode
from polykind.schema.pruning import effective_default

_BUILTINS = (type, str, int, dict, list)
_CONTAINERS = ("object", "array")
_DEEPEST_LITERAL, _LONGEST_LITERAL = 6, 30


class SlowPathError(Exception):
    """Something that the program leaves to the slow rules; an unknown field that has to be reported, for one."""


class PruningProgramWriter:
    """Writes the programs for the nodes of one schema; with `fill`, they also fill in defaults."""

    def __init__(self, *, fill: bool) -> None:
        given = {"Unsure": SlowPathError, "META": META_KEYS, "fresh": deep_copy}
        self.program = Program({known.__name__: known for known in _BUILTINS} | given)
        self._fill = fill
        self._kept: list[SchemaNode] = []

    def function(self, node: SchemaNode, *, root: bool = False) -> str:
        """The function for objects of a node; its second argument is whether unknown fields are to be reported."""
        self._kept.append(node)
        return self.program.function(id(node), "x, report", partial(self._write, node, root))

    def _write(self, node: SchemaNode, root: bool, lines: FunctionBody) -> None:
        self._object(lines, node, "x", root)

    def _object(self, lines: FunctionBody, node: SchemaNode, var: str, root: bool = False) -> None:
        """Everything for a dict; afterwards no container in it has been overlooked."""
        if node.embedded_resource:
            lines.add("raise Unsure")
            return
        names = [name for name in node.property_names if not (root and name in META_KEYS)]
        self._unknown(lines, node, var, root)
        if node.additional_allowed is not None or node.preserve_unknown:
            self._each(lines, node, names, var, root)
        else:
            self._counted(lines, node, names, var, root)
        for name in names if self._fill else ():
            child = node.property_node(name)
            filling = effective_default(child) if child else None
            if filling is not None:
                key = self.program.constant(name)
                lines.add(f"if {key} not in {var}: {var}[{key}] = {self._literal(filling)}")

    def _unknown(self, lines: FunctionBody, node: SchemaNode, var: str, root: bool) -> None:
        if node.additional_allowed is not None or node.preserve_unknown:
            return
        known = frozenset(node.property_names) | (META_KEYS if root else frozenset())
        name, key = self.program.constant(known), lines.variable()
        lines.add(
            f"if not {name}.issuperset({var}):",
            " if report: raise Unsure",
            f" for {key} in [{key} for {key} in {var} if {key} not in {name}]: del {var}[{key}]",
        )

    def _counted(self, lines: FunctionBody, node: SchemaNode, names: list[str], var: str, root: bool) -> None:
        """Count the containers, and then visit them where the schema has containers: none may be left."""
        item, count, null = lines.variable(), lines.variable(), lines.variable()
        lines.add(
            f"{count} = 0",
            f"{null} = False",
            f"for {item} in {var}.values():",
            f" if type({item}) is not str and type({item}) is not int:",
            f"  if type({item}) is dict or type({item}) is list: {count} += 1",
            f"  elif {item} is None: {null} = True",
            f"if {null}: {count} += {self._nulls(node, root)}({var})",
            f"if {count}:",
        )
        lines.indent += 1
        if root:
            lines.add(f"if type({var}.get({self.program.constant('metadata')})) is dict: {count} -= 1")
        for name in names:
            child = node.property_node(name)
            if child is not None and self._may_hold(child):
                value = lines.variable()
                lines.add(f"{value} = {var}.get({self.program.constant(name)})")
                self._container(lines, child, value, f"{count} -= 1")
        lines.add(f"if {count}: raise Unsure")
        lines.indent -= 1

    def _each(self, lines: FunctionBody, node: SchemaNode, names: list[str], var: str, root: bool) -> None:
        """Maps, and objects that keep what they do not know: look at every value by its key."""
        key, item, null = lines.variable(), lines.variable(), lines.variable()
        by_key = root or names
        lines.add(f"{null} = False")
        lines.add(f"for {key}, {item} in {var}.items():" if by_key else f"for {item} in {var}.values():")
        lines.indent += 1
        if root:
            lines.add(f"if {key} in META: continue")
        lines.add(f"if type({item}) is str or type({item}) is int: continue", f"if {item} is None: {null} = True")
        lines.add(f"elif type({item}) is dict or type({item}) is list:")
        lines.indent += 1
        word = "if"
        for name in names:
            child = node.property_node(name)
            if child is not None:
                heading = f"{word} {key} == {self.program.constant(name)}:"
                lines.inner(heading, partial(self._container_or_unsure, lines, child, item))
                word = "elif"
        self._further(lines, node, item, word)
        lines.add("pass")
        lines.indent -= 2
        lines.add(f"if {null}: {self._nulls(node, root)}({var})")

    def _further(self, lines: FunctionBody, node: SchemaNode, item: str, word: str) -> None:
        """A container under a key that is no property."""
        if node.additional_allowed is None:
            return
        heading = "else:" if word == "elif" else "if True:"
        more = node.additional
        if more is not None:
            lines.inner(heading, partial(self._container_or_unsure, lines, more, item))
        else:
            lines.inner(heading, partial(lines.add, "raise Unsure"))

    def _container_or_unsure(self, lines: FunctionBody, node: SchemaNode, var: str) -> None:
        if not self._may_hold(node):
            lines.add("raise Unsure")
            return
        seen = lines.variable()
        lines.add(f"{seen} = True")
        self._container(lines, node, var, f"{seen} = False")
        lines.add(f"if {seen}: raise Unsure")

    def _may_hold(self, node: SchemaNode) -> bool:
        """Whether a container is to be expected at a node."""
        return node.preserve_unknown or (len(node.types) == 1 and node.types[0] in _CONTAINERS)

    def _container(self, lines: FunctionBody, node: SchemaNode, var: str, done: str) -> None:
        """Visit a variable if it holds the container that its node describes; then `done`."""
        if node.preserve_unknown:
            if (
                any(True for _ in node.property_names)
                or node.additional_allowed is not None
                or node.items
                or node.embedded_resource
            ):
                lines.inner(f"if type({var}) is dict:", partial(self._dict, lines, node, var, done))
            else:
                lines.add(f"if type({var}) is dict or type({var}) is list: {done}")
        elif node.types == ("object",):
            lines.inner(f"if type({var}) is dict:", partial(self._dict, lines, node, var, done))
        else:
            lines.inner(f"if type({var}) is list:", partial(self._list, lines, node, var, done))

    def _dict(self, lines: FunctionBody, node: SchemaNode, var: str, done: str) -> None:
        lines.add(done)
        if lines.room > 0 and lines.indent < 12:
            lines.room -= 1
            self._object(lines, node, var)
        else:
            lines.add(f"{self.function(node)}({var}, report)")

    def _list(self, lines: FunctionBody, node: SchemaNode, var: str, done: str) -> None:
        lines.add(done)
        item, items = lines.variable(), node.items
        lines.add(f"for {item} in {var}:")
        lines.indent += 1
        if items is None or not self._may_hold(items):
            lines.add(
                f"if type({item}) is not str and type({item}) is not int:",
                f" if type({item}) is dict or type({item}) is list or {item} is None: raise Unsure",
            )
        elif items.types == ("object",) and not items.preserve_unknown:
            lines.inner(f"if type({item}) is dict:", partial(self._dict, lines, items, item, "pass"))
            lines.add(f"elif type({item}) is list or {item} is None: raise Unsure")
        else:
            lines.add(f"if {item} is None: raise Unsure", f"if type({item}) is dict or type({item}) is list:")
            lines.indent += 1
            self._container_or_unsure(lines, items, item)
            lines.indent -= 1
        lines.indent -= 1

    def _nulls(self, node: SchemaNode, root: bool) -> str:
        """A helper that drops or replaces the nulls directly in an object; it tells how many became containers."""

        def settle(value: dict[str, Any]) -> int:
            containers = 0
            for key in [key for key, item in value.items() if item is None]:
                child = None if root and key in META_KEYS else node.child(key)
                if child is None or child.nullable:
                    continue
                filling = effective_default(child)
                if filling is None:
                    del value[key]
                elif self._fill:
                    value[key] = deep_copy(filling)
                    containers += type(filling) in (dict, list)
            return containers

        return self.program.constant(settle)

    def _literal(self, value: Any, depth: int = 0) -> str:
        """An expression that makes a fresh copy of a value."""
        if type(value) not in (dict, list):
            return self.program.constant(value)
        if depth > _DEEPEST_LITERAL or len(value) > _LONGEST_LITERAL:
            return f"fresh({self.program.constant(value)})"
        if type(value) is list:
            return f"[{', '.join(self._literal(item, depth + 1) for item in value)}]"
        parts = (f"{self.program.constant(key)}: {self._literal(item, depth + 1)}" for key, item in value.items())
        return f"{{{', '.join(parts)}}}"
