"""Controllers cannot write an object by its name alone."""

from __future__ import annotations

import inspect

from polykind.cache.cached_object import CachedObject
from polykind.contract import KeyValue
from polykind.controllers.object_client import ObjectClient

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
