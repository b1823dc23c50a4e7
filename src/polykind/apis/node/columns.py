"""Columns of `kubectl get` for RuntimeClasses."""

from __future__ import annotations

from polykind.apis.machinery.columns import AGE, value_at
from polykind.codec.table import Column

RUNTIME_CLASS = (Column("Handler", "string", "The handler of the runtime", value_at("handler", default="")), AGE)
