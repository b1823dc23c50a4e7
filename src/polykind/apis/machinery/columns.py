"""Columns of `kubectl get` that several built-in kinds have, and functions that compute cells."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from polykind.codec.table import AGE_DESCRIPTION, Column, age
from polykind.contract import JsonObject


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


def labels_at(*path: str) -> Callable[[JsonObject], str]:
    """Return a function that computes a cell: the labels at a path, sorted, or `<none>`."""
    labels = value_at(*path, default={})
    return lambda obj: ",".join(f"{key}={value}" for key, value in sorted(labels(obj).items())) or "<none>"


def _age(obj: JsonObject, now: datetime) -> str:
    return age((obj.get("metadata") or {}).get("creationTimestamp") or "", now)


def _age_if_created(obj: JsonObject, now: datetime) -> str | None:
    created = (obj.get("metadata") or {}).get("creationTimestamp")
    return age(created, now) if isinstance(created, str) else None


AGE = Column("Age", "string", AGE_DESCRIPTION, at_time=_age)
AGE_DATE = Column("Age", "date", AGE_DESCRIPTION, at_time=_age_if_created)
"""The age as custom resources show it."""
