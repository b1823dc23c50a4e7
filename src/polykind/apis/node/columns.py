"""Columns of `kubectl get` for RuntimeClasses."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.machinery.columns import AGE, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.apis.node import types
from polykind.codec.table import Column

RUNTIME_CLASS = (Column("Handler", "string", "The handler of the runtime", value_at("handler", default="")), AGE)

COLUMNS: Mapping[Kind, Columns] = {
    types.RUNTIME_CLASS: RUNTIME_CLASS,
}
