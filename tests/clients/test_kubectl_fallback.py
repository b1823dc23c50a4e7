"""kubectl while a conversion webhook is down, on a server with --conversion-fallback."""

from __future__ import annotations

import json
from pathlib import Path

from polykind.testing.server_factory import Factory
from polykind.toolkit.hosting.fault_injection import Fault
from tests.support.kubectl import Kubectl
from tests.support.widgets import GROUP, definition, widget


def convert(obj: dict[str, object], to: str) -> dict[str, object]:
    return obj


def test_kubectl_shows_the_warning_and_deletes(polykind_factory: Factory, tmp_path: Path) -> None:
    with polykind_factory.serve(
        crds=[definition()], converters=convert, conversion_fallback=True, conversion_cache=True
    ) as server:
        server.apply(widget("a", size=1))
        kubectl = Kubectl(server.kubeconfig, tmp_path)
        assert kubectl("get", f"widgets.v2.{GROUP}", "a").err == ""
        fault: Fault = server.converter.down()
        with fault:
            server.apply(widget("a", size=2))
            shown = kubectl("get", f"widgets.v2.{GROUP}", "a", "-o", "json")
            assert json.loads(shown.out)["spec"]["size"] == 1
            assert shown.err.startswith("Warning: conversion fallback: default/a is shown at v2 as it was converted at")
            assert "later changes are missing in default/a" in shown.err
            listed = kubectl("get", f"widgets.v2.{GROUP}")
            assert "Warning: conversion fallback: default/a is shown at v2" in listed.err
            assert "deleted" in kubectl("delete", f"widgets.v2.{GROUP}", "a", "--wait=false").out
        assert "NotFound" in kubectl("get", "widgets", "a", check=False).err
