"""Defaults of role bindings."""

from __future__ import annotations

from polykind.apis.rbac.types import GROUP
from polykind.contract import JsonObject


def default_binding(obj: JsonObject) -> None:
    """Set the defaults of a RoleBinding or ClusterRoleBinding, in place."""
    obj["roleRef"]["apiGroup"] = obj["roleRef"]["apiGroup"] or GROUP
    for subject in obj.get("subjects") or ():
        if subject["kind"] in ("User", "Group"):
            subject.setdefault("apiGroup", GROUP)
