"""The kind RateLimitConfiguration: how many requests and watches each user may have."""

from __future__ import annotations

from polykind.apis.machinery.type_tables import type_table

CONFIGURATION = {"polykind.dev/v1": type_table("ratelimits", "v1").struct("RateLimitConfiguration")}
"""The kind RateLimitConfiguration by apiVersion."""
