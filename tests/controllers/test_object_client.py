"""Controllers cannot write an object by its name alone."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import polykind
from polykind.cache.cached_object import CachedObject
from polykind.contract import KeyValue
from polykind.controllers.object_client import ObjectClient

SOURCE = Path(polykind.__file__).parent
STORE_WRITES = {"put", "put_twice", "delete"}
NEW_OBJECTS = {"create", "add_stored", "add_cached", "add_twice"}
"""The methods that write only if no object has the name."""


def test_every_change_and_deletion_takes_the_object_that_was_read() -> None:
    methods = {
        name: inspect.signature(method, eval_str=True).parameters
        for name, method in vars(ObjectClient).items()
        if inspect.iscoroutinefunction(method) and not name.startswith("_") and name != "read"
    }
    assert methods.keys() >= NEW_OBJECTS
    for name in methods.keys() - NEW_OBJECTS - {"replace"}:
        assert methods[name]["seen"].annotation in (CachedObject, KeyValue), name
        assert methods[name]["seen"].default is inspect.Parameter.empty, name


def test_only_the_client_writes_to_the_store() -> None:
    """An import contract says the same of the verbs."""
    files = [*(SOURCE / "controllers").glob("*.py"), *(SOURCE / "migration").glob("*.py")]
    found = [
        f"{file.name}:{node.lineno}"
        for file in files
        if file.name != "object_client.py"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in STORE_WRITES and _is_store(node.value)
    ]
    assert len(files) > 20
    assert not found


def _is_store(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.strip("_").endswith("store")
