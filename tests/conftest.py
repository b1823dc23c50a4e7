"""Fixtures that the tests of several packages share."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.support.server import ServerProcess, serving

# Hypothesis first scans every module of the project for constants. On a busy machine it then reports slow strategies
# and missed deadlines, which says nothing about the code under test.
settings.register_profile("explore", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("fixed", settings.get_profile("explore"), max_examples=100, derandomize=True)
# `make torture` explores. An example that it finds becomes an @example of its test.
settings.load_profile("fixed")

LONGEST_FIRST = ("tests/conformance", "tests/robustness", "tests/clients")
"""These start first, so that no worker ends with a long test."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST_FIRST))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server process per worker. Tests use their own API groups and namespaces to stay independent."""
    with serving(tmp_path_factory.mktemp("server")) as process:
        yield process


@pytest.fixture
def group() -> str:
    """An API group that no other test uses."""
    return f"t{uuid.uuid4().hex[:8]}.example.com"
