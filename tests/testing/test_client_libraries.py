"""Clients of other libraries that the fixture returns."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import pytest

from polykind.testing import ApiServer, Refused
from tests.support.kubernetes_client import client

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
    api = polykind.kubernetes(polykind.kubeconfig_for("jane"))
    assert client.CoreV1Api(api).read_namespaced_config_map("mine", "default").data == {"a": "1"}


async def test_missing_library_is_named(polykind: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kr8s", "kubernetes_asyncio", "kubernetes_asyncio.config"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(Refused, match="the package kr8s is not installed: run `pip install kr8s`"):
        polykind.kr8s()
    with pytest.raises(Refused, match="the package kubernetes_asyncio is not installed"):
        await polykind.kubernetes_asyncio()
