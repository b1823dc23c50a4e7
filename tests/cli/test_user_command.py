"""`polykind user add`, `list` and `revoke`, with a running server."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from polykind.cli import main
from polykind.pki.client_authority import issue_user
from polykind.pki.user_registry import RegistryError, UserRegistry
from tests.support.live import Live, live

WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"})
NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def started(tmp_path: Path) -> Path:
    """A data directory whose server has been started once."""
    cluster = {"server": "https://10.1.2.3:6443", "certificate-authority-data": "Q0E="}
    (tmp_path / "admin.kubeconfig").write_text(json.dumps({"clusters": [{"name": "c", "cluster": cluster}]}))
    return tmp_path


def user(data_dir: Path, *arguments: str) -> int:
    return main(["user", *arguments, "--data-dir", str(data_dir)])


class Connection:
    """One TLS connection with the client certificate of a kubeconfig."""

    def __init__(self, kubeconfig: Path) -> None:
        self._config: dict[str, Any] = json.loads(kubeconfig.read_bytes())
        self._folder = kubeconfig.parent

    async def open(self) -> Connection:
        credentials, cluster = self._config["users"][0]["user"], self._config["clusters"][0]["cluster"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=ca)
        pem = b"".join(base64.b64decode(credentials[f"client-{part}-data"]) for part in ("certificate", "key"))
        (self._folder / "pair.pem").write_bytes(pem)
        context.load_cert_chain(self._folder / "pair.pem")
        host, _, port = cluster["server"].removeprefix("https://").rpartition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port), ssl=context)
        return self

    async def whoami(self) -> tuple[int, dict[str, Any]]:
        head = f"POST {WHOAMI} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(REVIEW)}\r\n\r\n{REVIEW}".encode())
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = re.search(r"content-length: (\d+)", answer)
        assert length
        body = json.loads(await self._reader.readexactly(int(length[1])))
        return int(answer.split()[1]), body.get("status", {}) if isinstance(body.get("status"), dict) else {}

    def close(self) -> None:
        self._writer.transport.abort()


async def connect(kubeconfig: Path) -> Connection:
    return await Connection(kubeconfig).open()


async def test_added_user_has_access_until_revoked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with live(tmp_path) as running:
        data_dir = running.server.settings.data_dir
        assert running.server._identity.tls.context.verify_mode is ssl.CERT_NONE
        for name in ("alice", "bob"):
            assert user(data_dir, "add", name, "--group=dev", "--group=ops", f"--output={tmp_path / name}") == 0
        assert stat.S_IMODE((tmp_path / "alice").stat().st_mode) == 0o600
        assert {UserRegistry(data_dir / "pki").file, UserRegistry(data_dir / "pki").authority} <= set(
            running.server._identity.files()
        )
        running.server.reload()
        alice, bob = await connect(tmp_path / "alice"), await connect(tmp_path / "bob")
        code, status = await alice.whoami()
        assert (code, status["userInfo"]["username"]) == (201, "alice")
        assert status["userInfo"]["groups"] == ["dev", "ops", "system:authenticated"]
        assert user(data_dir, "revoke", "alice") == 0
        running.server.reload()
        assert (await alice.whoami())[0] == 401
        assert (await bob.whoami())[0] == 201
        again = await connect(tmp_path / "alice")
        assert (await again.whoami())[0] == 401
        for connection in (alice, bob, again):
            connection.close()
    assert "works on this machine only" in capsys.readouterr().err


async def test_revocation_is_read_although_another_file_is_broken(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        data_dir = running.server.settings.data_dir
        assert user(data_dir, "add", "alice", f"--output={tmp_path / 'alice'}") == 0
        running.server.reload()
        connection = await connect(tmp_path / "alice")
        assert (await connection.whoami())[0] == 201
        (data_dir / "pki" / "apiserver.key").write_bytes((data_dir / "pki" / "ca.key").read_bytes())
        assert user(data_dir, "revoke", "alice") == 0
        running.server.reload()
        assert (await connection.whoami())[0] == 401
        # New connections still get the previous serving certificate.
        assert (await _ask_admin(running))[0] == 200
        connection.close()


async def _ask_admin(running: Live) -> tuple[int, bytes]:
    async with running.another() as client:
        reply = await client.call("GET", "/api/v1/namespaces")
        return reply.status, reply.body


async def test_client_ca_in_the_bundle_does_not_bypass_the_registry(tmp_path: Path) -> None:
    issue_user(tmp_path / "issuer" / "pki", "mallory", (), datetime.now(UTC), DAY)
    bundle = tmp_path / "issuer" / "pki" / "client-ca.crt"
    async with live(tmp_path, client_ca_file=bundle) as running:
        data_dir = running.server.settings.data_dir
        (data_dir / "pki" / "client-ca.crt").write_bytes(bundle.read_bytes())
        (data_dir / "pki" / "client-ca.key").write_bytes(bundle.with_name("client-ca.key").read_bytes())
        assert user(data_dir, "add", "alice", f"--output={tmp_path / 'alice'}") == 0
        assert user(data_dir, "revoke", "alice") == 0
        running.server.reload()
        connection = await connect(tmp_path / "alice")
        assert (await connection.whoami())[0] == 401
        connection.close()


def test_kubeconfig_names_the_server(started: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert user(started, "add", "alice") == 0
    output = capsys.readouterr()
    cluster = json.loads(output.out)["clusters"][0]["cluster"]
    assert cluster == {"server": "https://10.1.2.3:6443", "certificate-authority-data": "Q0E="}
    assert output.err == ""
    assert user(started, "add", "alice", "--server=https://api.example.com/") == 0
    cluster = json.loads(capsys.readouterr().out)["clusters"][0]["cluster"]
    assert cluster["server"] == "https://api.example.com"
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (started / "pki").iterdir()}
    assert set(modes.values()) == {0o600}, modes


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["system:admin"], "reserved for Kubernetes"),
        (["alice", "--group=system:masters"], "cannot be restricted by RBAC; if you mean it"),
        ([""], "1 to 64 printable characters"),
        (["x" * 65], "1 to 64 printable characters"),
        (["alice", "--group=a\nb"], "1 to 64 printable characters"),
        (["alice", "--days=0"], "--days must be between 1 and 3650"),
        (["alice", "--server=http://x"], "is not a URL such as https://"),
    ],
)
def test_refused_arguments(
    started: Path, arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert user(started, "add", *arguments) == 2
    assert problem in capsys.readouterr().err
    assert not (started / "pki").exists()


def test_system_identity_must_be_allowed(started: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert user(started, "add", "root", "--group=system:masters", "--allow-system-identity") == 0
    assert user(started, "list") == 0
    assert re.search(r"^root +system:masters +[0-9a-f]{40} +\d{4}-\d\d-\d\d +active$", capsys.readouterr().out, re.M)


def test_data_directory_of_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert user(tmp_path, "add", "alice") == 2
    assert "start `polykind serve" in capsys.readouterr().err
    assert user(tmp_path, "revoke", "alice") == 2
    assert "no certificate has the user name" in capsys.readouterr().err


def test_revoke_by_serial(started: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert user(started, "add", "alice", f"--output={started / 'config'}") == 0
    registry = UserRegistry(started / "pki")
    first, second = registry.read()
    assert user(started, "revoke", first.serial.upper()) == 0
    assert [bool(issued.revoked) for issued in registry.read()] == [True, False]
    assert registry.accepted_digests() == {second.sha256}
    assert user(started, "revoke", "alice") == 0
    assert user(started, "revoke", "alice") == 0
    assert "All certificates of alice were revoked before." in capsys.readouterr().out
    assert user(started, "revoke", "bob") == 2


def test_client_ca_is_replaced_before_it_expires(tmp_path: Path) -> None:
    first = issue_user(tmp_path, "alice", (), NOW, DAY).certificate
    later = issue_user(tmp_path, "bob", (), NOW + 3649 * DAY, 2 * DAY).certificate
    assert first.issuer != later.issuer
    text = (tmp_path / "client-ca.crt").read_text()
    assert text.count("BEGIN CERTIFICATE") == 2
    assert issue_user(tmp_path, "eve", (), NOW + 3649 * DAY, 2 * DAY).certificate.issuer == later.issuer


def test_client_ca_without_its_key(tmp_path: Path) -> None:
    issue_user(tmp_path, "alice", (), NOW, DAY)
    (tmp_path / "client-ca.key").unlink()
    with pytest.raises(ValueError, match="is missing: run this command where the client CA was created"):
        issue_user(tmp_path, "bob", (), NOW, DAY)


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"version": 2, "users": []}', '{"version": 1, "users": [{"name": "a", "groups": []}]}']
)
def test_damaged_registry(tmp_path: Path, content: str) -> None:
    (tmp_path / "users.json").write_text(content)
    with pytest.raises(RegistryError, match=r"users\.json"):
        UserRegistry(tmp_path).read()
