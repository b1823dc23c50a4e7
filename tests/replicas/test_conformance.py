"""Conformance on etcd is as exact as on the embedded store."""

from __future__ import annotations

import pytest

from tests.conformance.__main__ import OTHER_FLAGS, Servers, paths
from tests.conformance.client import Server
from tests.conformance.floors import below_floor, load
from tests.conformance.grades import by_area, check_all, details
from tests.conformance.retry import repeat_inexact
from tests.conformance.scenario import Scenario
from tests.replicas.conftest import Fleet
from tests.support.etcd import Etcd

PART = ["list", "watch"]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("areas", [PART, pytest.param([], marks=pytest.mark.etcd)], ids=["part", "whole"])
def test_no_area_falls_below_the_floor_of_the_embedded_store(areas: list[str], cluster: Etcd, fleet: Fleet) -> None:
    (replica,) = fleet.start(1, cluster.servers, *OTHER_FLAGS)
    server = Server(replica.url, replica.token)
    # The areas of built-in kinds need other flags.
    chosen = [p for p in paths(areas) if not p.parent.name.startswith("builtin-")]
    servers = Servers(server, server)
    reports = repeat_inexact(check_all([Scenario(p, server) for p in chosen], 6), servers, floors(areas))
    inexact = [line for r in reports if r.worst != "exact" for line in details(r, verbose=False)]
    below = below_floor(by_area(reports), floors(areas))
    assert not below, "\n".join([*below, *inexact])


def floors(areas: list[str]) -> dict[str, int]:
    others = {area: floor for area, floor in load().items() if not area.startswith("builtin-")}
    return {area: floor for area, floor in others.items() if area in areas or not areas}
