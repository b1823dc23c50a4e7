"""Generation of functions that prune an object, drop its nulls and fill in its defaults in one pass.

For rare values a generated function raises SlowPathError, and the caller runs the slow path of pruning.py on the same
object. The function may already have changed the object, but the result of the slow path is the same.
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
_MAX_LITERAL_DEPTH, _MAX_LITERAL_LENGTH = 6, 30

_MANY_PROPERTIES = 500
"""The number of properties above which no code is generated: compiling it would hold the interpreter lock for long."""


class SlowPathError(Exception):
    """The generated function cannot handle a value, for example an unknown field that has to be reported."""


class PruningProgramWriter:
    """Generates functions for the nodes of one schema. If `fill_defaults` is true, they also fill in defaults."""

    def __init__(self, *, fill_defaults: bool) -> None:
        names = {"SlowPathError": SlowPathError, "META_KEYS": META_KEYS, "deep_copy": deep_copy}
        self.program = Program({builtin.__name__: builtin for builtin in _BUILTINS} | names)
        self._fill_defaults = fill_defaults
        self._nodes: list[SchemaNode] = []

    def function(self, node: SchemaNode, *, root: bool = False) -> str:
        """Return the name of the generated function for a schema node. Its parameters are the value and `report`."""
        self._nodes.append(node)
        return self.program.function(id(node), "x, report", partial(self._write, node, root))

    def _write(self, node: SchemaNode, root: bool, body: FunctionBody) -> None:
        self._object(body, node, "x", root)

    def _object(self, body: FunctionBody, node: SchemaNode, var: str, root: bool = False) -> None:
        """Generate the code for a dict. The code visits every dict and list in it, or raises SlowPathError."""
        if node.embedded_resource:
            body.add("raise SlowPathError")
            return
        names = [name for name in node.property_names if not (root and name in META_KEYS)]
        if len(names) > _MANY_PROPERTIES:
            body.add("raise SlowPathError")
            return
        self._remove_unknown(body, node, var, root)
        if node.additional_allowed is not None or node.preserve_unknown:
            self._visit_each(body, node, names, var, root)
        else:
            self._visit_counted(body, node, names, var, root)
        for name in names if self._fill_defaults else ():
            child = node.property_node(name)
            default = effective_default(child) if child else None
            if default is not None:
                key = self.program.constant(name)
                body.add(f"if {key} not in {var}: {var}[{key}] = {self._literal(default)}")

    def _remove_unknown(self, body: FunctionBody, node: SchemaNode, var: str, root: bool) -> None:
        if node.additional_allowed is not None or node.preserve_unknown:
            return
        specified = frozenset(node.property_names) | (META_KEYS if root else frozenset())
        name, key = self.program.constant(specified), body.variable()
        body.add(
            f"if not {name}.issuperset({var}):",
            " if report: raise SlowPathError",
            f" for {key} in [{key} for {key} in {var} if {key} not in {name}]: del {var}[{key}]",
        )

    def _visit_counted(self, body: FunctionBody, node: SchemaNode, names: list[str], var: str, root: bool) -> None:
        """Generate code that visits the dicts and lists under the properties `names`.

        The code raises SlowPathError if the object contains other dicts or lists.
        """
        item, count, null = body.variable(), body.variable(), body.variable()
        body.add(
            f"{count} = 0",
            f"{null} = False",
            f"for {item} in {var}.values():",
            f" if type({item}) is not str and type({item}) is not int:",
            f"  if type({item}) is dict or type({item}) is list: {count} += 1",
            f"  elif {item} is None: {null} = True",
            f"if {null}: {count} += {self._null_helper(node, root)}({var})",
            f"if {count}:",
        )
        body.indent += 1
        if root:
            body.add(f"if type({var}.get({self.program.constant('metadata')})) is dict: {count} -= 1")
        for name in names:
            child = node.property_node(name)
            if child is not None and self._expects_container(child):
                value = body.variable()
                body.add(f"{value} = {var}.get({self.program.constant(name)})")
                self._container(body, child, value, f"{count} -= 1")
        body.add(f"if {count}: raise SlowPathError")
        body.indent -= 1

    def _visit_each(self, body: FunctionBody, node: SchemaNode, names: list[str], var: str, root: bool) -> None:
        """Generate a loop over all keys of the dict `var`, for schemas that allow undeclared keys."""
        key, item, null = body.variable(), body.variable(), body.variable()
        by_key = root or names
        body.add(f"{null} = False")
        body.add(f"for {key}, {item} in {var}.items():" if by_key else f"for {item} in {var}.values():")
        body.indent += 1
        if root:
            body.add(f"if {key} in META_KEYS: continue")
        body.add(f"if type({item}) is str or type({item}) is int: continue", f"if {item} is None: {null} = True")
        body.add(f"elif type({item}) is dict or type({item}) is list:")
        body.indent += 1
        word = "if"
        for name in names:
            child = node.property_node(name)
            if child is not None:
                heading = f"{word} {key} == {self.program.constant(name)}:"
                body.block(heading, partial(self._container_or_slow_path, body, child, item))
                word = "elif"
        self._visit_additional(body, node, item, word)
        body.add("pass")
        body.indent -= 2
        body.add(f"if {null}: {self._null_helper(node, root)}({var})")

    def _visit_additional(self, body: FunctionBody, node: SchemaNode, item: str, word: str) -> None:
        """Generate the code for a dict or list under a key that is not a property."""
        if node.additional_allowed is None:
            return
        heading = "else:" if word == "elif" else "if True:"
        additional = node.additional
        if additional is not None:
            body.block(heading, partial(self._container_or_slow_path, body, additional, item))
        else:
            body.block(heading, partial(body.add, "raise SlowPathError"))

    def _container_or_slow_path(self, body: FunctionBody, node: SchemaNode, var: str) -> None:
        if not self._expects_container(node):
            body.add("raise SlowPathError")
            return
        unvisited = body.variable()
        body.add(f"{unvisited} = True")
        self._container(body, node, var, f"{unvisited} = False")
        body.add(f"if {unvisited}: raise SlowPathError")

    def _expects_container(self, node: SchemaNode) -> bool:
        """True if the schema of a node expects a dict or list."""
        return node.preserve_unknown or (len(node.types) == 1 and node.types[0] in _CONTAINERS)

    def _container(self, body: FunctionBody, node: SchemaNode, var: str, done: str) -> None:
        """Generate code that runs the statement `done` and visits the value `var` if it is a dict or list as the schema
        expects.
        """
        if node.preserve_unknown:
            if (
                any(True for _ in node.property_names)
                or node.additional_allowed is not None
                or node.items
                or node.embedded_resource
            ):
                body.block(f"if type({var}) is dict:", partial(self._dict, body, node, var, done))
            else:
                body.add(f"if type({var}) is dict or type({var}) is list: {done}")
        elif node.types == ("object",):
            body.block(f"if type({var}) is dict:", partial(self._dict, body, node, var, done))
        else:
            body.block(f"if type({var}) is list:", partial(self._list, body, node, var, done))

    def _dict(self, body: FunctionBody, node: SchemaNode, var: str, done: str) -> None:
        body.add(done)
        if body.room > 0 and body.indent < 12:
            body.room -= 1
            self._object(body, node, var)
        else:
            body.add(f"{self.function(node)}({var}, report)")

    def _list(self, body: FunctionBody, node: SchemaNode, var: str, done: str) -> None:
        body.add(done)
        item, items = body.variable(), node.items
        body.add(f"for {item} in {var}:")
        body.indent += 1
        if items is None or not self._expects_container(items):
            body.add(
                f"if type({item}) is not str and type({item}) is not int:",
                f" if type({item}) is dict or type({item}) is list or {item} is None: raise SlowPathError",
            )
        elif items.types == ("object",) and not items.preserve_unknown:
            body.block(f"if type({item}) is dict:", partial(self._dict, body, items, item, "pass"))
            body.add(f"elif type({item}) is list or {item} is None: raise SlowPathError")
        else:
            body.add(f"if {item} is None: raise SlowPathError", f"if type({item}) is dict or type({item}) is list:")
            body.indent += 1
            self._container_or_slow_path(body, items, item)
            body.indent -= 1
        body.indent -= 1

    def _null_helper(self, node: SchemaNode, root: bool) -> str:
        """Return the name of a helper that drops the nulls of a dict or replaces them by defaults. The helper returns
        the number of defaults that are dicts or lists.
        """

        def replace_nulls(value: dict[str, Any]) -> int:
            containers = 0
            for key in [key for key, item in value.items() if item is None]:
                child = None if root and key in META_KEYS else node.child(key)
                if child is None or child.nullable:
                    continue
                default = effective_default(child)
                if default is None:
                    del value[key]
                elif self._fill_defaults:
                    value[key] = deep_copy(default)
                    containers += type(default) in (dict, list)
            return containers

        return self.program.constant(replace_nulls)

    def _literal(self, value: Any, depth: int = 0) -> str:
        """Return Python source code that creates a new copy of `value`."""
        if type(value) not in (dict, list):
            return self.program.constant(value)
        if depth > _MAX_LITERAL_DEPTH or len(value) > _MAX_LITERAL_LENGTH:
            return f"deep_copy({self.program.constant(value)})"
        if type(value) is list:
            return f"[{', '.join(self._literal(item, depth + 1) for item in value)}]"
        parts = (f"{self.program.constant(key)}: {self._literal(item, depth + 1)}" for key, item in value.items())
        return f"{{{', '.join(parts)}}}"
