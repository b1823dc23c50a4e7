"""lightkube works unchanged: generic resources, every patch type, watches, typed CRDs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig, codecs
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.core_v1 import Namespace
from lightkube.types import PatchType

from tests.support.builtin_objects import CLUSTER_SCOPED, KINDS, builtin_object
from tests.support.crontabs import crontab
from tests.support.server import ServerProcess


@pytest.fixture
def config(server: ServerProcess) -> KubeConfig:
    return KubeConfig.from_file(str(server.kubeconfig))


@pytest.fixture
def client(config: KubeConfig) -> Iterator[Client]:
    client = Client(config=config, field_manager="lightkube")
    yield client
    client.close()


@pytest.fixture
def kind(crontabs: str, group: str) -> Any:
    """The CronTab resource class for a group that serves it."""
    assert crontabs == f"crontabs.{group}"
    return create_namespaced_resource(group, "v1", "CronTab", "crontabs")


def made(kind: Any, group: str, name: str) -> Any:
    return kind(metadata=ObjectMeta(name=name, namespace="default"), spec=crontab(group)["spec"])


def test_create_change_and_delete(client: Client, kind: Any, group: str) -> None:
    one = client.create(made(kind, group, "one"))
    assert one.metadata.uid
    merged = client.patch(kind, "one", {"spec": {"image": "merged"}}, patch_type=PatchType.MERGE)
    assert merged.spec["image"] == "merged"
    merged.spec["image"] = "replaced"
    assert client.replace(merged).spec["image"] == "replaced"
    with pytest.raises(ApiError) as caught:
        client.replace(merged)
    assert (caught.value.status.code, caught.value.status.reason) == (409, "Conflict")
    client.delete(kind, "one")
    with pytest.raises(ApiError) as caught:
        client.get(kind, "one")
    assert (caught.value.status.code, caught.value.status.reason) == (404, "NotFound")


def test_server_side_apply(client: Client, kind: Any, group: str) -> None:
    applied = client.apply(made(kind, group, "one"))
    assert applied.metadata.managedFields[0].manager == "lightkube"
    other = {"apiVersion": f"{group}/v1", "kind": "CronTab", "spec": {"image": "other"}}
    with pytest.raises(ApiError, match="conflict"):
        client.patch(kind, "one", other, patch_type=PatchType.APPLY, field_manager="other")
    forced = client.patch(kind, "one", other, patch_type=PatchType.APPLY, field_manager="other", force=True)
    assert forced.spec["image"] == "other"


def test_paged_lists_and_watches(client: Client, kind: Any, group: str) -> None:
    for name in ("a", "b", "c"):
        client.create(made(kind, group, name))
    pages = client.list(kind, chunk_size=2)
    assert [item.metadata.name for item in pages] == ["a", "b", "c"]
    client.patch(kind, "b", {"metadata": {"labels": {"x": "y"}}}, patch_type=PatchType.MERGE)
    assert [item.metadata.name for item in client.list(kind, labels={"x": "y"})] == ["b"]
    changes = client.watch(kind, resource_version=pages.resourceVersion, server_timeout=20)
    event, changed = next(iter(changes))
    assert (event, changed.metadata.name) == ("MODIFIED", "b")


def test_typed_crds_and_waits(client: Client, kind: Any, group: str) -> None:
    crd = client.wait(CustomResourceDefinition, f"crontabs.{group}", for_conditions=["Established"])
    assert [version.name for version in crd.spec.versions] == ["v1", "v1beta1"]


async def test_async_client(config: KubeConfig, kind: Any, group: str) -> None:
    client = AsyncClient(config=config)
    await client.create(made(kind, group, "one"))
    assert [item.metadata.name async for item in client.list(kind)] == ["one"]
    await client.delete(kind, "one")
    await client.close()


@pytest.fixture
def namespace(client: Client, group: str) -> Iterator[str]:
    """A namespace of the test's own."""
    name = group.replace(".", "-")
    client.create(Namespace(metadata=ObjectMeta(name=name)))
    yield name
    client.delete(Namespace, name)


@pytest.mark.parametrize("builtin", KINDS)
def test_builtin_kinds_are_typed_objects(client: Client, namespace: str, builtin: str) -> None:
    scope: Any = {} if builtin in CLUSTER_SCOPED else {"namespace": namespace}
    made: Any = client.create(codecs.from_dict(builtin_object(builtin, namespace)))
    resource = type(made)
    applied: Any = client.patch(resource, namespace, {"metadata": {"labels": {"x": namespace}}}, **scope)
    assert applied.metadata.labels["x"] == namespace
    changes = client.watch(resource, resource_version=made.metadata.resourceVersion, server_timeout=20, **scope)
    assert next(change for change, obj in changes if obj.metadata.uid == made.metadata.uid) == "MODIFIED"
    assert [item.metadata.name for item in client.list(resource, labels={"x": namespace}, **scope)] == [namespace]
    client.delete(resource, namespace, grace_period=0, **scope)
