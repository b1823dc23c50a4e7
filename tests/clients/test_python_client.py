"""The official Python client: typed and custom objects, watches, the dynamic client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException

from tests.support.crontabs import crontab, definition
from tests.support.kubernetes_client import client, config, dynamic, watch
from tests.support.server import ServerProcess


@pytest.fixture
def api(server: ServerProcess) -> Iterator[Any]:
    with config.new_client_from_config(str(server.kubeconfig)) as connected:
        yield connected


@pytest.fixture
def served(api: Any, group: str) -> Iterator[str]:
    """A group that serves CronTabs."""
    extensions = client.ApiextensionsV1Api(api)
    extensions.create_custom_resource_definition(definition(group))
    events = watch.Watch().stream(
        extensions.list_custom_resource_definition,
        field_selector=f"metadata.name=crontabs.{group}",
        timeout_seconds=20,
    )
    for event in events:
        conditions = {c.type: c.status for c in event["object"].status.conditions or []}
        if conditions.get("Established") == "True":
            break
    yield group
    extensions.delete_custom_resource_definition(f"crontabs.{group}")


@pytest.fixture
def crontabs(api: Any, served: str) -> dict[str, str]:
    """The arguments that identify the resource."""
    return {"group": served, "version": "v1", "namespace": "default", "plural": "crontabs"}


def test_crds_are_typed_objects(api: Any, served: str) -> None:
    extensions = client.ApiextensionsV1Api(api)
    crd = extensions.read_custom_resource_definition(f"crontabs.{served}")
    assert crd.spec.names.kind == "CronTab"
    assert [v.name for v in crd.spec.versions] == ["v1", "v1beta1"]
    assert crd.status.stored_versions == ["v1"]
    crd.spec.versions[1].deprecated = True
    changed = extensions.replace_custom_resource_definition(crd.metadata.name, crd)
    assert changed.spec.versions[1].deprecated is True
    assert changed.metadata.generation == 2
    names = [item.metadata.name for item in extensions.list_custom_resource_definition().items]
    assert crd.metadata.name in names


def test_custom_objects_life_cycle(api: Any, crontabs: dict[str, str]) -> None:
    objects = client.CustomObjectsApi(api)
    made = objects.create_namespaced_custom_object(**crontabs, body=crontab(crontabs["group"]))
    assert made["spec"]["replicas"] == 1
    made["spec"]["replicas"] = 4
    replaced = objects.replace_namespaced_custom_object(**crontabs, name="my-crontab", body=made)
    assert replaced["metadata"]["generation"] == 2
    with pytest.raises(ApiException) as stale:
        objects.replace_namespaced_custom_object(**crontabs, name="my-crontab", body=made)
    assert stale.value.status == 409
    patched = objects.patch_namespaced_custom_object(**crontabs, name="my-crontab", body={"spec": {"image": "other"}})
    assert patched["spec"]["image"] == "other"
    objects.patch_namespaced_custom_object_status(**crontabs, name="my-crontab", body={"status": {"replicas": 4}})
    scale = objects.get_namespaced_custom_object_scale(**crontabs, name="my-crontab")
    assert (scale["kind"], scale["spec"], scale["status"]["replicas"]) == ("Scale", {"replicas": 4}, 4)
    assert objects.delete_namespaced_custom_object(**crontabs, name="my-crontab")["status"] == "Success"
    with pytest.raises(ApiException) as gone:
        objects.get_namespaced_custom_object(**crontabs, name="my-crontab")
    assert json.loads(gone.value.body or "")["reason"] == "NotFound"


def test_invalid_object_is_rejected_with_the_field(api: Any, crontabs: dict[str, str]) -> None:
    objects = client.CustomObjectsApi(api)
    with pytest.raises(ApiException) as refused:
        objects.create_namespaced_custom_object(**crontabs, body=crontab(crontabs["group"], replicas=99))
    assert refused.value.status == 422
    status = json.loads(refused.value.body or "")
    assert status["details"]["causes"][0]["field"] == "spec.replicas"


def test_paged_lists(api: Any, crontabs: dict[str, str]) -> None:
    objects = client.CustomObjectsApi(api)
    wanted = [f"tab-{i:02d}" for i in range(7)]
    for name in wanted:
        objects.create_namespaced_custom_object(**crontabs, body=crontab(crontabs["group"], name))
    found, token = [], None
    while token != "":
        page = objects.list_namespaced_custom_object(**crontabs, limit=3, _continue=token)
        found.append([item["metadata"]["name"] for item in page["items"]])
        token = page["metadata"].get("continue", "")
    assert [len(page) for page in found] == [3, 3, 1]
    assert [name for page in found for name in page] == wanted
    objects.delete_collection_namespaced_custom_object(**crontabs)
    assert objects.list_namespaced_custom_object(**crontabs)["items"] == []


def test_watch_delivers_events(api: Any, crontabs: dict[str, str]) -> None:
    objects, group = client.CustomObjectsApi(api), crontabs["group"]
    begin = objects.list_namespaced_custom_object(**crontabs)["metadata"]["resourceVersion"]

    def act() -> None:
        objects.create_namespaced_custom_object(**crontabs, body=crontab(group))
        objects.patch_namespaced_custom_object(**crontabs, name="my-crontab", body={"spec": {"replicas": 2}})
        objects.delete_namespaced_custom_object(**crontabs, name="my-crontab")

    actor = threading.Thread(target=act)
    actor.start()
    seen = []
    stream = watch.Watch().stream(
        objects.list_namespaced_custom_object, **crontabs, resource_version=begin, timeout_seconds=20
    )
    for event in stream:
        seen.append((event["type"], event["object"]["spec"]["replicas"]))
        if event["type"] == "DELETED":
            break
    actor.join()
    assert seen == [("ADDED", 1), ("MODIFIED", 2), ("DELETED", 2)]


def test_namespaces_are_typed_objects(api: Any, group: str) -> None:
    core, name = client.CoreV1Api(api), group.split(".")[0]
    made = core.create_namespace({"metadata": {"name": name, "labels": {"team": "a"}}})
    assert made.status.phase == "Active"
    assert [n.metadata.name for n in core.list_namespace(label_selector="team=a").items if n.metadata.name == name]
    assert {"default", "kube-system"} <= {n.metadata.name for n in core.list_namespace().items}
    with pytest.raises(ApiException) as taken:
        core.create_namespace({"metadata": {"name": name}})
    assert json.loads(taken.value.body or "")["reason"] == "AlreadyExists"
    core.delete_namespace(name)


def test_dynamic_client_finds_kinds_by_discovery(api: Any, served: str) -> None:
    found = dynamic.DynamicClient(api).resources.get(api_version=f"{served}/v1beta1", kind="CronTab")
    assert found.namespaced
    made = found.create(body=crontab(served, version="v1beta1"), namespace="default")
    assert made.apiVersion == f"{served}/v1beta1"
    applied = found.server_side_apply(
        body=crontab(served, version="v1beta1", replicas=3),
        name="my-crontab",
        namespace="default",
        field_manager="pytest",
        force_conflicts=True,
    )
    assert applied.spec.replicas == 3
    assert found.get(name="my-crontab", namespace="default").spec.replicas == 3
    assert [item.metadata.name for item in found.get(namespace="default").items] == ["my-crontab"]
    found.delete(name="my-crontab", namespace="default")


def test_version_and_groups(api: Any, served: str) -> None:
    assert client.VersionApi(api).get_code().major == "1"
    groups = {g.name: g for g in client.ApisApi(api).get_api_versions().groups}
    assert groups[served].preferred_version.version == "v1"
    assert "apiextensions.k8s.io" in groups
