"""The server process: start, stop, and messages when it cannot start."""

from __future__ import annotations

import signal
import ssl
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from polykind.pki.authority import make_authority, make_serving
from tests.conformance.client import Server
from tests.support.raw import connect, head
from tests.support.server import ServerProcess

COMMAND = str(Path(sys.executable).with_name("polykind"))


def run(*flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, "serve", *flags], capture_output=True, text=True, timeout=30, check=False)


def test_start_prints_how_to_use_the_server(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        said = server.log.read_text()
    assert f"Serving at {server.url}\n" in said
    assert f"export KUBECONFIG={server.kubeconfig}\n" in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_server_quickly_and_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with ServerProcess(tmp_path / "data") as server:
        watch = head(server, b"GET", b"/api/v1/namespaces?watch=1", close=False)
        with connect(server) as idle, connect(server) as watcher:
            idle.sendall(b"GET /readyz HT")
            watcher.sendall(watch)
            assert watcher.recv(12) == b"HTTP/1.1 200"
            begin = time.monotonic()
            assert server.process is not None
            server.process.send_signal(number)
            assert server.process.wait(20) == 0
        assert time.monotonic() - begin < 5
        assert "Traceback" not in server.log.read_text()


def test_second_server_on_the_same_data_is_rejected(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data"):
        second = run(f"--data-dir={tmp_path / 'data'}", "--secure-port=0")
    assert second.returncode == 1
    assert second.stderr.startswith("polykind serve: ")
    assert "Traceback" not in second.stderr


def test_port_in_use_is_named(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        second = run(f"--data-dir={tmp_path / 'other'}", f"--secure-port={server.port}")
    assert second.returncode == 1
    assert str(server.port) in second.stderr
    assert "Traceback" not in second.stderr


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--secure-port=99999"], "--secure-port"),
        (["--request-timeout=soon"], "--request-timeout"),
        (["--feature-gates=Nonsense=true"], "--feature-gates"),
        (["--feature-gates=CustomResourceDefaulting=perhaps"], "--feature-gates"),
        (["--conversion-cache=perhaps"], "--conversion-cache"),
        (["--resolve=nonsense"], "--resolve"),
        (["--tls-cert-file=/absent"], "--tls-private-key-file"),
        (["--authorization-mode=Nonsense"], "--authorization-mode"),
        (["--token-auth-file=/absent/tokens.csv"], "/absent/tokens.csv"),
        (["--converter=nonsense"], "--converter"),
    ],
)
def test_bad_flag_is_rejected_by_name(tmp_path: Path, flags: list[str], named: str) -> None:
    where = [] if any(f.startswith("--secure-port") for f in flags) else ["--secure-port=0"]
    refused = run(f"--data-dir={tmp_path / 'data'}", *where, *flags)
    assert refused.returncode in (1, 2)
    assert named in refused.stderr
    assert "Traceback" not in refused.stderr


def test_data_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = run(f"--data-dir={tmp_path / 'file' / 'data'}", "--secure-port=0")
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    assert "file" in refused.stderr


def test_hangup_reloads_the_token_file(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("first,alice,1\n")
    flags = (f"--token-auth-file={tokens}", "--authorization-mode=AlwaysAllow")
    with ServerProcess(tmp_path / "data", *flags) as server:
        assert Server(server.url, "first").call("GET", "/api/v1/namespaces").status == 200
        tokens.write_text("second,bob,2\n")
        assert server.process is not None
        server.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + 10
        while Server(server.url, "second").call("GET", "/api/v1/namespaces").status != 200:
            assert time.monotonic() < deadline
        assert Server(server.url, "first").call("GET", "/api/v1/namespaces").status == 401
        tokens.write_text("broken\n")
        server.process.send_signal(signal.SIGHUP)
        assert Server(server.url, "second").call("GET", "/api/v1/namespaces").status == 200


def test_certificate_of_the_user_is_served_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "pki"
    folder.mkdir()
    now = datetime.now(UTC)
    pair = make_serving(make_authority("another-ca", now), ["127.0.0.1"], now)
    (folder / "apiserver.crt").write_bytes(pair.certificate_pem)
    (folder / "apiserver.key").write_bytes(pair.key_pem)
    with ServerProcess(tmp_path / "data", f"--cert-dir={folder}") as server:
        served = ssl.get_server_certificate(("127.0.0.1", server.port))
    assert served.split() == pair.certificate_pem.decode().split()
    assert (folder / "apiserver.crt").read_bytes() == pair.certificate_pem
