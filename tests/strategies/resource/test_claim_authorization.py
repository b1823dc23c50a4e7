"""Permissions for parts of a ResourceClaim's status. The messages are kube-apiserver's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.auth.authorizer import Access, Decision
from polykind.auth.user import User
from polykind.contract import JsonObject
from polykind.strategies.resource.claim_authorization import status_permission_errors
from tests.support.live import Live
from tests.support.permissions import allow, ask_as, live_with_users
from tests.support.widgets import MERGE

GROUP = "resource.k8s.io"
CLAIMS = f"/apis/{GROUP}/v1/namespaces/default/resourceclaims"
DRIVER, OTHER = "d.example.com", "e.example.com"
ON_NODE = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
CONSUMER = [{"resource": "pods", "name": "p", "uid": "u"}]
SERVICE_ACCOUNT = "system:serviceaccount:default:driver"


def device(driver: str = DRIVER, **more: Any) -> JsonObject:
    return {"driver": driver, "pool": "p", "device": "v", **more}


ALLOCATION = {
    "devices": {"results": [{"request": "r", **device(driver)} for driver in (DRIVER, OTHER)]},
    "nodeSelector": ON_NODE,
}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    """Start a server with a claim. All users may write its status; cal may bind, dan may report devices of DRIVER."""
    async with live_with_users(tmp_path, "ann", "cal", "dan") as running:
        for user in ("ann", "cal", "dan"):
            await allow(running, user, GROUP, "resourceclaims/status", "update", "patch")
        await allow(running, "cal", GROUP, "resourceclaims/binding", "patch")
        await allow(running, "dan", GROUP, "resourceclaims/driver", "arbitrary-node:patch", name=DRIVER)
        request = {"name": "r", "exactly": {"deviceClassName": "x.example.com"}}
        spec = {"devices": {"requests": [request]}}
        await running.ask("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
        yield running


async def patch(running: Live, user: str, expect: int, **status: Any) -> Any:
    return await ask_as(running, user, "PATCH", f"{CLAIMS}/c/status", {"status": status}, kind=MERGE, expect=expect)


async def test_only_a_binder_allocates_and_deallocates(running: Live) -> None:
    rejected = await patch(running, "ann", 422, allocation=ALLOCATION)
    assert rejected["message"] == (
        f'ResourceClaim.{GROUP} "c" is invalid: status.allocation: Forbidden: changing status.allocation or '
        'status.reservedFor requires resource="resourceclaims/binding", verb="patch" permission: '
        f'resourceclaims.{GROUP} is forbidden: User "ann" cannot patch resource "resourceclaims/binding" '
        f'in API group "{GROUP}" at the cluster scope'
    )
    await patch(running, "dan", 422, allocation=ALLOCATION)
    await patch(running, "cal", 200, allocation=ALLOCATION)
    await patch(running, "ann", 422, reservedFor=CONSUMER)
    await patch(running, "cal", 200, reservedFor=CONSUMER)
    await patch(running, "ann", 422, reservedFor=None)
    await patch(running, "ann", 422, allocation=None, reservedFor=None)
    await patch(running, "cal", 200, allocation=None, reservedFor=None)


async def test_put_needs_the_verb_update(running: Live) -> None:
    claim = await running.ask("GET", f"{CLAIMS}/c")
    claim["status"] = {"allocation": ALLOCATION}
    rejected = await ask_as(running, "cal", "PUT", f"{CLAIMS}/c/status", claim, expect=422)
    assert 'resource="resourceclaims/binding", verb="update" permission' in rejected["message"]


async def test_a_driver_reports_only_its_own_devices(running: Live) -> None:
    await patch(running, "cal", 200, allocation=ALLOCATION)
    rejected = await patch(running, "dan", 422, devices=[device(), device(OTHER)])
    assert rejected["message"] == (
        f'ResourceClaim.{GROUP} "c" is invalid: status.devices: Forbidden: changing status.devices requires '
        'resource="resourceclaims/driver", verb="[arbitrary-node:patch]" permission: '
        f'resourceclaims.{GROUP} "{OTHER}" is forbidden: User "dan" cannot arbitrary-node:patch resource '
        f'"resourceclaims/driver" in API group "{GROUP}" in the namespace "default"'
    )
    await patch(running, "dan", 200, devices=[device()])
    await patch(running, "ann", 200, devices=[device(conditions=[])])
    await patch(running, "ann", 422, devices=[device(data={})])
    await patch(running, "cal", 422, devices=[])


@pytest.mark.parametrize(
    ("node", "status"),
    [
        pytest.param("n1", 200, id="the claim's node"),
        pytest.param("n2", 422, id="another node"),
        pytest.param("", 422, id="no node"),
    ],
)
async def test_a_service_account_reports_devices_of_its_node(running: Live, node: str, status: int) -> None:
    await patch(running, "cal", 200, allocation=ALLOCATION)
    await allow(running, SERVICE_ACCOUNT, GROUP, "resourceclaims/status", "patch")
    await allow(running, SERVICE_ACCOUNT, GROUP, "resourceclaims/driver", "associated-node:patch")
    headers = [f"Impersonate-User: {SERVICE_ACCOUNT}"]
    if node:
        headers.append(f"Impersonate-Extra-authentication.kubernetes.io%2fnode-name: {node}")
    body = {"status": {"devices": [device()]}}
    await ask_as(running, "", "PATCH", f"{CLAIMS}/c/status", body, kind=MERGE, headers=tuple(headers), expect=status)


class Denying:
    """Denies everything and records what it was asked."""

    allows_everything = False
    may_deny = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def decide(self, access: Access) -> Decision:
        self.asked.append(f"{access.verb} {access.subresource} {access.name}".strip())
        return Decision(False, "reason", error="error")


@pytest.mark.parametrize(
    ("new", "old", "asked"),
    [
        pytest.param({}, {}, [], id="nothing"),
        pytest.param({"reservedFor": []}, {}, [], id="an empty list is none"),
        pytest.param({"allocation": {}}, {}, ["update binding"], id="an empty allocation is one"),
        pytest.param({}, {"allocation": {}, "devices": [device()]}, ["update binding"], id="devices go with it"),
        pytest.param(
            {"allocation": {}, "devices": [device(shareID="a")]},
            {"allocation": {}, "devices": [device(shareID="b")]},
            [f"arbitrary-node:update driver {DRIVER}"],
            id="another share is another device",
        ),
        pytest.param(
            {"allocation": {"nodeSelector": ON_NODE}, "devices": [device()]},
            {"allocation": {"nodeSelector": ON_NODE}, "devices": [device(OTHER)]},
            [
                f"{prefix}:update driver {name}"
                for name in (DRIVER, OTHER)
                for prefix in ("associated-node", "arbitrary-node")
            ],
            id="both verbs for each driver",
        ),
    ],
)
async def test_permissions_that_a_change_needs(new: JsonObject, old: JsonObject, asked: list[str]) -> None:
    authorizer: Any = Denying()
    user = User(SERVICE_ACCOUNT, "", (), {"authentication.kubernetes.io/node-name": ("n1",)})
    access = Access(user, "update", GROUP, "v1", "resourceclaims", "status", "default", "c")
    found = await status_permission_errors(authorizer, access, new, old)
    assert authorizer.asked == asked
    assert all("error: reason" in error.detail for error in found)
