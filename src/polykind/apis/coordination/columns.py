"""Columns of `kubectl get` for Leases."""

from __future__ import annotations

from polykind.apis.machinery.columns import AGE, value_at
from polykind.codec.table import Column

LEASE = (Column("Holder", "string", "The holder of the lease", value_at("spec", "holderIdentity", default="")), AGE)
