"""Clients of other libraries that the fixture returns."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest

from polykind.testing import ApiServer, AsyncApiServer, Refused
from tests.support.kubernetes_client import client

pytest_plugins = "pytester"

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}, "data": {"a": "1"}}


@pytest.mark.parametrize("turn", [1, 2])
def test_kr8s_uses_the_server_of_this_test(polykind: ApiServer, turn: int) -> None:
    from kr8s.objects import ConfigMap

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Kubernetes version .* is not supported", UserWarning)
        api = polykind.kr8s()
        polykind.apply({**CONFIG_MAP, "metadata": {"name": f"turn-{turn}"}})
        found: list[Any] = list(ConfigMap.list(namespace="default", api=api))
    assert [one.name for one in found] == [f"turn-{turn}"]


def test_lightkube_reads_objects(polykind: ApiServer) -> None:
    from lightkube.resources.core_v1 import ConfigMap

    polykind.apply(CONFIG_MAP)
    assert polykind.lightkube().get(ConfigMap, "mine", namespace="default").data == {"a": "1"}


def test_official_client_reads_objects_as_another_user(polykind: ApiServer) -> None:
    polykind.apply(CONFIG_MAP)
    api = polykind.kubernetes(polykind.kubeconfig_for("jane", ["system:masters"]))
    assert client.CoreV1Api(api).read_namespaced_config_map("mine", "default").data == {"a": "1"}


def test_clients_work_after_a_rollback(polykind: ApiServer) -> None:
    core = client.CoreV1Api(polykind.kubernetes())
    polykind.apply(CONFIG_MAP)
    polykind.rollback()
    assert core.list_namespaced_config_map("default").items == []


@pytest.mark.parametrize("turn", [1, 2])
async def test_async_clients_use_the_server_of_this_test(polykind_async: AsyncApiServer, turn: int) -> None:
    from kr8s.asyncio.objects import ConfigMap
    from kubernetes_asyncio.client import CoreV1Api
    from lightkube.resources.core_v1 import ConfigMap as LightConfigMap

    name = f"turn-{turn}"
    await polykind_async.apply({**CONFIG_MAP, "metadata": {"name": name}})
    api = await polykind_async.kubernetes_asyncio()
    assert (await CoreV1Api(api).read_namespaced_config_map(name, "default")).data == {"a": "1"}
    light = await polykind_async.lightkube()
    assert [one.metadata and one.metadata.name async for one in light.list(LightConfigMap, namespace="default")] == [
        name
    ]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Kubernetes version .* is not supported", UserWarning)
        await polykind_async.kr8s()
        # Without an argument, kr8s finds the cached client of this test.
        found: list[Any] = [one async for one in ConfigMap.list(namespace="default")]
    assert [one.name for one in found] == [name]


async def test_async_clients_are_closed_at_the_end_of_their_block(polykind_async: AsyncApiServer) -> None:
    from lightkube.resources.core_v1 import ConfigMap

    await polykind_async.apply(CONFIG_MAP)
    jane = await polykind_async.kubeconfig_for("jane", ["system:masters"])
    async with polykind_async.lightkube(jane) as light:
        assert (await light.get(ConfigMap, "mine", namespace="default")).data == {"a": "1"}
    with pytest.raises(RuntimeError, match="closed"):
        await light.get(ConfigMap, "mine", namespace="default")


LEAKS = """
import asyncio, tempfile
from pathlib import Path
from kubernetes import client, config, dynamic
import kubernetes_asyncio.client, kubernetes_asyncio.config

def cache_files():
    return {file.name for file in Path(tempfile.gettempdir()).glob("osrcp-*.json")}

def test_default_of_the_server(polykind):
    config.load_kube_config()
    asyncio.run(kubernetes_asyncio.config.load_kube_config())
    assert client.Configuration.get_default_copy().host == polykind.url
    before = cache_files()
    dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="Pod")
    assert len(cache_files() - before) == 1
    Path("caches").write_text(" ".join(cache_files() - before))

def test_default_is_gone():
    for library in (client, kubernetes_asyncio.client):
        assert "127.0.0.1" not in library.Configuration.get_default_copy().host
    assert not cache_files() & set(Path("caches").read_text().split())
    assert config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION == config.KUBE_CONFIG_DEFAULT_LOCATION == "~/.kube/config"

def test_load_config_finds_the_server(polykind):
    config.load_config()
    assert client.Configuration.get_default_copy().host == polykind.url
"""


def test_libraries_forget_the_server_of_an_earlier_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(LEAKS)
    pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "no:xdist").assert_outcomes(passed=3)


async def test_missing_library_is_named(polykind: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kr8s", "kr8s.asyncio", "kubernetes_asyncio", "kubernetes_asyncio.config"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Refused, match="the package kr8s is not installed: run `pip install kr8s`"):
        polykind.kr8s()
    with pytest.raises(Refused, match="the package kubernetes_asyncio is not installed"):
        await polykind.kubernetes_asyncio()
    with pytest.raises(Refused, match="the package kr8s is not installed"):
        await polykind.aio.kr8s()
