"""Generation of Python functions for one schema.

Text of a schema (property names, enum values, patterns) never becomes source code: the source code refers to such
values by generated names. See docs/decisions/0013-generated-schema-programs.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class FunctionBody:
    """The source lines of a function that is being generated.

    `room` is the number of schema nodes whose code may still be added. Further nodes get functions of their own.
    """

    def __init__(self, room: int) -> None:
        self.text: list[str] = []
        self.indent = 1
        self.room = room
        self._variables = 0

    def add(self, *lines: str) -> None:
        """Append lines at the current indentation."""
        pad = " " * self.indent
        self.text.extend(pad + line for line in lines)

    def variable(self) -> str:
        """Return a new name for a local variable."""
        self._variables += 1
        return f"v{self._variables}"

    def block(self, heading: str, write: Callable[[], None]) -> None:
        """Append `heading`, such as `if x:`, and then the indented lines that `write` appends.

        If `write` appends nothing, remove the heading again.
        """
        self.add(heading)
        self.indent += 1
        before = len(self.text)
        write()
        if len(self.text) == before:
            self.text.pop()
        self.indent -= 1


class Program:
    """The functions generated for one schema, and their constants. Each function is compiled on its first call."""

    NODES_PER_FUNCTION = 70
    """The maximum number of schema nodes per function. Compiling a longer function blocks the event loop too long."""

    def __init__(self, builtins: dict[str, Any]) -> None:
        self._names: dict[str, Any] = {"__builtins__": {}, **builtins}
        self._functions: dict[Any, str] = {}
        self._uncompiled: dict[str, Callable[[], None]] = {}
        self._constants: dict[Any, str] = {}
        self._lock = threading.RLock()

    def constant(self, value: Any) -> str:
        """Assign a value to a new global name of the generated code and return the name. Equal values share a name."""
        shared_key = (type(value), value) if type(value) in (str, int) else None
        if shared_key in self._constants:
            return self._constants[shared_key]
        name = f"C{len(self._names)}"
        self._names[name] = value
        if shared_key:
            self._constants[shared_key] = name
        return name

    def function(self, key: Any, arguments: str, write: Callable[[FunctionBody], None]) -> str:
        """Return the name of the function for `key`. If there is none, add one. `write` generates its body later."""
        if key in self._functions:
            return self._functions[key]
        name = self._functions[key] = f"F{len(self._names)}"

        def generate() -> None:
            body = FunctionBody(self.NODES_PER_FUNCTION)
            write(body)
            source = "\n".join([f"def {name}({arguments}):", *body.text])
            exec(compile(source, f"<schema {name}>", "exec"), self._names)  # noqa: S102

        def first_call(*values: Any) -> Any:
            self._compile(name)
            return self._names[name](*values)

        self._uncompiled[name] = generate
        self._names[name] = first_call
        return name

    def compiled(self, name: str) -> Function:
        """Return a function by its name. Compile the function if it is not compiled yet."""
        self._compile(name)
        return self._names[name]  # type: ignore[no-any-return]

    def _compile(self, name: str) -> None:
        with self._lock:
            generate = self._uncompiled.pop(name, None)
            if generate:
                generate()
