"""What `--converter package.module:object` names: one object that converts some kinds, or all.

`--converter crontabs.yaml` names a file of rules instead, which `declarative` reads. Else the object is one of:

- `Conversions`, which are declared step by step;
- a mapping of `(kind.group, from version, to version)` to a function `convert(obj: dict) -> dict`, which stands for the
  same: `{("CronTab.example.com", "v1", "v2"): up, ("CronTab.example.com", "v2", "v1"): down}`;
- a function `convert(obj: dict, to: str) -> dict`, or an object with such a method. `obj` is the whole object and may
  be changed and returned; `to` is the wanted apiVersion, such as `example.com/v2`. In a server it may be `async`.

An object that has a method `handles(group: str, kind: str) -> bool` is asked which kinds it converts; `Conversions` and
a mapping convert the kinds they name; anything else converts every kind. A function need not set apiVersion.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from polykind.contract import JsonObject
from polykind.toolkit.declare.conversions import Conversions

Convert = Callable[[JsonObject, str], Any]
log = logging.getLogger(__name__)


class Library:
    """An object that converts, under the name it was found by."""

    def __init__(self, spec: str, converter: Any) -> None:
        self.spec = spec
        self.declared: dict[str, Conversions] | None = None
        """By kind, if they were declared step by step."""
        if isinstance(converter, Conversions):
            self.declared = {converter.kind: converter}
        elif isinstance(converter, Mapping):
            self.declared = _from_mapping(spec, converter)
        self._handles = getattr(converter, "handles", None)
        method = getattr(converter, "convert", None)
        self._convert: Convert | None = method if callable(method) else converter if callable(converter) else None
        if self.declared is None and self._convert is None:
            raise ValueError(
                f"--converter {spec}: neither a function, nor has it a method convert, nor is it a mapping"
            )

    def handles(self, group: str, kind: str) -> bool:
        if self.declared is not None:
            return f"{kind}.{group}" in self.declared
        if not callable(self._handles):
            return True
        try:
            return bool(self._handles(group, kind))
        except Exception:
            log.exception("--converter %s: asked whether it handles %s.%s, it raised", self.spec, kind, group)
            return False

    def function(self, group: str, kind: str) -> Convert:
        """The function that converts objects of a kind; it may change what it is given."""
        if self.declared is not None:
            return self.declared[f"{kind}.{group}"].convert_in_place
        assert self._convert is not None
        return self._convert

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self._convert)


def _from_mapping(spec: str, mapping: Mapping[Any, Any]) -> dict[str, Conversions]:
    out: dict[str, Conversions] = {}
    for key, function in mapping.items():
        try:
            kind, origin, goal = key
            out.setdefault(kind, Conversions(kind)).add(origin, goal, function)
        except (ValueError, TypeError, AttributeError):
            message = f"{key!r} must be (kind.group, from, to) and name a plain function"
            raise ValueError(f"--converter {spec}: {message}") from None
    return out
