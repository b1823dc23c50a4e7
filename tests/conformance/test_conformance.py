"""Every area of recorded kube-apiserver conversations stays at least as exact as its floor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.__main__ import Servers, paths, target
from tests.conformance.floors import below_floor, load, raised
from tests.conformance.grades import by_area, check_all, details, table
from tests.conformance.http2_client import Http2Server
from tests.conformance.retry import repeat_inexact
from tests.conformance.scenario import Scenario


@pytest.fixture
def servers() -> Iterator[Servers]:
    with target("", "") as started:
        yield started


@pytest.mark.timeout(400)
def test_no_area_falls_below_its_floor(servers: Servers) -> None:
    reports = repeat_inexact(check_all([Scenario(p, servers.of(p)) for p in paths([])], 6), servers, load())
    areas = by_area(reports)
    print(table(areas))
    below = below_floor(areas, load())
    inexact = [line for r in reports if r.worst != "exact" for line in details(r, verbose=False)]
    assert not below, "\n".join([*below, *inexact])


def test_conversations_over_http2() -> None:
    """`python -m tests.conformance --http2` replays all areas. These have bodies, Tables, protobuf and watches."""
    areas = ("builtin-protobuf", "builtin-watch", "tables", "rest/size-limits")
    with target("", "", Http2Server) as servers:
        found = check_all([Scenario(path, servers.of(path)) for path in paths([*areas])], 6)
        inexact = [
            line
            for r in repeat_inexact(found, servers, load())
            if r.worst != "exact"
            for line in details(r, verbose=False)
        ]
    assert not inexact, "\n".join(inexact)


def test_floors_name_every_area() -> None:
    assert sorted(load()) == sorted({path.parent.name for path in paths([])})


def test_floors_only_rise() -> None:
    areas = {"watch": {"exact": 5, "near": 0, "wrong": 1}, "list": {"exact": 2, "near": 0, "wrong": 0}}
    assert raised(areas, {"watch": 7, "list": 1}) == {"watch": 7, "list": 2}
    assert below_floor(areas, {"watch": 7, "list": 1}) == ["watch: 5 steps exact, the floor is 7"]
