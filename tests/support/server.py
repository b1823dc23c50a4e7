"""A real `polykind serve` process, started through the command line as a user starts it."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import yaml

DEADLINE_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def trusting() -> ssl.SSLContext:
    """Return a client TLS context that accepts any certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class ServerProcess:
    """`polykind serve` on a free port. Tests can kill it and restart it on the same data."""

    def __init__(self, data_dir: Path, *flags: str) -> None:
        self.data_dir, self.flags = data_dir, flags
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.kubeconfig = data_dir / "admin.kubeconfig"
        self.log = data_dir.with_name(data_dir.name + ".log")
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def command(self) -> list[str]:
        where = [f"--data-dir={self.data_dir}", f"--secure-port={self.port}"]
        return [str(Path(sys.executable).with_name("polykind")), "serve", *where, *self.flags]

    @property
    def token(self) -> str:
        user: dict[str, Any] = yaml.safe_load(self.kubeconfig.read_text())["users"][0]["user"]
        return str(user["token"])

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self.ready():
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.tail()}")
            if time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"the server was not ready within {DEADLINE_SECONDS:.0f} s:\n{self.tail()}")
            time.sleep(0.01)

    def ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5, context=trusting()) as answer:
                return bool(answer.status == 200) and self.kubeconfig.exists()
        except (OSError, urllib.error.URLError):
            return False

    def tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:])

    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """Send SIGKILL, so that the server cannot clean up."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        """Send SIGTERM as a service manager does and return the exit status."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self.process.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def __enter__(self) -> ServerProcess:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.alive():
            self.stop()


class Elsewhere(ServerProcess):
    """A server that runs outside the tests, such as kube-apiserver, to find out which side a failing test blames."""

    def __init__(self, folder: Path, url: str, token: str) -> None:
        super().__init__(folder)
        self.url, self.port, self._token = url, int(url.rsplit(":", 1)[1]), token
        folder.mkdir(parents=True, exist_ok=True)
        self.kubeconfig.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "it", "cluster": {"server": url, "insecure-skip-tls-verify": True}}],
                    "users": [{"name": "it", "user": {"token": token}}],
                    "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
                    "current-context": "it",
                }
            )
        )

    def start(self) -> None:
        assert self.ready(), f"nobody answers at {self.url}"

    def alive(self) -> bool:
        return self.ready()

    def stop(self) -> int:
        return 0


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[ServerProcess]:
    """Start a server for tests, or use the one that POLYKIND_TEST_SERVER names as `url,token`."""
    elsewhere = os.environ.get("POLYKIND_TEST_SERVER")
    server = Elsewhere(folder / "data", *elsewhere.split(",")) if elsewhere else ServerProcess(folder / "data", *flags)
    with server:
        yield server
