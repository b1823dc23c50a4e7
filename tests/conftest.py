"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.server import ServerProcess, serving

# Hypothesis first reads every module of the project for constants; on a busy machine it then holds our strategies to be
# slow, and single runs as well.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

LONGEST_FIRST = ("tests/conformance", "tests/robustness", "tests/clients")
"""Started first, so that no worker is left with a long test at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FIRST))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server process per worker; tests keep apart by using API groups and namespaces of their own."""
    with serving(tmp_path_factory.mktemp("server")) as process:
        yield process


@pytest.fixture
def group() -> str:
    """An API group that no other test uses."""
    return f"t{uuid.uuid4().hex[:8]}.example.com"
