"""Conversions between the versions of one kind, declared as plain functions.

    crontabs = Conversions("CronTab.stable.example.com")

    @crontabs.step("v1", "v2")
    def up(obj):
        obj["spec"]["schedule"] = obj["spec"].pop("cronSpec")

    @crontabs.step("v2", "v1", loses={"spec.timeZone": "v1 knows only UTC"})
    def down(obj):
        obj["spec"]["cronSpec"] = obj["spec"].pop("schedule")

The decorator `step` declares a conversion function. The function receives its own copy of an object. It may change the
copy and return nothing, or return a new object. The toolkit sets `apiVersion`. Objects may be partial, because
server-side apply converts objects without a spec or with a single field.

Exceptions:

ConversionError      a conversion function raised an exception or did not return an object
  NoWay              no path of conversion functions leads from one version to the other
Incomplete           some pairs of versions have no conversion path
"""

from __future__ import annotations

import inspect
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from polykind.contract import JsonObject, copy_json
from polykind.declare.field_rules import FieldRule, compose, named_paths
from polykind.declare.rule_place import caller_place

ObjectFunction = Callable[[JsonObject], Any]
F = TypeVar("F", bound=ObjectFunction)


class ConversionError(Exception):
    """An object cannot be converted. The message names the object, the versions and the cause."""


class NoWay(ConversionError, LookupError):
    """No path of conversion functions leads from one version to the other."""


class Incomplete(ValueError):
    """Some pairs of versions have no conversion path. `missing` lists the pairs."""

    def __init__(self, kind: str, missing: list[tuple[str, str]]) -> None:
        lines = ", ".join(f"{origin} to {goal}" for origin, goal in missing)
        super().__init__(f"{kind}: no steps lead from {lines}")
        self.missing = missing


class ConversionFunction(NamedTuple):
    """A function that converts objects from one version to another.

    `loses` maps the paths of fields that the function cannot keep to the reasons.
    """

    origin: str
    goal: str
    function: ObjectFunction
    loses: Mapping[str, str]


class Conversions:
    """The conversion functions of one kind.

    If no function converts one version directly to another, objects are converted by the shortest path of functions.
    """

    def __init__(self, kind: str) -> None:
        """`kind` is the kind with its group, such as `CronTab.stable.example.com`."""
        self.name, dot, self.group = kind.partition(".")
        if not (self.name and dot and self.group):
            raise ValueError(f"{kind!r} does not name a kind and its group, such as CronTab.stable.example.com")
        self.kind = kind
        self.steps: dict[tuple[str, str], ConversionFunction] = {}
        self.named_paths: list[tuple[str, str, str]] = []
        """The fields that field rules name: version, path, and the file and line where the rule is declared."""
        self._paths: dict[tuple[str, str], tuple[ConversionFunction, ...]] = {}

    def __repr__(self) -> str:
        return f"Conversions({self.kind!r})"

    def step(self, origin: str, goal: str, *, loses: Mapping[str, str] | None = None) -> Callable[[F], F]:
        """Declare the function that converts objects from version `origin` to version `goal`.

        `loses` acknowledges fields that `goal` cannot represent: paths in `origin`, such as `spec.timeZone` or
        `spec.ports[*].name`, each with a reason. The generated tests fail for a loss that is not acknowledged.
        """

        def declare(function: F) -> F:
            self.add(origin, goal, function, loses=loses)
            return function

        return declare

    def add(self, origin: str, goal: str, function: ObjectFunction, *, loses: Mapping[str, str] | None = None) -> None:
        """Declare a conversion function without the decorator. The parameters are those of `step`."""
        if origin == goal or not origin or not goal or "/" in origin + goal:
            raise ValueError(f"{self.kind}: a step leads from one version to another, not from {origin!r} to {goal!r}")
        if (origin, goal) in self.steps:
            raise ValueError(f"{self.kind}: two steps lead from {origin} to {goal}")
        if not callable(function) or inspect.iscoroutinefunction(function):
            raise TypeError(f"{self.kind}: the step from {origin} to {goal} must be a plain function, not {function!r}")
        for path, reason in (loses or {}).items():
            if not reason.strip():
                raise ValueError(f"{self.kind}: the step from {origin} to {goal} loses {path}: give a reason")
        self.steps[origin, goal] = ConversionFunction(origin, goal, function, dict(loses or {}))
        self._paths.clear()

    def between(self, old: str, new: str, *rules: FieldRule) -> None:
        """Declare the conversions between two versions, in both directions, by field rules."""
        there, back, there_loses, back_loses = compose(rules, old, new)
        place = next((rule.place for rule in rules if rule.place), "") or caller_place()
        for function in (there, back):
            function.__dict__["declared_at"] = place
        for rule in rules:
            self.named_paths += [
                (version, path, rule.place or place) for version, path in named_paths([rule], old, new)
            ]
        self.add(old, new, there, loses=there_loses)
        self.add(new, old, back, loses=back_loses)

    @property
    def versions(self) -> list[str]:
        """The versions of all conversion functions, in the order of declaration."""
        return list(dict.fromkeys(version for edge in self.steps for version in edge))

    def handles(self, group: str, kind: str) -> bool:
        return (group, kind) == (self.group, self.name)

    def path(self, origin: str, goal: str) -> tuple[ConversionFunction, ...]:
        """Return the shortest path between two versions, or the path declared first if several are equally short.

        Raise NoWay if no path leads from `origin` to `goal`.
        """
        path = self._paths.get((origin, goal))
        if path is None:
            path = self._paths[origin, goal] = self._search(origin, goal)
        return path

    def check(self, versions: Iterable[str]) -> None:
        """Raise Incomplete if a version has no conversion path to one of the other versions."""
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
        """Return a converted copy of the object. `to` is the target version or apiVersion."""
        return self.convert_in_place(copy_json(obj), to)

    def convert_in_place(self, obj: JsonObject, to: str) -> JsonObject:
        """Convert like `convert`, but change the object `obj` itself instead of a copy."""
        group, _, origin = _string(obj.get("apiVersion")).rpartition("/")
        if not self.handles(group, _string(obj.get("kind"))):
            raise ConversionError(f"{describe_object(obj)} is not a {self.kind}")
        requested_group, _, goal = to.rpartition("/")
        if requested_group not in ("", group):
            raise NoWay(f"{describe_object(obj)} cannot be converted to {to}: it is of the group {group}")
        for step in self.path(origin, goal):
            obj = _call(step, obj)
            obj["apiVersion"] = f"{group}/{step.goal}"
        # Server-side apply may send an object without metadata, but the API server rejects a result without metadata.
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
    """Return the kind, namespace and name of an object for messages."""
    metadata = obj.get("metadata")
    fields: JsonObject = metadata if isinstance(metadata, dict) else {}
    name = _string(fields.get("name")) or "without a name"
    namespace = _string(fields.get("namespace"))
    return f"{_string(obj.get('kind')) or 'an object'} {f'{namespace}/{name}' if namespace else name}"


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""
