"""Faults of the store: nothing acknowledged is lost, watchers miss nothing, and damaged values are never served."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.robustness import faults
from tests.robustness.storm import Storm
from tests.robustness.torture import FailingSyncServer
from tests.support.etcd import etcd
from tests.support.proxy import Proxy
from tests.support.server import ServerProcess

Fault = Callable[[Storm, int], Awaitable[None]]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "fault", [faults.full_disk, faults.missing_file, faults.flipped_bits, faults.truncation], ids=lambda f: f.__name__
)
async def test_disk(tmp_path: Path, fault: Fault) -> None:
    # Without RBAC, because a server with a damaged default role is not ready until an administrator repairs the role.
    server = ServerProcess(tmp_path / "data", "--authorization-mode=AlwaysAllow")
    await Storm(server).run(lambda storm: fault(storm, 3))


@pytest.mark.timeout(120)
async def test_failed_sync(tmp_path: Path) -> None:
    await Storm(FailingSyncServer(tmp_path / "data")).run(lambda storm: faults.failed_sync(storm, 3))


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", ["restart", "pause", "partition", "set_back"])
async def test_etcd(tmp_path: Path, name: str) -> None:
    with etcd(tmp_path / "etcd") as cluster:
        async with Proxy(cluster.members[0].port) as proxy:
            server = ServerProcess(tmp_path / "data", f"--etcd-servers={proxy.url}")
            fault = getattr(faults.EtcdFaults(cluster, proxy), name)
            await Storm(server).run(lambda storm: fault(storm, 2))
