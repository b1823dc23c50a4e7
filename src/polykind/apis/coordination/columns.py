"""Columns of `kubectl get` for Leases."""

from __future__ import annotations

from collections.abc import Mapping

from polykind.apis.coordination import types
from polykind.apis.machinery.columns import AGE, value_at
from polykind.apis.machinery.kinds import Columns, Kind
from polykind.codec.table import Column

LEASE = (Column("Holder", "string", "The holder of the lease", value_at("spec", "holderIdentity", default="")), AGE)

COLUMNS: Mapping[Kind, Columns] = {
    types.LEASE: LEASE,
}
