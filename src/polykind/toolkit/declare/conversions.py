"""Conversions declared as plain functions: a step from one version of a kind to another, and the ways they make.

    crontabs = Conversions("CronTab.stable.example.com")

    @crontabs.step("v1", "v2")
    def up(obj):
        obj["spec"]["schedule"] = obj["spec"].pop("cronSpec")

    @crontabs.step("v2", "v1", loses={"spec.timeZone": "v1 knows only UTC"})
    def down(obj):
        obj["spec"]["cronSpec"] = obj["spec"].pop("schedule")

A step is handed an object of its own, changes it and returns it or nothing, or returns another. `apiVersion` is set for
it. Objects may be partial: server-side apply converts objects that have no spec, or nothing but one field.

ConversionError      a step raised, or returned no object
  NoWay              no steps lead from one version to the other
Incomplete           of a definition's versions, some cannot be reached from others
"""

from __future__ import annotations

import inspect
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from polykind.contract import JsonObject, copy_json
from polykind.toolkit.declare.field_rules import FieldRule, compose

ObjectFunction = Callable[[JsonObject], Any]
F = TypeVar("F", bound=ObjectFunction)


class ConversionError(Exception):
    """An object could not be converted; the text names the object, the versions and what went wrong."""


class NoWay(ConversionError, LookupError):
    """No steps lead from one version to the other."""


class Incomplete(ValueError):
    """Some versions cannot be reached from others: `missing` are the pairs."""

    def __init__(self, kind: str, missing: list[tuple[str, str]]) -> None:
        lines = ", ".join(f"{origin} to {goal}" for origin, goal in missing)
        super().__init__(f"{kind}: no steps lead from {lines}")
        self.missing = missing


class ConversionFunction(NamedTuple):
    """One function that converts from a version to another; `loses` are the fields it cannot keep, and why."""

    origin: str
    goal: str
    function: ObjectFunction
    loses: Mapping[str, str]


class Conversions:
    """The conversions of one kind. Where no step leads all the way, the fewest that do are chained."""

    def __init__(self, kind: str) -> None:
        """`kind` names the kind and its group, such as `CronTab.stable.example.com`."""
        self.name, dot, self.group = kind.partition(".")
        if not (self.name and dot and self.group):
            raise ValueError(f"{kind!r} does not name a kind and its group, such as CronTab.stable.example.com")
        self.kind = kind
        self.steps: dict[tuple[str, str], ConversionFunction] = {}
        self._paths: dict[tuple[str, str], tuple[ConversionFunction, ...]] = {}

    def __repr__(self) -> str:
        return f"Conversions({self.kind!r})"

    def step(self, origin: str, goal: str, *, loses: Mapping[str, str] | None = None) -> Callable[[F], F]:
        """Declare the function that converts from one version to another.

        `loses` acknowledges what the new version cannot say: paths of the old one, such as `spec.timeZone` or
        `spec.ports[*].name`, each with the reason. What is lost and not acknowledged fails the generated tests.
        """

        def declare(function: F) -> F:
            self.add(origin, goal, function, loses=loses)
            return function

        return declare

    def add(self, origin: str, goal: str, function: ObjectFunction, *, loses: Mapping[str, str] | None = None) -> None:
        """As `step`, for a function that is at hand."""
        if origin == goal or not origin or not goal or "/" in origin + goal:
            raise ValueError(f"{self.kind}: a step leads from one version to another, not from {origin!r} to {goal!r}")
        if (origin, goal) in self.steps:
            raise ValueError(f"{self.kind}: two steps lead from {origin} to {goal}")
        if not callable(function) or inspect.iscoroutinefunction(function):
            raise TypeError(f"{self.kind}: the step from {origin} to {goal} must be a plain function, not {function!r}")
        for path, reason in (loses or {}).items():
            if not reason.strip():
                raise ValueError(f"{self.kind}: the step from {origin} to {goal} loses {path}: say why")
        self.steps[origin, goal] = ConversionFunction(origin, goal, function, dict(loses or {}))
        self._paths.clear()

    def between(self, old: str, new: str, *rules: FieldRule) -> None:
        """Declare how two versions differ by field rules. The functions in both directions follow from them."""
        there, back, there_loses, back_loses = compose(rules, old, new)
        self.add(old, new, there, loses=there_loses)
        self.add(new, old, back, loses=back_loses)

    @property
    def versions(self) -> list[str]:
        """The versions that steps lead from or to, in the order they were declared."""
        return list(dict.fromkeys(version for edge in self.steps for version in edge))

    def handles(self, group: str, kind: str) -> bool:
        return (group, kind) == (self.group, self.name)

    def path(self, origin: str, goal: str) -> tuple[ConversionFunction, ...]:
        """The fewest steps from one version to another; of equally few, those declared first. Raises NoWay."""
        path = self._paths.get((origin, goal))
        if path is None:
            path = self._paths[origin, goal] = self._search(origin, goal)
        return path

    def check(self, versions: Iterable[str]) -> None:
        """Make sure that every one of these versions can be converted to every other. Raises Incomplete."""
        names = list(versions)
        missing = []
        for pair in ((origin, goal) for origin in names for goal in names if origin != goal):
            try:
                self.path(*pair)
            except NoWay:
                missing.append(pair)
        if missing:
            raise Incomplete(self.kind, missing)

    def convert(self, obj: JsonObject, to: str) -> JsonObject:
        """The object at another version; `to` is a version or an apiVersion. The one given is left as it is."""
        return self.convert_in_place(copy_json(obj), to)

    def convert_in_place(self, obj: JsonObject, to: str) -> JsonObject:
        """As `convert`, of an object that nobody else needs: it may be changed."""
        group, _, origin = _string(obj.get("apiVersion")).rpartition("/")
        if not self.handles(group, _string(obj.get("kind"))):
            raise ConversionError(f"{describe_object(obj)} is no {self.kind}")
        requested_group, _, goal = to.rpartition("/")
        if requested_group not in ("", group):
            raise NoWay(f"{describe_object(obj)} cannot be converted to {to}: it is of the group {group}")
        for step in self.path(origin, goal):
            obj = _call(step, obj)
            obj["apiVersion"] = f"{group}/{step.goal}"
        # The API server refuses an answer without metadata, though server-side apply may have sent it none.
        obj.setdefault("metadata", {})
        return obj

    def way(self, origin: str, goal: str) -> tuple[ConversionFunction, ...]:
        """Deprecated: use `path`."""
        warnings.warn("Conversions.way is deprecated, use Conversions.path", DeprecationWarning, stacklevel=2)
        return self.path(origin, goal)

    def change(self, obj: JsonObject, to: str) -> JsonObject:
        """Deprecated: use `convert_in_place`."""
        warnings.warn(
            "Conversions.change is deprecated, use Conversions.convert_in_place", DeprecationWarning, stacklevel=2
        )
        return self.convert_in_place(obj, to)

    def _search(self, origin: str, goal: str) -> tuple[ConversionFunction, ...]:
        queue: deque[tuple[str, tuple[ConversionFunction, ...]]] = deque([(origin, ())])
        visited = {origin}
        while queue:
            version, path = queue.popleft()
            if version == goal:
                return path
            for step in self.steps.values():
                if step.origin == version and step.goal not in visited:
                    visited.add(step.goal)
                    queue.append((step.goal, (*path, step)))
        raise NoWay(f"no conversion leads from {origin} to {goal}")


def _call(step: ConversionFunction, obj: JsonObject) -> JsonObject:
    subject = describe_object(obj)
    try:
        out = step.function(obj)
    except Exception as error:
        message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise ConversionError(f"{subject} cannot be converted from {step.origin} to {step.goal}: {message}") from error
    if out is None:
        return obj
    if not isinstance(out, dict):
        if inspect.iscoroutine(out):
            out.close()
        message = f"the step returned {type(out).__name__}, not an object"
        raise ConversionError(f"{subject} cannot be converted from {step.origin} to {step.goal}: {message}")
    return out


def describe_object(obj: JsonObject) -> str:
    """Who an object says it is, for messages."""
    metadata = obj.get("metadata")
    fields: JsonObject = metadata if isinstance(metadata, dict) else {}
    name = _string(fields.get("name")) or "without a name"
    namespace = _string(fields.get("namespace"))
    return f"{_string(obj.get('kind')) or 'an object'} {f'{namespace}/{name}' if namespace else name}"


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
