"""The Server object: files, credentials, start and stop."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import ssl
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from polykind.http.listener import HttpServer
from polykind.server.server import Server
from polykind.server.settings import Settings, SettingsError
from tests.support.client import Client
from tests.support.kubectl import Kubectl
from tests.support.live import live
from tests.support.waiting import eventually_async

NAMESPACES = "/api/v1/namespaces"


def file_modes(directory: Path) -> dict[str, int]:
    return {p.name: stat.S_IMODE(p.stat().st_mode) for p in directory.iterdir()}


def kubeconfig(server: Server) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(server.kubeconfig.read_text())
    return config


async def test_files_of_the_first_start_are_readable_by_the_owner_only(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        data = tmp_path / "data"
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        modes = file_modes(data)
        assert {modes[n] for n in ("admin.token", "admin.kubeconfig")} == {0o600}
        assert modes["pki"] == 0o700
        assert len(running.server.token) > 40


_PRINT_LOADED_MODULES = """
import asyncio, sys
from pathlib import Path
from polykind.server.server import Server
from polykind.server.settings import Settings

async def main():
    async with Server(Settings(data_dir=Path(sys.argv[1]), secure_port=0, authorization_mode=("AlwaysAllow",))):
        roles = ("auth.rbac", "auth.request_authorization", "controllers.rbac_informer", "controllers.rbac_bootstrap")
        roles += ("verbs.privileges",)
        migrating = ("migration.migrator", "migration.rewriter", "migration.status_writers")
        optional = ("cel", "admission.admission_webhook", *roles, *migrating)
        others = ("aiohttp", "cryptography", "yaml")
        print(*(name for name in (*others, *(f"polykind.{name}" for name in optional)) if name in sys.modules))

asyncio.run(main())
"""


def test_optional_modules_are_not_imported_at_start(tmp_path: Path) -> None:
    # Only the first start creates certificates.
    for loaded in (["cryptography"], []):
        command = [sys.executable, "-c", _PRINT_LOADED_MODULES, str(tmp_path)]
        started = subprocess.run(command, capture_output=True, text=True, check=True)
        assert started.stdout.split() == loaded


async def test_second_start_keeps_the_token_and_the_certificates(tmp_path: Path) -> None:
    starts = []
    for _ in range(2):
        async with live(tmp_path) as running:
            pki = tmp_path / "data" / "pki"
            starts.append((running.server.token, {p.name: p.read_bytes() for p in pki.iterdir()}))
    assert starts[0] == starts[1]


async def test_server_can_start_and_stop_repeatedly(tmp_path: Path) -> None:
    server = Server(Settings(data_dir=tmp_path, secure_port=0))
    for number in range(3):
        async with server:
            client = Client(server.url, server.token)
            assert (await client.call("GET", f"{NAMESPACES}/default")).status == 200
            created = await client.call(
                "POST", NAMESPACES, {"metadata": {"name": f"n{number}"}, "kind": "Namespace", "apiVersion": "v1"}
            )
            assert created.status == 201, created.body
            listed = (await client.call("GET", NAMESPACES)).json()
            client.close()
            assert {f"n{i}" for i in range(number + 1)} <= {n["metadata"]["name"] for n in listed["items"]}


async def test_kubeconfig_is_sufficient_for_a_client(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        config = kubeconfig(running.server)
        cluster = config["clusters"][0]["cluster"]
        assert cluster["server"] == running.server.url
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        trusted = ssl.create_default_context(cadata=ca)
        reader, writer = await asyncio.open_connection("127.0.0.1", running.server.port, ssl=trusted)
        token = config["users"][0]["user"]["token"]
        head = f"GET {NAMESPACES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        assert (await reader.readline()) == b"HTTP/1.1 200 OK\r\n"
        writer.transport.abort()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not on the PATH")
async def test_kubectl_works_with_the_kubeconfig(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        kubectl = Kubectl(running.server.kubeconfig, tmp_path)
        out = await asyncio.to_thread(kubectl, "get", "namespaces", "-o", "name")
        assert "namespace/default" in out.out.split()


@pytest.mark.parametrize(
    ("address", "advertised", "url"),
    [
        ("127.0.0.1", "", "https://127.0.0.1:7"),
        ("127.0.0.1", "192.0.2.1", "https://127.0.0.1:7"),
        ("0.0.0.0", "", "https://127.0.0.1:7"),
        ("0.0.0.0", "192.0.2.1", "https://192.0.2.1:7"),
        ("::", "", "https://[::1]:7"),
        ("::", "2001:db8::1", "https://[2001:db8::1]:7"),
        ("::1", "", "https://[::1]:7"),
        ("198.51.100.1", "192.0.2.1", "https://192.0.2.1:7"),
        ("host.example.com", "", "https://host.example.com:7"),
    ],
)
def test_url_of_bind_addresses(tmp_path: Path, address: str, advertised: str, url: str) -> None:
    server = Server(Settings(data_dir=tmp_path, bind_address=address, advertise_address=advertised))
    server.port = 7
    assert server.url == url


# ---------------------------------------------------------------------- credentials


async def status(running: Any, path: str, *lines: str, tls: ssl.SSLContext | None = None) -> tuple[int, str]:
    """Return the status and the body of a GET with these header lines."""
    context = tls or ssl._create_unverified_context()
    reader, writer = await asyncio.open_connection("127.0.0.1", running.server.port, ssl=context)
    writer.write("\r\n".join([f"GET {path} HTTP/1.1", "Host: x", "Connection: close", *lines, "", ""]).encode())
    response = await reader.read()
    writer.transport.abort()
    head, _, body = response.decode().partition("\r\n\r\n")
    return int(head.split()[1]), body


async def test_tokens_and_public_paths(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('t-alice,alice,1,"dev"\n')
    async with live(tmp_path, token_auth_file=tokens, authorization_mode=("AlwaysAllow",)) as running:
        admin = f"Authorization: Bearer {running.server.token}"
        for path in ("/healthz", "/livez", "/readyz", "/version", "/readyz/ping"):
            assert (await status(running, path))[0] == 200
        for path in (NAMESPACES, "/api", "/apis", "/openapi/v2", "/metrics", "/", "/nonsense"):
            code, body = await status(running, path)
            assert code == 401
            assert json.loads(body)["message"] == "Unauthorized"
            assert (await status(running, path, "Authorization: Bearer wrong"))[0] == 401
        assert (await status(running, NAMESPACES, admin))[0] == 200
        assert (await status(running, NAMESPACES, "Authorization: Bearer t-alice"))[0] == 200


async def test_client_certificates_authenticate(tmp_path: Path) -> None:
    authority, other_authority = trustme.CA(), trustme.CA()
    (tmp_path / "ca.pem").write_bytes(authority.cert_pem.bytes())

    def client_context(ca: trustme.CA) -> ssl.SSLContext:
        context: ssl.SSLContext = ssl._create_unverified_context()
        ca.issue_cert("bob", common_name="bob", organization_name="dev").configure_cert(context)
        return context

    async with live(tmp_path, client_ca_file=tmp_path / "ca.pem", authorization_mode=("AlwaysAllow",)) as running:
        assert (await status(running, NAMESPACES, tls=client_context(authority)))[0] == 200
        header = "Authorization: Bearer wrong"
        assert (await status(running, NAMESPACES, header, tls=client_context(authority)))[0] == 200
        assert (await status(running, NAMESPACES))[0] == 401
        assert (await status(running, NAMESPACES, tls=client_context(other_authority)))[0] == 401


async def test_given_serving_certificate_is_used(tmp_path: Path) -> None:
    issued = trustme.CA().issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "tls.crt"))
    issued.private_key_pem.write_to_path(str(tmp_path / "tls.key"))
    async with live(tmp_path, tls_cert_file=tmp_path / "tls.crt", tls_private_key_file=tmp_path / "tls.key") as running:
        assert not (tmp_path / "data" / "pki").exists()
        presented = ssl.get_server_certificate
        served_certificate = await asyncio.to_thread(presented, ("127.0.0.1", running.server.port))
        assert served_certificate.split() == (tmp_path / "tls.crt").read_text().split()
        assert kubeconfig(running.server)["clusters"][0]["cluster"]["certificate-authority-data"]


# ---------------------------------------------------------------------- stop


async def test_acknowledged_writes_survive_a_stop(tmp_path: Path) -> None:
    acknowledged: list[str] = []
    stopping = asyncio.Event()

    async def writer(client: Client, number: int) -> None:
        attempt = 0
        while True:
            name = f"n{number}-{attempt}"
            body = {"metadata": {"name": name}, "kind": "Namespace", "apiVersion": "v1"}
            try:
                if (await client.call("POST", NAMESPACES, body)).status == 201:
                    acknowledged.append(name)
            except (OSError, asyncio.IncompleteReadError):
                client.close()
                assert stopping.is_set()
                return
            attempt += 1

    async with live(tmp_path) as running:
        writing = [asyncio.create_task(writer(running.another(), n)) for n in range(8)]
        await eventually_async(lambda: len(acknowledged) >= 50)
        stopping.set()
    await asyncio.gather(*writing)
    async with live(tmp_path) as running:
        listed = await running.ask("GET", NAMESPACES)
        assert set(acknowledged) <= {n["metadata"]["name"] for n in listed["items"]}


async def test_stop_ends_watches_cleanly(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        events = running.watch(f"{NAMESPACES}?watch=1")
        assert (await anext(events))["type"] == "ADDED"
        rest = asyncio.create_task(_all(events))
    assert [e["type"] for e in await rest] == ["ADDED"] * 3


async def _all(events: AsyncIterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event async for event in events]


# ---------------------------------------------------------------------- failed starts


async def test_failed_start_leaves_nothing_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(Settings(data_dir=tmp_path, secure_port=0))
    tasks, threads = len(asyncio.all_tasks()), set(threading.enumerate())

    async def fail(*_: object, **__: object) -> int:
        raise OSError("address already in use")

    with monkeypatch.context() as failing:
        failing.setattr(HttpServer, "start", fail)
        with pytest.raises(OSError, match="address already in use"):
            await server.start()
    await asyncio.sleep(0.01)
    assert not [t.name for t in set(threading.enumerate()) - threads if t.name.startswith("polykind")]
    assert len(asyncio.all_tasks()) == tasks
    async with server:
        assert server.port


async def test_two_servers_cannot_share_a_data_directory(tmp_path: Path) -> None:
    async with live(tmp_path):
        second = Server(Settings(data_dir=tmp_path / "data", secure_port=0))
        with pytest.raises(Exception, match="data"):
            await second.start()


def test_settings_are_checked_before_files_are_created(tmp_path: Path) -> None:
    with pytest.raises(SettingsError):
        Server(Settings(data_dir=tmp_path / "data", secure_port=-1))
    assert not (tmp_path / "data").exists()
