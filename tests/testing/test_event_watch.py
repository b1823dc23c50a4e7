"""Assertions of the order of watch events."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.testing import ApiServer, Refused, Unmet


def config_map(name: str = "mine", value: str = "1") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}}


def delete(server: ApiServer, name: str) -> None:
    server.delete(config_map(name))


def test_events_of_an_object_come_in_order(polykind: ApiServer) -> None:
    polykind.apply(config_map("before"))
    events = polykind.watch(config_map())
    polykind.apply(config_map(), config_map("other"))
    for value in "23":
        polykind.apply(config_map(value=value))
    _, changed = events.expect("ADDED mine", "MODIFIED mine")
    assert changed["data"]["a"] in "23"
    delete(polykind, "mine")
    events.expect("DELETED mine")


def test_kind_is_watched_without_a_name(polykind: ApiServer) -> None:
    events = polykind.watch({"apiVersion": "v1", "kind": "ConfigMap"})
    polykind.apply(config_map("a"), config_map("b"))
    events.expect("ADDED a", "ADDED b")


def test_difference_is_shown(polykind: ApiServer) -> None:
    events = polykind.watch({"apiVersion": "v1", "kind": "ConfigMap"})
    polykind.apply(config_map("a"), config_map("b"))
    with pytest.raises(Unmet) as unmet:
        events.expect("ADDED a", "ADDED c")
    assert str(unmet.value).splitlines()[:2] == ["the events differ (- expected, + seen):", "  ADDED a"]
    assert {"- ADDED c", "+ ADDED b"} <= set(str(unmet.value).splitlines())
    with pytest.raises(Unmet, match=r"did not arrive within 0\.01 s"):
        events.expect("ADDED d", timeout=0.01)


def test_unserved_kind_is_rejected(polykind: ApiServer) -> None:
    with pytest.raises(Refused, match="does not serve Lamp of v1"):
        polykind.watch({"apiVersion": "v1", "kind": "Lamp"})
