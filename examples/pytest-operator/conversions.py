"""Conversions of CronTabs between v1 and v2."""

from __future__ import annotations

from typing import Any

from polykind.convert import Conversions

crontabs = Conversions("CronTab.stable.example.com")


@crontabs.step("v1", "v2")
def up(obj: dict[str, Any]) -> None:
    spec = obj.get("spec", {})
    if "cronSpec" in spec:
        spec["schedule"] = spec.pop("cronSpec")


@crontabs.step("v2", "v1")
def down(obj: dict[str, Any]) -> None:
    spec = obj.get("spec", {})
    if "schedule" in spec:
        spec["cronSpec"] = spec.pop("schedule")
