"""What becomes of a default role or binding that was changed: what it lacks is added, what it has more stays."""

from __future__ import annotations

from polykind.auth.rbac.coverage import covers
from polykind.auth.rbac.default_roles import AUTOUPDATE
from polykind.contract import JsonObject


def protected(existing: JsonObject) -> bool:
    """Whether its owner wants it left alone."""
    return (existing["metadata"].get("annotations") or {}).get(AUTOUPDATE) == "false"


def reconciled_role(existing: JsonObject, wanted: JsonObject) -> JsonObject:
    """A role with what it should have; it is put together of others only if it should be."""
    role = _labelled(existing, wanted)
    rules = existing.get("rules") or []
    missing = covers(rules, wanted.get("rules") or ())
    if missing:
        role["rules"] = [*rules, *missing]
    aggregation = wanted.get("aggregationRule")
    if aggregation is None:
        role.pop("aggregationRule", None)
        return role
    selectors = (existing.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    lacking = [selector for selector in aggregation["clusterRoleSelectors"] if selector not in selectors]
    if lacking:
        role["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *lacking]}
    return role


def reconciled_binding(existing: JsonObject, wanted: JsonObject) -> JsonObject | None:
    """A binding with the subjects it should have; None if it binds to another role, and so must be made anew."""
    if existing["roleRef"] != wanted["roleRef"]:
        return None
    binding = _labelled(existing, wanted)
    subjects = existing.get("subjects") or []
    missing = [subject for subject in wanted["subjects"] if subject not in subjects]
    if missing:
        binding["subjects"] = [*subjects, *missing]
    return binding


def _labelled(existing: JsonObject, wanted: JsonObject) -> JsonObject:
    """With the labels and annotations it should have; those that it has keep their values."""
    meta = dict(existing["metadata"])
    for name in ("annotations", "labels"):
        meta[name] = {**wanted["metadata"][name], **(meta.get(name) or {})}
    return {**existing, "metadata": meta}
