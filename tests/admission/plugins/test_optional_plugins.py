"""Plugins that are off by default: owner permissions, and those that namespace annotations configure."""

from __future__ import annotations

from typing import Any

import pytest

from polykind import errors
from polykind.admission.plugins.namespace_annotations import PodNodeSelector, PodTolerationRestriction
from polykind.admission.plugins.owner_permissions import AlwaysDeny, OwnerReferencesPermissionEnforcement
from polykind.auth.authorizer import Access, Decision, Rules
from polykind.auth.user import User
from polykind.contract import JsonObject
from tests.admission.plugins.plugin_support import FakeObjects, mutate, pod, rejection, request, services


class Allowing:
    """Allows the listed accesses, as `verb resource/subresource`."""

    allows_everything = False
    may_deny = False

    def __init__(self, *allowed: str) -> None:
        self.allowed = allowed

    async def decide(self, access: Access) -> Decision:
        return Decision(f"{access.verb} {access.resource}/{access.subresource}" in self.allowed)

    def rules(self, user: User, namespace: str) -> Rules:
        return Rules([], [])


def owned(*, blocking: bool, kind: str = "Vat", api_version: str = "x.io/v1") -> JsonObject:
    obj = pod()
    owner = {"apiVersion": api_version, "kind": kind, "name": "v", "uid": "u", "blockOwnerDeletion": blocking}
    obj["metadata"]["ownerReferences"] = [owner]
    return obj


CANNOT_BLOCK = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on"


@pytest.mark.parametrize(
    ("new", "old", "allowed", "reason"),
    [
        (owned(blocking=False), None, [], ""),
        (owned(blocking=True), None, [], f"{CANNOT_BLOCK}: , <nil>"),
        (owned(blocking=True), None, ["update vats/finalizers"], ""),
        (owned(blocking=True), None, ["update */finalizers"], ""),
        (owned(blocking=True), owned(blocking=True), [], ""),
        (
            owned(blocking=False),
            pod(),
            [],
            "cannot set an ownerRef on a resource you can't delete: , <nil>",
        ),
        (owned(blocking=False), pod(), ["delete pods/"], ""),
        (
            owned(blocking=True, kind="Odd", api_version="y.io/v1"),
            None,
            [],
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion y.io/v1 Kind "
            'Odd: no matches for kind "Odd" in version "y.io/v1"',
        ),
    ],
)
def test_owner_references(new: JsonObject, old: JsonObject | None, allowed: list[str], reason: str) -> None:
    plugin = OwnerReferencesPermissionEnforcement(services(FakeObjects()))
    found = rejection(plugin, request(new, old, authorizer=Allowing(*allowed)))
    assert found == (f'pods "p" is forbidden: {reason}' if reason else "")


def test_all_writes_are_denied() -> None:
    reason = "admission control is denying all modifications"
    assert reason in rejection(AlwaysDeny(services(FakeObjects())), request(None, pod()))


def annotated(**annotations: str) -> dict[str, Any]:
    prefixed = {f"scheduler.alpha.kubernetes.io/{name}": value for name, value in annotations.items()}
    return {"namespace_object": lambda: {"metadata": {"name": "default", "annotations": prefixed}}}


def test_node_selector_of_the_namespace() -> None:
    plugin = PodNodeSelector(services(FakeObjects()))
    namespace = annotated(**{"node-selector": "env=test, zone=a"})
    spec = mutate(plugin, request(pod(nodeSelector={"disk": "ssd"}), **namespace))["spec"]
    assert spec["nodeSelector"] == {"env": "test", "zone": "a", "disk": "ssd"}
    with pytest.raises(errors.ForbiddenError, match="conflicts with its namespace node label selector"):
        mutate(plugin, request(pod(nodeSelector={"env": "prod"}), **namespace))


def test_tolerations_of_the_namespace() -> None:
    plugin = PodTolerationRestriction(services(FakeObjects()))
    namespace = annotated(
        defaultTolerations='[{"key": "a", "operator": "Exists"}]',
        tolerationsWhitelist='[{"key": "a", "operator": "Exists"}]',
    )
    assert mutate(plugin, request(pod(), **namespace))["spec"]["tolerations"] == [{"key": "a", "operator": "Exists"}]
    with pytest.raises(errors.UnknownReasonError, match="conflict with its namespace whitelist"):
        mutate(plugin, request(pod(tolerations=[{"key": "b", "operator": "Exists"}]), **namespace))
