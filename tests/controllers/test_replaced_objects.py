"""Objects that are deleted and created again between a controller's read and its write.

In each test, the first write of the controller is held. Its object is replaced by one of the same name. The write must
not reach the new object.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from polykind import errors
from polykind.contract import JsonObject, KeyValue, RevisionConflictError
from polykind.controllers import object_client
from polykind.controllers.event_expiry import EventExpiry
from polykind.controllers.garbage_collector import GarbageCollector
from polykind.controllers.object_client import ObjectClient
from polykind.controllers.rbac_bootstrap import RBACBootstrap
from polykind.migration import rewriter
from polykind.operations.operation import Operation
from tests.controllers.test_event_expiry import EVENTS, LaterClock
from tests.controllers.test_flow_schema_status import FLOWCONTROL, LEVEL, SCHEMA, dangling
from tests.support import migrations
from tests.support.gate import Gate, held
from tests.support.live import DEFINITIONS, Live, live
from tests.support.widgets import MERGE, NAME, WIDGETS, definition, widget

RBAC = "/apis/rbac.authorization.k8s.io/v1"
CORE = "/api/v1/namespaces/default"
HOLD = {"finalizers": ["example.com/hold"]}


@pytest.fixture(autouse=True)
def absent_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat owners that the garbage collector has never observed as deleted at once."""
    monkeypatch.setattr(GarbageCollector, "absent_owner_delay", 0.0)


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as running:
        await running.define(definition())
        yield running


@asynccontextmanager
async def writing(
    monkeypatch: pytest.MonkeyPatch, function: str, name: str, subresource: str = ""
) -> AsyncIterator[Gate]:
    """Hold the first write of a controller to the object with a name."""

    def matches(written: Any, *_: Any, **__: Any) -> bool:
        op: Operation = getattr(written, "op", written)
        return (op.name, op.subresource) == (name, subresource)

    async with held(monkeypatch, object_client, function, matches) as gate:
        yield gate


def owned(obj: JsonObject, *owners: JsonObject) -> JsonObject:
    references = [{k: {**o, **o["metadata"]}[k] for k in ("apiVersion", "kind", "name", "uid")} for o in owners]
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": references}}


async def replace(running: Live, collection: str, obj: JsonObject) -> JsonObject:
    """Delete the object with the name of `obj`, and create `obj`."""
    await running.ask("DELETE", f"{collection}/{obj['metadata']['name']}")
    created: JsonObject = await running.ask("POST", collection, obj)
    return created


async def assert_unchanged(running: Live, collection: str, created: JsonObject) -> None:
    stored = await running.ask("GET", f"{collection}/{created['metadata']['name']}")
    assert stored["metadata"] == created["metadata"]


# ---------------------------------------------------------------------- garbage collector


async def test_garbage_collector_keeps_the_namesake_of_a_dependent(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = await running.ask("POST", WIDGETS, widget("owner"))
    await running.ask("POST", WIDGETS, owned(widget("leaf"), owner))
    async with writing(monkeypatch, "delete_object", "leaf") as gate:
        await running.ask("DELETE", f"{WIDGETS}/owner")
        await gate.reached()
        created = await replace(running, WIDGETS, widget("leaf"))
        await gate.open()
    assert isinstance(gate.failure, errors.ConflictError)
    await assert_unchanged(running, WIDGETS, created)


async def test_garbage_collector_keeps_a_dependent_that_was_given_another_owner(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The uid is the same, but the decision was based on the owner references of an older revision."""
    old, new = [await running.ask("POST", WIDGETS, widget(name)) for name in ("old", "new")]
    await running.ask("POST", WIDGETS, owned(widget("leaf"), old))
    async with writing(monkeypatch, "delete_object", "leaf") as gate:
        await running.ask("DELETE", f"{WIDGETS}/old")
        await gate.reached()
        references = owned(widget("leaf"), new)["metadata"]["ownerReferences"]
        adopted = await running.ask(
            "PATCH", f"{WIDGETS}/leaf", {"metadata": {"ownerReferences": references}}, kind=MERGE
        )
        await gate.open()
    assert isinstance(gate.failure, errors.ConflictError)
    await assert_unchanged(running, WIDGETS, adopted)


async def test_garbage_collector_changes_no_owners_of_a_namesake(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = [await running.ask("POST", WIDGETS, widget(name)) for name in ("one", "two")]
    await running.ask("POST", WIDGETS, owned(widget("graft"), one, two))
    async with writing(monkeypatch, "change_object", "graft") as gate:
        await running.ask("DELETE", f"{WIDGETS}/one")
        await gate.reached()
        created = await replace(running, WIDGETS, owned(widget("graft"), two))
        await gate.open()
    assert isinstance(gate.failure, errors.ConflictError)
    await assert_unchanged(running, WIDGETS, created)


async def test_garbage_collector_removes_no_finalizer_of_a_namesake(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.ask("POST", WIDGETS, widget("owner"))
    async with writing(monkeypatch, "change_object", "owner") as gate:
        await running.ask("DELETE", f"{WIDGETS}/owner?propagationPolicy=Foreground")
        await gate.reached()
        await running.ask("PATCH", f"{WIDGETS}/owner", {"metadata": {"finalizers": None}}, kind=MERGE)
        again = widget("owner", meta={"finalizers": ["foregroundDeletion", "example.com/hold"]})
        created = await running.ask("POST", WIDGETS, again)
        await gate.open()
    assert isinstance(gate.failure, errors.ConflictError)
    await assert_unchanged(running, WIDGETS, created)


# ---------------------------------------------------------------------- CRDs


async def test_instances_of_a_crd_that_was_created_again_survive(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.ask("POST", WIDGETS, widget("w"))
    await running.ask("POST", WIDGETS, widget("x"))
    path = f"{DEFINITIONS}/{NAME}"
    async with writing(monkeypatch, "delete_object", "w") as gate:
        await running.ask("DELETE", path)
        await gate.reached()
        await running.ask("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)
        await running.define(definition())
        created = [await replace(running, WIDGETS, widget(name)) for name in ("w", "x")]
        created.append(await running.ask("POST", WIDGETS, widget("new")))
        crd = await running.ask("GET", path)
        await gate.open()
    await running.server.crds.finalizer.attempt(NAME)
    for obj in created:
        await assert_unchanged(running, WIDGETS, obj)
    assert await running.ask("GET", path) == crd


@pytest.mark.parametrize("function", ["remove_cached", "replace_cached"])
async def test_crd_that_was_created_again_is_neither_deleted_nor_changed(
    running: Live, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Without instances, the first write removes the CRD. With instances, it writes the condition Terminating."""
    path = f"{DEFINITIONS}/{NAME}"
    if function == "replace_cached":
        await running.ask("POST", WIDGETS, widget("w"))
    async with held(monkeypatch, ObjectClient, function, lambda _, __, seen, *_a, **_k: seen.name == NAME) as gate:
        await running.ask("DELETE", path)
        await gate.reached()
        await running.ask("PATCH", path, {"metadata": {"finalizers": None}}, kind=MERGE)
        await running.define(definition())
        crd = await running.ask("GET", path)
        await gate.open()
    assert isinstance(gate.failure, RevisionConflictError)
    await running.server.crds.finalizer.attempt(NAME)
    assert await running.ask("GET", path) == crd


# ---------------------------------------------------------------------- migrations


async def test_migration_of_the_same_name_has_its_own_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with live(tmp_path, converter=(migrations.CONVERTER,)) as running:
        await running.define(migrations.gears())
        async with writing(monkeypatch, "change_object", "m", "status") as gate:
            await running.ask("POST", migrations.MIGRATIONS, migrations.migration("m"))
            await gate.reached()
            await replace(running, migrations.MIGRATIONS, migrations.migration("m"))
            await gate.open()
        assert isinstance(gate.failure, errors.ConflictError)
        await migrations.ended(running, "m")


async def test_migration_starts_again_for_a_crd_that_was_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored versions of the new CRD are reset only after the objects of the new CRD have been rewritten."""
    path = f"{DEFINITIONS}/{migrations.NAME}"
    async with live(tmp_path, converter=(migrations.CONVERTER,)) as running:
        await running.define(migrations.gears())
        async with held(monkeypatch, rewriter.Rewriter, "run") as gate:
            await running.ask("POST", migrations.MIGRATIONS, migrations.migration("m"))
            await gate.reached()
            await running.ask("DELETE", path)
            await running.gone(DEFINITIONS, migrations.NAME)
            await running.define(migrations.gears())
            await running.ask("POST", migrations.all_gears(), migrations.gear("g", teeth=1))
            await migrations.store_at(running, "v2")
            await gate.open()
        await migrations.ended(running, "m")
        assert (await running.ask("GET", path))["status"]["storedVersions"] == ["v2"]
        values = await migrations.stored(running)
        assert all(b"/v2" in value for value in values.values())


# ---------------------------------------------------------------------- other controllers


async def test_aggregated_rules_are_not_given_to_a_namesake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    roles = f"{RBAC}/clusterroles"
    rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["secrets"]}
    async with live(tmp_path, authorization_mode=("RBAC",)) as running:
        await running.ask("POST", roles, {"metadata": {"name": "part", "labels": {"a": "1"}}, "rules": [rule]})
        selectors = {"clusterRoleSelectors": [{"matchLabels": {"a": "1"}}]}
        async with writing(monkeypatch, "change_object", "sum") as gate:
            await running.ask("POST", roles, {"metadata": {"name": "sum"}, "aggregationRule": selectors})
            await gate.reached()
            created = await replace(running, roles, {"metadata": {"name": "sum"}})
            await gate.open()
        assert isinstance(gate.failure, errors.ConflictError)
        await assert_unchanged(running, roles, created)


async def test_condition_of_a_flow_schema_belongs_to_its_own_spec(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running.ask("POST", f"{FLOWCONTROL}/prioritylevelconfigurations", {**LEVEL, "metadata": {"name": "other"}})
    async with writing(monkeypatch, "change_object", "mine", "status") as gate:
        await running.ask("POST", f"{FLOWCONTROL}/flowschemas", SCHEMA)
        await gate.reached()
        spec = {"priorityLevelConfiguration": {"name": "other"}}
        await replace(running, f"{FLOWCONTROL}/flowschemas", {**SCHEMA, "spec": spec})
        await gate.open()
    assert isinstance(gate.failure, errors.ConflictError)
    assert (await dangling(running, "False"))["reason"] == "Found"


async def test_ca_certificate_is_not_written_into_a_namesake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller reads the new ConfigMap, too, before it corrects it."""
    path = f"{CORE}/configmaps/kube-root-ca.crt"
    async with live(tmp_path, disable_admission_plugins=()) as running:
        await running.until(f"{CORE}/configmaps", lambda _, obj: obj["metadata"]["name"] == "kube-root-ca.crt")
        async with writing(monkeypatch, "change_object", "kube-root-ca.crt") as gate:
            await running.ask("PATCH", path, {"data": {"ca.crt": "mine"}}, kind=MERGE)
            await gate.reached()
            created = await replace(running, f"{CORE}/configmaps", {"metadata": {"name": "kube-root-ca.crt"}})
            await gate.open()
        assert isinstance(gate.failure, errors.ConflictError)
        corrected = await running.until(f"{CORE}/configmaps", lambda _, obj: "BEGIN CERT" in str(obj.get("data")))
        assert corrected["object"]["metadata"]["uid"] == created["metadata"]["uid"]


@pytest.mark.parametrize(("function", "role"), [("delete_object", "view"), ("change_object", "system:discovery")])
async def test_default_binding_that_was_created_again_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, role: str
) -> None:
    """A default binding with another role is deleted, one without its subject is changed."""
    bindings, name = f"{RBAC}/clusterrolebindings", "system:discovery"

    def binding(role: str, **annotations: str) -> JsonObject:
        ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
        return {"metadata": {"name": name, "annotations": annotations}, "roleRef": ref}

    async with live(tmp_path, authorization_mode=("RBAC",)) as running:
        await replace(running, bindings, binding(role))
        server = running.server

        async def reconcile() -> None:
            bootstrap = RBACBootstrap(server.backend, server._now, server.leadership)
            await bootstrap.start()
            await bootstrap.close()

        async with writing(monkeypatch, function, name) as gate:
            first = asyncio.create_task(reconcile())
            await gate.reached()
            off = {"rbac.authorization.kubernetes.io/autoupdate": "false"}
            created = await replace(running, bindings, binding("edit", **off))
            await gate.open()
            await first
        assert isinstance(gate.failure, errors.ConflictError)
        await reconcile()
        await assert_unchanged(running, bindings, created)


async def test_event_that_was_created_again_does_not_expire(running: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
    await running.ask("POST", EVENTS, event)
    remove = ObjectClient.remove_stored
    created: list[JsonObject] = []

    async def replace_first(client: ObjectClient, seen: KeyValue) -> None:
        created.append(await replace(running, EVENTS, event))
        await remove(client, seen)

    monkeypatch.setattr(ObjectClient, "remove_stored", replace_first)
    monkeypatch.setattr(running.server.backend, "clock", LaterClock(2))
    await EventExpiry(running.server.backend, running.server.leadership, 3600.0).delete_expired()
    await assert_unchanged(running, EVENTS, created[0])


async def test_usage_is_not_written_into_a_quota_of_the_same_name(
    running: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    quotas = f"{CORE}/resourcequotas"

    def quota(**hard: str) -> JsonObject:
        return {"metadata": {"name": "q"}, "spec": {"hard": hard}}

    def has_limit(name: str) -> Callable[[str, JsonObject], bool]:
        return lambda _, obj: list((obj["status"].get("hard") or {}).items()) == [(name, "5")]

    await running.ask("POST", f"{CORE}/configmaps", {"metadata": {"name": "m"}})
    async with writing(monkeypatch, "change_object", "q", "status") as gate:
        await running.ask("POST", quotas, quota(configmaps="5"))
        await gate.reached()
        await replace(running, quotas, quota(secrets="5"))
        await gate.open()
    assert isinstance(gate.failure, errors.ConflictError)
    counted = await running.until(quotas, has_limit("secrets"))
    assert counted["object"]["status"]["used"] == {"secrets": "0"}
