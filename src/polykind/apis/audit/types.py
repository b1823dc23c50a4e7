"""The kind Policy: which requests the server audits, and at which level."""

from __future__ import annotations

from polykind.apis.machinery.type_tables import type_table

LEVELS = ("None", "Metadata", "Request", "RequestResponse")
"""The audit levels, from the lowest to the highest."""
STAGES = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")

POLICY = {"audit.k8s.io/v1": type_table("audit", "v1").struct("Policy")}
"""The kind Policy by apiVersion."""
