"""Stored objects that cannot be read: they are named, the others stay readable, and they can be deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from polykind.server.settings import Settings
from tests.support.live import Live, live
from tests.support.widgets import GROUP, WIDGETS, definition, widget

OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
UNSAFE = {"apiVersion": "v1", "kind": "DeleteOptions", OPTION: True}
KEY = f"/registry/{GROUP}/widgets/default"


def damage(directory: Path, name: str) -> None:
    """Change the stored value of an object, as a flipped bit would."""
    connection = apsw.Connection(str(directory / "polykind.db"))
    connection.execute("UPDATE log SET value = x'7b7d' WHERE key = ?", (f"{KEY}/{name}",))
    connection.close()


@pytest.fixture
async def damaged(tmp_path: Path) -> Path:
    """The data directory of a server with the widgets a, b and c, of which b is damaged."""
    async with live(tmp_path) as running:
        await running.define(definition())
        for name in ("a", "b", "c"):
            await running.ask("POST", WIDGETS, widget(name, size=1, meta={"finalizers": ["example.com/keep"]}))
    damage(tmp_path / "data", "b")
    return tmp_path


async def test_damaged_object_is_named_and_others_are_readable(damaged: Path) -> None:
    async with live(damaged) as running:
        assert (await running.ask("GET", f"{WIDGETS}/a"))["spec"] == {"size": 1}
        read = await running.ask("GET", f"{WIDGETS}/b", expect=500)
        assert read["message"] == (
            "Internal error occurred: default/b is damaged in the store: its checksum does not match"
        )
        listed = await running.ask("GET", WIDGETS, expect=500)
        assert (listed["reason"], listed["message"]) == (
            "StorageReadError",
            f"failed to read one or more widgets.{GROUP} from the storage",
        )
        assert [cause["field"] for cause in listed["details"]["causes"]] == [f"{KEY}/b"]
        await running.ask("DELETE", f"{WIDGETS}/b", expect=500)


async def test_damaged_object_can_be_deleted_without_reading_it(damaged: Path) -> None:
    async with live(damaged) as running:
        deleted = await running.ask("DELETE", f"{WIDGETS}/b", UNSAFE)
        assert deleted == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {"name": "b", "kind": "Widget"},
        }
        names = [item["metadata"]["name"] for item in (await running.ask("GET", WIDGETS))["items"]]
        assert names == ["a", "c"]
        await running.ask("DELETE", f"{WIDGETS}/b", UNSAFE, expect=404)


STRICT = {"AllowUnsafeMalformedObjectDeletion": True}


async def test_option_is_ignored_for_a_readable_object(damaged: Path) -> None:
    async with live(damaged) as running:
        marked = await running.ask("DELETE", f"{WIDGETS}/a", {**UNSAFE, "gracePeriodSeconds": 0})
        assert marked["metadata"]["deletionTimestamp"]


async def test_with_the_gate_a_readable_object_is_not_deleted(damaged: Path) -> None:
    async with live(damaged, feature_gates=STRICT) as running:
        answer = await running.ask("DELETE", f"{WIDGETS}/a", UNSAFE, expect=422)
        assert answer["message"] == (
            f'widgets.{GROUP} "a" is invalid: {OPTION}: Invalid value: true: is exclusively used to delete corrupt '
            "object(s), try again by removing this option"
        )
        answer = await running.ask("DELETE", WIDGETS, UNSAFE, expect=422)
        assert "is not allowed with DELETECOLLECTION, try again after removing the option" in answer["message"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dryRun", ["All"]),
        ("propagationPolicy", "Orphan"),
        ("orphanDependents", True),
        ("gracePeriodSeconds", 0),
        ("preconditions", {}),
    ],
)
async def test_with_the_gate_other_options_are_rejected(damaged: Path, field: str, value: Any) -> None:
    async with live(damaged, feature_gates=STRICT) as running:
        answer = await running.ask("DELETE", f"{WIDGETS}/b", {**UNSAFE, field: value}, expect=422)
        assert answer["message"] == (
            f'DeleteOptions.meta.k8s.io "" is invalid: {OPTION}: Invalid value: true: cannot be set together with '
            f".{field}"
        )


async def test_unconvertible_object_can_be_deleted(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        await running.define(definition())
        await running.ask("POST", WIDGETS, widget("a", size=1))
        conversion = {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "conversionReviewVersions": ["v1"],
            },
        }
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{GROUP}"
        await running.ask("PATCH", path, {"spec": {"conversion": conversion}}, kind="application/merge-patch+json")
        v2 = WIDGETS.replace("/v1/", "/v2/")
        await running.ask("GET", f"{v2}/a", expect=500)
        await running.ask("DELETE", f"{v2}/a", UNSAFE)
        await running.ask("GET", f"{WIDGETS}/a", expect=404)


async def test_deletion_without_reading_needs_its_own_permission(damaged: Path) -> None:
    tokens = damaged / "tokens.csv"
    tokens.write_text("jane-token,jane,jane\n")
    settings = Settings(data_dir=damaged / "data", secure_port=0, authorization_mode=("RBAC",), token_auth_file=tokens)
    from polykind.server.server import Server

    async with Server(settings) as server:
        admin = Live(server)
        verbs = ["delete"]
        for _ in range(2):
            role = {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": "deleter"},
                "rules": [{"apiGroups": [GROUP], "resources": ["widgets"], "verbs": verbs}],
            }
            await admin.ask("PUT", "/apis/rbac.authorization.k8s.io/v1/clusterroles/deleter", role)
            binding = {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "deleter"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "deleter"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
            }
            await admin.ask("PUT", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/deleter", binding)
            jane = admin.another()
            jane.token = "jane-token"
            reply = await jane.call("DELETE", f"{WIDGETS}/b", UNSAFE)
            if verbs == ["delete"]:
                assert reply.status == 403
                assert b'not permitted to do \\"unsafe-delete-ignore-read-errors\\"' in reply.body
            else:
                assert reply.status == 200
            jane.close()
            verbs = ["delete", "unsafe-delete-ignore-read-errors"]
        admin.client.close()
