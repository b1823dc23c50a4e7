"""A control plane that is started and stopped in the steps of controller-runtime's envtest."""

from __future__ import annotations

import http.client
import json
import re
import signal
import ssl
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from polykind.pki.authority import KeyPair, make_authority, make_client, make_serving
from tests.support.server import free_port

SECONDS = 60.0
"""Maximum duration of a start or a stop. envtest waits for 20 seconds; the tests run on busy machines."""


class Reply(NamedTuple):
    """The status and the body of a response."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class ControlPlane:
    """An etcd and a kube-apiserver from an assets directory, with certificates like those of envtest."""

    def __init__(self, assets: Path, directory: Path, *, poll_seconds: float = 0.1) -> None:
        self._assets = assets
        self._directory = directory
        self._processes: list[subprocess.Popen[bytes]] = []
        self._tls = ssl.create_default_context()
        self.port = 0
        self.output = directory / "output"
        self._poll_seconds = poll_seconds

    def start(self, *extra: str) -> None:
        """Start etcd and kube-apiserver, and wait until the namespace `default` exists."""
        self.start_until_healthy(*extra)
        self.wait_for_default_namespace()

    def start_until_healthy(self, *extra: str) -> None:
        """Start etcd and kube-apiserver, and wait until both answer health checks."""
        self._directory.mkdir()
        etcd = f"http://127.0.0.1:{free_port()}"
        self._start_etcd(etcd)
        self._write_certificates()
        assert not self.help_mentions("kube-apiserver", "insecure-port")
        self.port = free_port()
        self._run("kube-apiserver", sorted([*self._apiserver_flags(etcd), *extra]))
        self._poll(f"https://127.0.0.1:{self.port}/healthz", ssl._create_unverified_context())

    def wait_for_default_namespace(self) -> None:
        """Wait until the namespace `default` exists, which the admin reads with a client certificate."""
        deadline = time.monotonic() + SECONDS
        while self.request("GET", "/api/v1/namespaces/default").status != 200:
            assert time.monotonic() < deadline, "the namespace default is missing"
            time.sleep(self._poll_seconds)

    def stop(self) -> list[int]:
        """Send SIGTERM to kube-apiserver, then to etcd, and wait. Return their exit codes."""
        codes = []
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            codes.append(process.wait(SECONDS))
        self._processes = []
        return codes

    def kill(self) -> None:
        """Kill the processes that still run."""
        for process in self._processes:
            process.kill()
            process.wait()

    def request(self, method: str, path: str, body: object = None, *, headers: dict[str, str] | None = None) -> Reply:
        """Send a request as the admin, who has a client certificate, and verify the serving certificate."""
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SECONDS, context=self._tls)
        try:
            data = json.dumps(body) if body is not None else None
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return Reply(response.status, response.read())
        finally:
            connection.close()

    @property
    def process_ids(self) -> list[int]:
        return [process.pid for process in self._processes]

    def help_mentions(self, program: str, flag: str) -> bool:
        """True if a line of the program's help starts with the flag. Raise CalledProcessError if the program fails."""
        done = subprocess.run([self._assets / program, "--help"], capture_output=True, check=True, timeout=SECONDS)
        return re.search(rf"(?m)^\s*--{flag}\b", (done.stdout + done.stderr).decode()) is not None

    def _start_etcd(self, url: str) -> None:
        data = self._directory / "etcd"
        data.mkdir()
        peers = f"http://127.0.0.1:{free_port()}"
        flags = [
            f"--advertise-client-urls={url}",
            f"--data-dir={data}",
            f"--listen-client-urls={url}",
            f"--listen-peer-urls={peers}",
        ]
        if self.help_mentions("etcd", "unsafe-no-fsync"):
            flags.append("--unsafe-no-fsync=true")
        self._run("etcd", flags)
        self._poll(f"{url}/health", None)

    def _write_certificates(self) -> None:
        """Write the serving certificate, the keys of service accounts, and the CA of client certificates."""
        now = datetime.now(UTC)
        serving, accounts, clients = (make_authority("envtest-environment", now) for _ in range(3))
        self._write("apiserver", make_serving(serving, ["localhost", "127.0.0.1"], now))
        self._write("sa-signer", accounts)
        (self._directory / "client-cert-auth-ca.crt").write_bytes(clients.certificate_pem)
        self._write("admin", make_client(clients, "admin", ["system:masters"], now, timedelta(days=7)))
        self._tls.load_verify_locations(cadata=serving.certificate_pem.decode())
        self._tls.load_cert_chain(self._directory / "admin.crt", self._directory / "admin.key")

    def _write(self, name: str, pair: KeyPair) -> None:
        (self._directory / f"{name}.crt").write_bytes(pair.certificate_pem)
        (self._directory / f"{name}.key").write_bytes(pair.key_pem)

    def _apiserver_flags(self, etcd: str) -> list[str]:
        folder = self._directory
        return [
            "--allow-privileged=true",
            "--authorization-mode=RBAC",
            "--bind-address=127.0.0.1",
            f"--cert-dir={folder}",
            f"--client-ca-file={folder / 'client-cert-auth-ca.crt'}",
            "--disable-admission-plugins=ServiceAccount",
            f"--etcd-servers={etcd}",
            f"--secure-port={self.port}",
            f"--service-account-issuer=https://127.0.0.1:{self.port}/",
            f"--service-account-key-file={folder / 'sa-signer.crt'}",
            f"--service-account-signing-key-file={folder / 'sa-signer.key'}",
            "--service-cluster-ip-range=10.0.0.0/24",
        ]

    def _run(self, program: str, flags: list[str]) -> None:
        with self.output.open("ab") as output:
            command = [str(self._assets / program), *flags]
            self._processes.append(subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True))

    def _poll(self, url: str, context: ssl.SSLContext | None) -> None:
        """Wait until the URL answers with 200. Raise AssertionError if the process ends or takes too long."""
        deadline = time.monotonic() + SECONDS
        while health(url, context) != 200:
            assert self._processes[-1].poll() is None, self.output.read_text()
            assert time.monotonic() < deadline, f"{url} is not healthy: {self.output.read_text()}"
            time.sleep(self._poll_seconds)


def health(url: str, context: ssl.SSLContext | None = None) -> int:
    """Return the status of a GET. Return 0 if nothing listens at the URL."""
    scheme, _, rest = url.partition("://")
    address, _, path = rest.partition("/")
    connection = (
        http.client.HTTPSConnection(address, timeout=SECONDS, context=context)
        if scheme == "https"
        else http.client.HTTPConnection(address, timeout=SECONDS)
    )
    try:
        connection.request("GET", f"/{path}")
        return connection.getresponse().status
    except ConnectionRefusedError:
        return 0
    finally:
        connection.close()
