"""`polykind migrate` and `polykind versions` over HTTPS, with objects that are really stored at an old version."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from polykind.cli import main
from polykind.cluster.cluster_access import read_kubeconfigs
from polykind.cluster.cluster_client import ClusterClient
from polykind.contract import JsonObject
from polykind.testing.apiserver import ApiServer
from polykind.toolkit.migrating.cluster_migration import (
    ClusterMigration,
    RefusedError,
    prune_stored_versions,
    read_crd,
)
from polykind.toolkit.migrating.cluster_versions import version_report
from polykind.toolkit.migrating.migration_journal import Journal, load_journal
from polykind.toolkit.migrating.paced_client import PacedClient
from tests.support.widgets import GROUP, NAME, definition, widget

DENY = [
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "deny"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {"apiGroups": [GROUP], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["*"]}
                ]
            },
            "validations": [{"expression": "object.metadata.name != 'b'", "message": "b is frozen"}],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "deny"},
        "spec": {"policyName": "deny", "validationActions": ["Deny"]},
    },
]


def crd(storage: str, *versions: str) -> JsonObject:
    """Return the CRD of widgets with another storage version and only some of its versions."""
    out = definition()
    entries = [{**entry, "storage": entry["name"] == storage} for entry in out["spec"]["versions"]]
    out["spec"]["versions"] = [entry for entry in entries if not versions or entry["name"] in versions]
    return out


@pytest.fixture
def server(polykind: ApiServer) -> ApiServer:
    """Return a server with three objects that are stored at v1, and the storage version v2."""
    polykind.apply(crd("v1"), *(widget(name, size=1) for name in "abc"))
    polykind.apply(crd("v2"))
    return polykind


@pytest.fixture
def arguments(server: ApiServer, tmp_path: Path) -> list[str]:
    return [
        "migrate",
        f"--kubeconfig={server.kubeconfig}",
        "--rate=0",
        f"--state={tmp_path / 'state.json'}",
        NAME,
    ]


def client_of(server: ApiServer) -> PacedClient:
    return PacedClient(ClusterClient(read_kubeconfigs([server.kubeconfig])))


def stored_versions(server: ApiServer) -> list[str]:
    versions: list[str] = server.get(definition())["status"]["storedVersions"]
    return versions


def counts(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> dict[str, int]:
    """Return the exact number of stored objects by version."""
    capsys.readouterr()
    assert main(["versions", f"--kubeconfig={server.kubeconfig}", "--output=json", NAME]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["exact"] is True
    return {version["name"]: version["storedObjects"] for version in report["versions"]}


def test_objects_are_rewritten_and_stored_versions_pruned(
    server: ApiServer, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert counts(server, capsys) == {"v1": 3, "v2": 0}
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "3 objects rewritten, 0 already stored at v2" in output
    assert "verified: no object is left" in output
    assert "removed v1 from status.storedVersions, which is now [v2]" in output
    assert counts(server, capsys) == {"v1": 0, "v2": 3}
    assert stored_versions(server) == ["v2"]
    assert not (tmp_path / "state.json").exists()
    assert main(arguments) == 0
    assert "0 objects rewritten, 3 already stored at v2" in capsys.readouterr().out


def test_dry_run_shows_what_would_fail_and_writes_nothing(
    server: ApiServer, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.apply(*DENY)
    assert main([*arguments, "--dry-run"]) == 1
    output = capsys.readouterr().out
    assert "2 objects can be rewritten" in output
    assert "default/b: " in output
    assert "b is frozen" in output
    assert not (tmp_path / "state.json").exists()
    assert counts(server, capsys) == {"v1": 3, "v2": 0}


def test_failed_objects_keep_the_stored_versions_and_are_tried_again(
    server: ApiServer, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.apply(*DENY)
    assert main(arguments) == 1
    assert "b is frozen" in capsys.readouterr().out
    assert stored_versions(server) == ["v1", "v2"]
    assert counts(server, capsys) == {"v1": 1, "v2": 2}
    policy = {**DENY[0], "spec": {**DENY[0]["spec"], "validations": [{"expression": "true"}]}}  # type: ignore[dict-item]
    server.apply(policy)
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "continuing after default/c" in output
    assert counts(server, capsys) == {"v1": 0, "v2": 3}
    assert stored_versions(server) == ["v2"]


async def test_interrupted_run_continues_after_its_last_page(server: ApiServer, tmp_path: Path) -> None:
    client, path = client_of(server), tmp_path / "state.json"
    storage = await read_crd(client, NAME)
    journal = Journal("server", storage.uid, "v2", ["v1", "v2"])
    seen: list[str] = []

    class InterruptedRunError(Exception):
        pass

    def stop_after_the_first_page() -> None:
        journal.save(path)
        raise InterruptedRunError

    with pytest.raises(InterruptedRunError):
        await ClusterMigration(client, storage, journal, page=1, on_page=stop_after_the_first_page).rewrite_all()
    resumed, reason = load_journal(path, "server", storage.uid, "v2")
    assert reason == ""
    assert resumed is not None
    assert (resumed.last, resumed.rewritten) == ("default/a", 1)
    resumed.token = "expired"
    migration = ClusterMigration(client, storage, resumed, page=1, on_page=lambda: seen.append(resumed.last))
    await migration.rewrite_all()
    assert await migration.verify() == 0
    # The expired token makes the list start anew; the objects before the last key are not written again.
    assert seen[-2:] == ["default/c", "default/c"]
    assert (resumed.rewritten, resumed.unchanged) == (3, 0)
    await client.cluster.close()


def test_state_of_another_storage_version_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    Journal("server", "uid", "v1", []).save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_journal(path, "server", "uid", "v2") == (
        None,
        f"the storage version has changed from v1 to v2 since {path} was written",
    )
    assert load_journal(path, "elsewhere", "uid", "v1")[0] is None
    path.write_text("{}")
    assert "is not a state file" in load_journal(path, "server", "uid", "v1")[1]


async def test_pruning_is_refused_if_the_storage_version_has_changed(server: ApiServer) -> None:
    client = client_of(server)
    storage = await read_crd(client, NAME)
    journal = Journal("server", storage.uid, "v2", ["v1", "v2"])
    await client.send(
        "PATCH", storage.path, crd("v1")["spec"] and {"spec": crd("v1")["spec"]}, "application/merge-patch+json"
    )
    with pytest.raises(RefusedError, match="changed to v1 during the migration"):
        await prune_stored_versions(client, storage, journal)
    await client.cluster.close()


def test_managed_fields_of_removed_versions_are_repaired(
    server: ApiServer, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    server.apply(crd("v2", "v2"))
    before = server.get(widget("a"), version="v2")["metadata"]["managedFields"]
    assert {entry["apiVersion"] for entry in before} == {f"{GROUP}/v1"}
    capsys.readouterr()
    assert main(arguments) == 0
    assert "managedFields of 3 repaired" in capsys.readouterr().out
    after = server.get(widget("a"), version="v2")["metadata"]["managedFields"]
    assert [{**entry, "apiVersion": f"{GROUP}/v2"} for entry in before] == after


async def test_conflicts_are_tried_again(server: ApiServer) -> None:
    client = client_of(server)
    storage = await read_crd(client, NAME)
    listed = await client.send("GET", storage.collection("v2"))
    old = {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in listed["items"]}
    sent = client.send

    async def outdated(method: str, path: str, *more: object, **options: object) -> JsonObject:
        """Send a request, and change the object just before its first patch arrives."""
        if method == "PATCH" and "/a?" in path and old.pop("a", ""):
            await sent("PATCH", path.partition("?")[0], {"spec": {"size": 9}}, "application/merge-patch+json")
        return await sent(method, path, *more, **options)  # type: ignore[arg-type]

    client.send = outdated  # type: ignore[method-assign]
    journal = Journal("server", storage.uid, "v2", ["v1", "v2"])
    await ClusterMigration(client, storage, journal).rewrite_all()
    assert not journal.failures
    assert (journal.rewritten, journal.unchanged) == (2, 1)
    assert server.get(widget("a"))["spec"]["size"] == 9
    await client.cluster.close()


def test_cluster_migrates_by_itself(
    server: ApiServer, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--via=storageversionmigration"]) == 0
    assert "has succeeded" in capsys.readouterr().out
    assert counts(server, capsys) == {"v1": 0, "v2": 3}
    assert stored_versions(server) == ["v2"]


@pytest.mark.polykind(authorization_mode=("RBAC",))
def test_missing_rights_are_shown_and_are_enough(
    server: ApiServer, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    weak = f"--kubeconfig={server.kubeconfig_for('jane')}"
    assert main([*arguments, weak]) == 2
    error = capsys.readouterr().err
    assert 'User "jane" cannot get resource "customresourcedefinitions"' in error
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "polykind-migrate-widgets"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    server.apply(error[error.index("apiVersion:") :], binding)
    assert main([*arguments, weak]) == 0
    assert "removed v1 from status.storedVersions" in capsys.readouterr().out


async def test_report_about_kubernetes_says_what_is_unknown(server: ApiServer) -> None:
    client = client_of(server)
    report = await version_report(client, await read_crd(client, NAME))
    v1, v2 = report["versions"]
    assert (report["exact"], report["objects"], report["storedVersions"]) == (False, 3, ["v1", "v2"])
    assert (v1["storedObjects"], v2["storedObjects"]) == (None, None)
    assert (v1["managedObjects"], v2["managedObjects"]) == (3, 0)
    assert v1["managers"][0]["objects"] == 3
    assert any("polykind migrate" in blocker for blocker in v1["hindrances"])
    await client.cluster.close()


@pytest.mark.parametrize("more", [["--rate=-1"], ["--via=storageversionmigration", "--dry-run"]])
def test_invalid_usage_is_reported(arguments: list[str], more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, *more]) == 2
    assert capsys.readouterr().err.startswith("polykind migrate: --")
