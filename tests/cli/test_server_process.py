"""The process of a server: JSON logs, notifications for systemd, the drain and the second signal."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from polykind.cli.service_manager import ServiceManager
from tests.support.client import Client
from tests.support.hook import Call, Hook, Reply
from tests.support.waiting import eventually_async

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Notifications:
    """The socket of a service manager."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        self._socket.settimeout(30)

    def next(self, *, skip: str = "WATCHDOG=1") -> dict[str, str]:
        while (message := self._socket.recv(4096).decode()) == skip:
            pass
        return dict(line.split("=", 1) for line in message.splitlines())

    def close(self) -> None:
        self._socket.close()


@contextmanager
def serving(directory: Path, *flags: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Start `polykind serve` and kill it at the end."""
    command = [sys.executable, "-m", "polykind", "serve", f"--data-dir={directory / 'data'}", "--secure-port=0"]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, *flags], stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def address(process: subprocess.Popen[str], directory: Path) -> tuple[str, str]:
    """Return the URL and the admin's token of a server once it serves."""
    assert process.stdout is not None
    url = process.stdout.readline().split()[-1]
    process.stdout.readline()
    return url, (directory / "data" / "admin.token").read_text()


async def test_the_server_drains_after_sigterm(tmp_path: Path) -> None:
    manager = Notifications(tmp_path / "notify")
    environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
    with serving(tmp_path, "--shutdown-delay-duration=4s", **environment) as process:
        url, token = address(process, tmp_path)
        ready = await asyncio.to_thread(manager.next)
        assert ready["READY"] == "1"
        assert ready["STATUS"] == f"serving at {url}"
        assert (await asyncio.to_thread(manager.next, skip=""))["WATCHDOG"] == "1"
        process.send_signal(signal.SIGHUP)
        reloading = await asyncio.to_thread(manager.next)
        assert reloading["RELOADING"] == "1"
        assert int(reloading["MONOTONIC_USEC"]) > 0
        assert (await asyncio.to_thread(manager.next))["READY"] == "1"
        async with Client(url, token) as client, Client(url, token) as watcher:
            watch = asyncio.create_task(_last_event(watcher))
            process.send_signal(signal.SIGTERM)
            stopping = await asyncio.to_thread(manager.next)
            assert stopping["STOPPING"] == "1"
            assert int(stopping["EXTEND_TIMEOUT_USEC"]) == 74_000_000
            # Not ready from now on, and otherwise as before: requests are served, watches get events.
            reply = await client.call("GET", "/readyz?verbose")
            assert reply.status == 500
            assert b"[-]shutdown failed: reason withheld" in reply.body
            assert (await client.call("GET", "/readyz/shutdown")).body == (
                b"internal server error: process is shutting down\n"
            )
            assert (await client.call("GET", "/livez")).status == 200
            assert (await client.call("GET", "/livez/shutdown")).status == 404
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
            assert (await client.call("POST", CONFIG_MAPS, body)).status == 201
            assert await watch == "late"
        assert await asyncio.to_thread(process.wait, 30) == 0
    manager.close()


async def _last_event(client: Client) -> str:
    """Return the name in the last event of a watch. Fails unless the server ends the stream properly."""
    name = ""
    async for line in client.lines(f"{CONFIG_MAPS}?watch=1"):
        name = json.loads(line)["object"]["metadata"]["name"]
    return name


async def test_a_request_in_flight_finishes(tmp_path: Path) -> None:
    """A create that waits for a webhook gets its response, although the server stops listening meanwhile."""
    called, stopped = asyncio.Event(), asyncio.Event()

    async def answer(call: Call) -> Reply:
        called.set()
        await stopped.wait()
        response = {"uid": call.review["request"]["uid"], "allowed": True}
        return Reply(json.dumps({**call.review, "response": response}).encode())

    async with Hook(behaviour=answer) as hook:
        webhook = {
            "name": "slow.example.com",
            "clientConfig": {"url": hook.url, "caBundle": hook.bundle},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 30,
        }
        configuration = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "slow"},
            "webhooks": [webhook],
        }
        with serving(tmp_path, "--disable-admission-plugins=ServiceAccount") as process:
            url, token = address(process, tmp_path)
            async with Client(url, token) as client, Client(url, token) as other:
                path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
                assert (await client.call("POST", path, configuration)).status == 201
                body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}}
                create = asyncio.create_task(client.call("POST", CONFIG_MAPS, body))
                await called.wait()
                process.send_signal(signal.SIGTERM)
                async with asyncio.timeout(30):
                    while await _accepts(other):
                        await asyncio.sleep(0.01)
                stopped.set()
                assert (await create).status == 201
            assert await asyncio.to_thread(process.wait, 30) == 0


async def _accepts(client: Client) -> bool:
    """True if the server accepts new connections."""
    try:
        _, writer = await asyncio.open_connection(client.host, client.port)
    except OSError:
        return False
    writer.close()
    return True


async def test_a_second_signal_ends_the_process_at_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--shutdown-delay-duration=10m") as process:
        url, token = address(process, tmp_path)
        process.send_signal(signal.SIGTERM)
        async with Client(url, token) as client:
            while (await client.call("GET", "/readyz")).status == 200:
                await asyncio.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 30) == 1


async def test_every_log_line_is_json(tmp_path: Path) -> None:
    with serving(tmp_path, "--logging-format=json", "-v4", "--authorization-mode=AlwaysAllow") as process:
        log = tmp_path / "log"
        await eventually_async(lambda: "serving at" in log.read_text())
        url = next(
            line["msg"].split()[3].rstrip(",")
            for line in map(json.loads, log.read_text().splitlines())
            if line["msg"].startswith("server: serving at")
        )
        async with Client(url, (tmp_path / "data" / "admin.token").read_text()) as client:
            await client.call("GET", "/version?x=%22")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 30) == 0
        assert process.stdout is not None
        assert process.stdout.read() == ""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (request,) = [line for line in lines if line["msg"] == "HTTP" and line["URI"] == "/version?x=%22"]
    assert request["verb"] == "GET"
    assert request["resp"] == 200
    assert request["srcIP"] == "127.0.0.1"
    assert request["latency"].endswith("s")
    assert any("AlwaysAllow" in line["msg"] and line["v"] == 0 for line in lines)


def test_a_failed_start_is_a_json_line(tmp_path: Path) -> None:
    with serving(tmp_path, "--logging-format=json", "--tls-cert-file=none", "--tls-private-key-file=none") as process:
        assert process.wait(60) == 2
    (line,) = [json.loads(text) for text in (tmp_path / "log").read_text().splitlines()]
    assert line["msg"] == "command failed"
    assert "cannot load the certificate none" in line["err"]


async def test_the_watchdog_stops_with_the_event_loop(tmp_path: Path) -> None:
    """A callback that holds the event loop also holds the reports, so systemd notices."""
    manager = Notifications(tmp_path / "notify")
    watched = ServiceManager({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "20000"})
    watched.ready("")
    assert manager.next(skip="")["READY"] == "1"
    assert manager.next(skip="")["WATCHDOG"] == "1"
    manager._socket.settimeout(0.1)
    with pytest.raises(TimeoutError):
        manager.next(skip="")  # holds the event loop
    await asyncio.sleep(0.05)
    assert manager.next(skip="")["WATCHDOG"] == "1"
    watched.close()
    manager.close()


def test_another_process_is_watched_and_the_manager_is_absent(caplog: pytest.LogCaptureFixture) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": "@polykind-no-such-manager", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"})
    manager.ready("")
    assert "cannot notify the service manager, continuing" in caplog.text
    ServiceManager({}).stopping(1)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc, which only Linux has")
def test_the_first_start_keeps_no_cryptography_library_in_memory(tmp_path: Path) -> None:
    with serving(tmp_path) as process:
        address(process, tmp_path)
        assert (tmp_path / "data" / "pki" / "apiserver.crt").exists()
        assert "cryptography" not in Path(f"/proc/{process.pid}/maps").read_text()
