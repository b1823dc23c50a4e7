"""Columns of `kubectl get` that several built-in kinds have, and functions that compute cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from polykind import errors
from polykind.codec.table import AGE_DESCRIPTION, NAME_DESCRIPTION, Column, age
from polykind.contract import JsonObject
from polykind.selectors.selector_objects import compile_label_selector


def value_at(*path: str, default: Any = None) -> Callable[[JsonObject], Any]:
    """Return a function that computes a cell: the value at a path, or `default` if the value is missing or empty."""
    *parents, last = path

    def cell(obj: JsonObject) -> Any:
        for name in parents:
            obj = obj.get(name) or {}
        value = obj.get(last)
        return value if value or default is None else default

    return cell


def count(*paths: str) -> Callable[[JsonObject], int]:
    """Return a function that computes a cell: the total number of items in the lists or maps at dotted paths."""
    values = [value_at(*path.split("."), default=()) for path in paths]
    return lambda obj: sum(len(value(obj)) for value in values)


def name_with(suffix: Callable[[JsonObject], str]) -> Column:
    """Return the column with the names of objects, each with a suffix such as ` (default)`."""
    return Column(
        "Name", "string", NAME_DESCRIPTION, lambda obj: f"{obj['metadata'].get('name', '')}{suffix(obj)}", format="name"
    )


def since(*path: str, default: str = "<unknown>") -> Callable[[JsonObject, datetime], str]:
    """Return a function that computes a cell: the time since the time at a path, or `default` if it is missing."""
    time = value_at(*path)
    return lambda obj, now: age(found, now) if (found := time(obj)) else default


def selector_at(*path: str, empty: str = "<none>") -> Callable[[JsonObject], str]:
    """Return a function that computes a cell: the LabelSelector at a path as text, or `empty` without a selector."""
    selector = value_at(*path)

    def cell(obj: JsonObject) -> str:
        try:
            return str(compile_label_selector(selector(obj))) or empty
        except errors.InternalError:
            return "<error>" if empty else "<invalid>"

    return cell


def container_columns(*path: str) -> tuple[Column, Column]:
    """Return the wide columns with the names and images of the containers of the pod template at a path."""
    containers = value_at(*path, "spec", "containers", default=())
    return (
        Column(
            "Containers",
            "string",
            "The names of the containers in the pod template",
            lambda obj: ",".join(container.get("name", "") for container in containers(obj)),
            priority=1,
        ),
        Column(
            "Images",
            "string",
            "The images of the containers in the pod template",
            lambda obj: ",".join(container.get("image", "") for container in containers(obj)),
            priority=1,
        ),
    )


def first_items(texts: Sequence[str], limit: int, separator: str = ",") -> str:
    """Return the first `limit` texts, joined, and the number of the other texts, such as `a,b + 2 more...`."""
    shown = separator.join(texts[:limit])
    return f"{shown} + {len(texts) - limit} more..." if len(texts) > limit else shown


def condition_of(conditions: Iterable[JsonObject] | None, name: str) -> JsonObject | None:
    """Return the first condition of a type. Return None if no condition has this type."""
    return next((condition for condition in conditions or () if condition.get("type") == name), None)


def labels_at(*path: str) -> Callable[[JsonObject], str]:
    """Return a function that computes a cell: the sorted labels at a path, or `<none>` if there are no labels."""
    labels = value_at(*path, default={})
    return lambda obj: ",".join(f"{key}={value}" for key, value in sorted(labels(obj).items())) or "<none>"


def _age(obj: JsonObject, now: datetime) -> str:
    return age((obj.get("metadata") or {}).get("creationTimestamp") or "", now)


def _age_if_created(obj: JsonObject, now: datetime) -> str | None:
    created = (obj.get("metadata") or {}).get("creationTimestamp")
    return age(created, now) if isinstance(created, str) else None


AGE = Column("Age", "string", AGE_DESCRIPTION, at_time=_age)
AGE_DATE = Column("Age", "date", AGE_DESCRIPTION, at_time=_age_if_created)
"""The column with the age in the form that custom resources have: of type `date`, and empty without a creation time."""
