"""Functions are simple. radon counts the branches, conditions and loops of a function: its cyclomatic complexity."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from radon.complexity import cc_visit
from radon.visitors import Class, Function

SOURCE = Path(__file__).parents[2] / "src" / "polykind"
HIGH = 15
"""The maximum complexity of a function on a request's path."""
MAX_COMPLEX_FUNCTIONS = 46
"""The number of functions anywhere that are more complex. It only falls."""


def _functions(path: Path) -> Iterator[Any]:
    """Yield the functions and methods of a module. A function includes the functions inside it."""
    blocks = cc_visit(path.read_text())
    methods = {method.lineno: method for each in blocks if isinstance(each, Class) for method in each.methods}
    yield from methods.values()
    yield from (each for each in blocks if isinstance(each, Function) and each.lineno not in methods)


def complex_functions() -> dict[str, int]:
    """Return the functions whose complexity is above HIGH, by module and name, with their complexity."""
    return {
        f"{path.relative_to(SOURCE)}:{function.name}": function.complexity
        for path in sorted(SOURCE.rglob("*.py"))
        for function in _functions(path)
        if function.complexity > HIGH
    }


def test_few_functions_are_complex() -> None:
    found = sorted(complex_functions().items(), key=lambda item: -item[1])
    assert len(found) <= MAX_COMPLEX_FUNCTIONS, "\n".join(f"{complexity} {name}" for name, complexity in found)


if __name__ == "__main__":
    for name, complexity in sorted(complex_functions().items(), key=lambda item: -item[1]):
        print(complexity, name)
