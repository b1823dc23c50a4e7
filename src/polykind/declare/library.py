"""A uniform interface for the different converter objects that `--converter package.module:object` can name.

The object is one of:

- `Conversions`;
- a mapping of `(kind.group, from version, to version)` to a function `convert(obj: dict) -> dict`, for example
  `{("CronTab.example.com", "v1", "v2"): up, ("CronTab.example.com", "v2", "v1"): down}`;
- a function `convert(obj: dict, to: str) -> dict`, or an object with such a method. The function may change `obj` and
  return it. `to` is the requested apiVersion, such as `example.com/v2`. A server also accepts an async function.

If the object has a method `handles(group: str, kind: str) -> bool`, that method selects the kinds to convert.
`Conversions` and a mapping convert the kinds that they name. Any other object converts every kind. A function does not
have to set apiVersion.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any

from polykind.contract import JsonObject
from polykind.declare.conversions import Conversions

Convert = Callable[[JsonObject, str], Any]
log = logging.getLogger(__name__)


class Library:
    """A uniform interface for a converter object. `spec` is the converter's name in messages."""

    def __init__(self, spec: str, converter: Any) -> None:
        self.spec = spec
        self.declared: dict[str, Conversions] | None = None
        """The declared conversions by kind, such as `CronTab.example.com`. None if the converter is a function."""
        if isinstance(converter, Conversions):
            self.declared = {converter.kind: converter}
        elif isinstance(converter, Mapping):
            self.declared = _from_mapping(spec, converter)
        self._handles = getattr(converter, "handles", None)
        method = getattr(converter, "convert", None)
        self._convert: Convert | None = method if callable(method) else converter if callable(converter) else None
        if self.declared is None and self._convert is None:
            raise ValueError(f"--converter {spec}: must be a function, a mapping, or an object with a method convert")

    def handles(self, group: str, kind: str) -> bool:
        """True if the converter converts this kind."""
        if self.declared is not None:
            return f"{kind}.{group}" in self.declared
        if not callable(self._handles):
            return True
        try:
            return bool(self._handles(group, kind))
        except Exception:
            log.exception(
                "converter %s: handles() raised an exception for %s.%s, not using the converter for this kind",
                self.spec,
                kind,
                group,
            )
            return False

    def function(self, group: str, kind: str) -> Convert:
        """Return the function that converts objects of a kind. The function may change its argument."""
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
            message = f"{key!r} must be (kind.group, from version, to version) and its value a plain function"
            raise ValueError(f"--converter {spec}: {message}") from None
    return out
