"""kubectl against the shared server, and the CronTab example in an API group of the test's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.crontabs import crontab, definition
from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess


@pytest.fixture
def kubectl(server: ServerProcess, tmp_path: Path) -> Kubectl:
    return Kubectl(server.kubeconfig, tmp_path)


@pytest.fixture
def crontabs(kubectl: Kubectl, group: str) -> Iterator[str]:
    """Serve the CronTab CRD and return the resource's full name, crontabs.<group>."""
    name = f"crontabs.{group}"
    kubectl("apply", "-f", "-", stdin=json.dumps(definition(group)))
    kubectl("wait", "--for=condition=Established", f"crd/{name}", "--timeout=20s")
    yield name
    kubectl("delete", "crd", name, "--wait=false", "--ignore-not-found")


@pytest.fixture
def stored(kubectl: Kubectl, crontabs: str, group: str) -> str:
    """The CronTab resource with one applied object, my-crontab."""
    kubectl("apply", "-f", "-", stdin=json.dumps(crontab(group)))
    return crontabs
