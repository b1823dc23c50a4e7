"""The server answers as the reference was recorded to answer, in no area less exactly than before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.__main__ import FLAGS, paths
from tests.conformance.client import Server
from tests.conformance.floors import load, raised, sunken
from tests.conformance.grades import by_area, check_all, details, table
from tests.conformance.scenario import Scenario
from tests.conformance.second_look import second_look
from tests.support.server import ServerProcess


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with ServerProcess(tmp_path_factory.mktemp("conformance") / "data", *FLAGS) as process:
        yield Server(process.url, process.token)


@pytest.mark.timeout(400)
def test_no_area_sinks_below_its_floor(server: Server) -> None:
    reports = second_look(check_all([Scenario(p, server) for p in paths([])], 6), server, load())
    areas = by_area(reports)
    print(table(areas))
    below = sunken(areas, load())
    inexact = [line for r in reports if r.worst != "exact" for line in details(r, verbose=False)]
    assert not below, "\n".join([*below, *inexact])


def test_floors_name_every_area() -> None:
    assert sorted(load()) == sorted({path.parent.name for path in paths([])})


def test_floors_only_rise() -> None:
    areas = {"watch": {"exact": 5, "near": 0, "wrong": 1}, "list": {"exact": 2, "near": 0, "wrong": 0}}
    assert raised(areas, {"watch": 7, "list": 1}) == {"watch": 7, "list": 2}
    assert sunken(areas, {"watch": 7, "list": 1}) == ["watch: 5 steps exact, the floor is 7"]
