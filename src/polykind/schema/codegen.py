"""Programs written for one schema. Names and constants of the schema are never text in a program: it refers to them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class FunctionBody:
    """The body of one function in the making."""

    def __init__(self, room: int) -> None:
        self.text: list[str] = []
        self.indent = 1
        self.room = room
        self._variables = 0

    def add(self, *lines: str) -> None:
        pad = " " * self.indent
        self.text.extend(pad + line for line in lines)

    def variable(self) -> str:
        self._variables += 1
        return f"v{self._variables}"

    def inner(self, heading: str, write: Callable[[], None]) -> None:
        """A block under a heading; one that nothing is written into is left out."""
        self.add(heading)
        self.indent += 1
        before = len(self.text)
        write()
        if len(self.text) == before:
            self.text.pop()
        self.indent -= 1


class Program:
    """The functions of one schema and the constants they refer to. A function is compiled when it is first called."""

    NODES_IN_ONE_FUNCTION = 70
    """Longer functions would take too long to compile at once."""

    def __init__(self, given: dict[str, Any]) -> None:
        self._names: dict[str, Any] = {"__builtins__": {}, **given}
        self._functions: dict[Any, str] = {}
        self._waiting: dict[str, Callable[[], None]] = {}
        self._constants: dict[Any, str] = {}
        self._lock = threading.RLock()

    def constant(self, value: Any) -> str:
        """A name for a value."""
        simple = (type(value), value) if type(value) in (str, int) else None
        if simple in self._constants:
            return self._constants[simple]
        name = f"C{len(self._names)}"
        self._names[name] = value
        if simple:
            self._constants[simple] = name
        return name

    def function(self, key: Any, arguments: str, write: Callable[[FunctionBody], None]) -> str:
        """The name of the function that `write` writes; the same key gives the same function."""
        if key in self._functions:
            return self._functions[key]
        name = self._functions[key] = f"F{len(self._names)}"

        def ready() -> None:
            lines = FunctionBody(self.NODES_IN_ONE_FUNCTION)
            write(lines)
            source = "\n".join([f"def {name}({arguments}):", *lines.text])
            exec(compile(source, f"<schema {name}>", "exec"), self._names)  # noqa: S102

        def first_call(*values: Any) -> Any:
            self._finish(name)
            return self._names[name](*values)

        self._waiting[name] = ready
        self._names[name] = first_call
        return name

    def called(self, name: str) -> Function:
        """The function of a name, compiled."""
        self._finish(name)
        return self._names[name]  # type: ignore[no-any-return]

    def _finish(self, name: str) -> None:
        with self._lock:
            ready = self._waiting.pop(name, None)
            if ready:
                ready()
