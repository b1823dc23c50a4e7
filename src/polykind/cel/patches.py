"""What expressions of mutations may make: objects, typed by the path to them, and JSON patches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from polykind.cel.failures import EvalError
from polykind.cel.frame import Frame, Run
from polykind.cel.native import go_type, shown
from polykind.cel.types import DYN, STRING, Type, struct
from polykind.cel.values import KINDS, Made, Obj, Optional, Shape, equals

OBJECT, PATCH = struct("Object"), struct("JSONPatch")
_UNKNOWN = Type("unspecified", "")
_TEXTS = ("op", "from", "path")
_FIELDS = {**dict.fromkeys(_TEXTS, STRING), "value": DYN}
_SHAPE = Shape(lambda name: (name, None), dict)


def made_type(name: str) -> Type | None:
    """The type of that name, if values of it can be made."""
    if name in (OBJECT.name, PATCH.name) or name.startswith(f"{OBJECT.name}."):
        return struct(name)
    return None


def made_field(type_: str, name: str) -> Type | None:
    """The type of a field of what can be made. Objects have whichever fields they are given."""
    if type_ == PATCH.name:
        return _FIELDS.get(name, _UNKNOWN)
    return DYN if made_type(type_) is not None else None


class Patch(Obj):
    """One operation of a JSON patch."""

    __slots__ = ()

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields, _SHAPE)

    def get(self, name: str) -> Any:
        if name not in _FIELDS:
            raise EvalError(f"unsupported indexer: {name}")
        return self.raw.get(name, "" if name in _TEXTS else None)

    def has(self, name: str) -> bool:
        return bool(self.raw.get(name)) if name in _TEXTS else name in self.raw

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Patch) or any(self.get(name) != other.get(name) for name in _TEXTS):
            return False
        return self.has("value") == other.has("value") and equals(self.get("value"), other.get("value")) is True

    __hash__ = None  # type: ignore[assignment]


KINDS[Made] = OBJECT.name
KINDS[Patch] = PATCH.name


def maker(type_: Type) -> Callable[[dict[str, Any]], Any] | None:
    """Makes a value of a type of its fields; None if it is none of those."""
    if type_ == PATCH:
        return _patch
    return partial(Made, type_) if made_type(type_.name) is not None else None


def construct(make: Callable[[dict[str, Any]], Any], fields: Sequence[tuple[str, Run, bool]]) -> Run:
    """Makes a value of its fields; one that is optional is left out where nothing is in it."""

    def build(frame: Frame) -> Any:
        found: dict[str, Any] = {}
        for name, run, optional in fields:
            value = run(frame)
            if optional:
                if not isinstance(value, Optional):
                    why = f"cannot initialize optional entry '{name}' from non-optional value"
                    raise EvalError(f"{why} {shown(value)}")
                if not value.present:
                    found.pop(name, None)
                    continue
                value = value.value
            found[name] = value
        return make(found)

    return build


def _patch(fields: dict[str, Any]) -> Patch:
    for name in _TEXTS:
        value = fields.get(name, "")
        if not isinstance(value, str):
            raise EvalError(f"unexpected type {go_type(value)} for JSONPatchType '{name}' field")
    return Patch(fields)


def select(value: Any, name: str) -> Any:
    """A field of something that was made; one that it was not given is null."""
    return value.fields.get(name) if isinstance(value, Made) else value.get(name)


def has(value: Any, name: str) -> bool:
    return name in value.fields if isinstance(value, Made) else bool(value.has(name))
