"""Servers that encrypt stored objects: rules, rotation of keys under load, and values that cannot be decrypted."""

from __future__ import annotations

import asyncio
import base64
import logging
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from polykind.contract import Store
from polykind.server.encryption_settings import read_encryption_config
from polykind.server.server import Server
from polykind.server.settings import Settings, SettingsError
from polykind.store.etcd import EtcdAccess, EtcdStore
from polykind.store.sqlite import SqliteStore
from tests.support.client import Client
from tests.support.etcd import Etcd, etcd

SECRETS = "/api/v1/namespaces/default/secrets"
FOLDER = "/registry/secrets/default/"
MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
KEY1 = base64.b64encode(b"abcdefghijklmnopqrstuvwxyz012345").decode()
KEY2 = base64.b64encode(b"543210zyxwvutsrqponmlkjihgfedcba").decode()
IDENTITY: dict[str, Any] = {"identity": {}}


def aesgcm(*names: str) -> dict[str, Any]:
    secrets = {"key1": KEY1, "key2": KEY2}
    return {"aesgcm": {"keys": [{"name": name, "secret": secrets[name]} for name in names]}}


def write_config(path: Path, *providers: dict[str, Any], resources: tuple[str, ...] = ("secrets",)) -> Path:
    rule = {"resources": list(resources), "providers": list(providers)}
    config = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration", "resources": [rule]}
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    return path


def secret(name: str, text: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"text": text}}


def text_of(obj: dict[str, Any]) -> str:
    return base64.b64decode(obj["data"]["text"]).decode()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with etcd(tmp_path_factory.mktemp("etcd")) as running:
        yield running


@asynccontextmanager
async def serving(folder: Path, inner: Store, **flags: Any) -> AsyncIterator[tuple[Server, Client]]:
    settings = Settings(
        data_dir=folder / "data", secure_port=0, encryption_provider_config=folder / "encryption.yaml", **flags
    )
    async with Server(settings, store=inner) as server, Client(server.url, server.token) as client:
        yield server, client


def reload(server: Server, folder: Path, *providers: dict[str, Any]) -> None:
    write_config(folder / "encryption.yaml", *providers)
    assert server.encryption is not None
    server.encryption.reload()
    assert server.encryption.check() == ""


async def prefixes(inner: Store) -> set[bytes]:
    """Return the text before the nonce of all stored secrets, or the first byte of values that are not encrypted."""
    return {
        b":".join(item.value.split(b":", 5)[:5]) if item.value.startswith(b"k8s:") else item.value[:1]
        for item in (await inner.range(FOLDER)).items
    }


class Writers:
    """Clients that update and read secrets, and record the last acknowledged text of each secret."""

    def __init__(self, server: Server, count: int = 4) -> None:
        self._server = server
        self._count = count
        self._stopping = False
        self.acknowledged: dict[str, str] = {}
        self.rounds = 0

    async def __aenter__(self) -> Writers:
        self._tasks = [asyncio.create_task(self._write(number)) for number in range(self._count)]
        await self.progress()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopping = True
        await asyncio.gather(*self._tasks)

    async def progress(self) -> None:
        """Wait until every writer has written and read."""
        goal = self.rounds + 3 * self._count
        async with asyncio.timeout(60):
            while self.rounds < goal:
                for task in self._tasks:
                    if task.done():
                        task.result()
                await asyncio.sleep(0.01)

    async def _write(self, number: int) -> None:
        name, round_number = f"written-{number}", 0
        async with Client(self._server.url, self._server.token) as client:
            while not self._stopping:
                round_number += 1
                text = f"{number} {round_number}"
                body = secret(name, text)
                reply = await client.call("PUT" if round_number > 1 else "POST", self._path(name, round_number), body)
                assert reply.status in (200, 201), reply.body
                self.acknowledged[name] = text
                listed = await client.call("GET", SECRETS)
                assert listed.status == 200, listed.body
                texts = {item["metadata"]["name"]: text_of(item) for item in listed.json()["items"]}
                assert texts[name] == text
                self.rounds += 1

    @staticmethod
    def _path(name: str, round_number: int) -> str:
        return f"{SECRETS}/{name}" if round_number > 1 else SECRETS


async def migrate(client: Client, name: str) -> None:
    body = {
        "apiVersion": "storagemigration.k8s.io/v1beta1",
        "kind": "StorageVersionMigration",
        "metadata": {"name": name},
        "spec": {"resource": {"group": "", "resource": "secrets"}},
    }
    assert (await client.call("POST", MIGRATIONS, body)).status == 201
    async with asyncio.timeout(60):
        while True:
            status = (await client.call("GET", f"{MIGRATIONS}/{name}")).json().get("status") or {}
            conditions = {c["type"]: c["status"] for c in status.get("conditions") or ()}
            assert conditions.get("Failed") != "True", status
            if conditions.get("Succeeded") == "True":
                return
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", ["sqlite", "etcd"])
async def test_keys_are_rotated_while_clients_write(kind: str, cluster: Etcd, tmp_path: Path) -> None:
    inner: Store
    inner = SqliteStore(tmp_path) if kind == "sqlite" else EtcdStore(EtcdAccess(cluster.urls), "/registry/")
    write_config(tmp_path / "encryption.yaml", IDENTITY)
    async with serving(tmp_path, inner) as (server, client):
        for number in range(100):
            reply = await client.call("POST", SECRETS, secret(f"still-{number}", str(number)))
            assert reply.status == 201
        async with Writers(server) as writers:
            assert await prefixes(inner) == {b"{"}
            steps = [
                ("encrypt", [aesgcm("key1"), IDENTITY], b"k8s:enc:aesgcm:v1:key1"),
                ("rotate", [aesgcm("key2", "key1")], b"k8s:enc:aesgcm:v1:key2"),
                ("decrypt", [IDENTITY, aesgcm("key2")], b"{"),
                ("again", [aesgcm("key2"), IDENTITY], b"k8s:enc:aesgcm:v1:key2"),
            ]
            for name, providers, expected in steps:
                reload(server, tmp_path, *providers)
                await writers.progress()
                await migrate(client, name)
                assert await prefixes(inner) == {expected}
            reload(server, tmp_path, aesgcm("key2"))
            await writers.progress()
        final = (await client.call("GET", SECRETS)).json()["items"]
        texts = {item["metadata"]["name"]: text_of(item) for item in final}
        assert texts == {**{f"still-{n}": str(n) for n in range(100)}, **writers.acknowledged}
        past = await client.call("GET", f"{SECRETS}?resourceVersionMatch=Exact&resourceVersion={server.cache.revision}")
        assert past.status == 200
    # Another server reads the values from the store.
    other: Store
    other = SqliteStore(tmp_path) if kind == "sqlite" else EtcdStore(EtcdAccess(cluster.urls), "/registry/")
    async with serving(tmp_path, other) as (_, client):
        items = (await client.call("GET", SECRETS)).json()["items"]
        assert {item["metadata"]["name"]: text_of(item) for item in items} == texts


async def test_update_without_change_rewrites_only_stale_values(tmp_path: Path) -> None:
    inner = SqliteStore(tmp_path)
    write_config(tmp_path / "encryption.yaml", aesgcm("key1"))
    async with serving(tmp_path, inner) as (server, client):
        created = (await client.call("POST", SECRETS, secret("a", "x"))).json()
        reload(server, tmp_path, aesgcm("key2", "key1"))
        dry = (await client.call("PUT", f"{SECRETS}/a?dryRun=All", created)).json()
        assert dry["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]
        first = (await client.call("PUT", f"{SECRETS}/a", created)).json()
        assert int(first["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])
        assert await prefixes(inner) == {b"k8s:enc:aesgcm:v1:key2"}
        second = (await client.call("PUT", f"{SECRETS}/a", first)).json()
        assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_unreadable_values_are_named_and_never_served(tmp_path: Path) -> None:
    inner = SqliteStore(tmp_path)
    write_config(tmp_path / "encryption.yaml", aesgcm("key1"))
    gates = {"AllowUnsafeMalformedObjectDeletion": True}
    async with serving(tmp_path, inner, feature_gates=gates) as (_, client):
        assert (await client.call("POST", SECRETS, secret("good", "hidden"))).status == 201
        good = await inner.get(f"{FOLDER}good")
        assert good is not None
        flipped = good.value[:-1] + bytes([good.value[-1] ^ 1])
        failure = "cipher: message authentication failed"
        for name, value, reason in [
            ("swapped", good.value, failure),
            ("tampered", flipped, failure),
            ("plain", b'{"apiVersion":"v1","kind":"Secret","metadata":{"name":"plain"}}', "no matching prefix found"),
        ]:
            await inner.put(FOLDER + name, value, expect=0)
            reply = await client.call("GET", f"{SECRETS}/{name}")
            assert reply.status == 500
            text = f'Internal error occurred: unable to transform key "{FOLDER}{name}": {reason}'
            assert reply.json()["message"] == text
            listed = await client.call("GET", SECRETS)
            assert (listed.status, listed.json()["reason"]) == (500, "StorageReadError")
            assert b"aGlkZGVu" not in listed.body
            assert (await client.call("PUT", f"{SECRETS}/{name}", secret(name, "new"))).status == 500
            option = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
            assert (await client.call("DELETE", f"{SECRETS}/{name}", option)).status == 200
        assert len((await client.call("GET", SECRETS)).json()["items"]) == 1


async def test_value_is_served_again_when_its_key_is_added(tmp_path: Path) -> None:
    write_config(tmp_path / "encryption.yaml", aesgcm("key1"))
    async with serving(tmp_path, SqliteStore(tmp_path)) as (_, client):
        assert (await client.call("POST", SECRETS, secret("a", "x"))).status == 201
    write_config(tmp_path / "encryption.yaml", aesgcm("key2"))
    async with serving(tmp_path, SqliteStore(tmp_path)) as (server, client):
        reply = await client.call("GET", f"{SECRETS}/a")
        assert "no matching key was found" in reply.json()["message"]
        reload(server, tmp_path, aesgcm("key2", "key1"))
        async with asyncio.timeout(20):
            while (reply := await client.call("GET", f"{SECRETS}/a")).status != 200:
                await asyncio.sleep(0.02)
        assert text_of(reply.json()) == "x"


async def test_server_without_the_flag_names_it(tmp_path: Path) -> None:
    write_config(tmp_path / "encryption.yaml", aesgcm("key1"))
    async with serving(tmp_path, SqliteStore(tmp_path)) as (_, client):
        assert (await client.call("POST", SECRETS, secret("a", "x"))).status == 201
    settings = Settings(data_dir=tmp_path / "data", secure_port=0)
    async with (
        Server(settings, store=SqliteStore(tmp_path)) as server,
        Client(server.url, server.token) as client,
    ):
        reply = await client.call("GET", f"{SECRETS}/a")
        assert reply.status == 500
        assert "start the server with --encryption-provider-config" in reply.json()["message"]


async def test_failed_reload_keeps_the_keys(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_config(tmp_path / "encryption.yaml", aesgcm("key1"))
    async with serving(tmp_path, SqliteStore(tmp_path)) as (server, client):
        assert (await client.call("POST", SECRETS, secret("a", "x"))).status == 201
        assert server.encryption is not None
        path.write_text(path.read_text() + f'  broken: [{KEY2}\n  secret: "{KEY1}')
        server.encryption.reload()
        assert (await client.call("GET", f"{SECRETS}/a")).status == 200
        ready = await client.call("GET", "/readyz?verbose")
        assert ready.status == 500
        assert b"[-]encryption-provider-config failed" in ready.body
        assert "keeping the previous keys" in caplog.text
        reload(server, tmp_path, aesgcm("key2", "key1"))
        assert (await client.call("GET", "/readyz")).status == 200
        metrics = (await client.call("GET", "/metrics")).body.decode()
        name = "apiserver_encryption_config_controller_automatic_reloads_total"
        assert f'{name}{{status="failure"}} 1.0' in metrics
        assert f'{name}{{status="success"}} 1.0' in metrics
        assert 'transformation_type="to_storage",transformer_prefix="k8s:enc:aesgcm:v1:"} 1.0' in metrics
    assert KEY1 not in caplog.text
    assert KEY2 not in caplog.text


def ignore(*_: str) -> None:
    """Count nothing."""


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("/registry/secrets/default/a", "secrets"),
        ("/registry/configmaps/default/a", "*."),
        ("/registry/services/specs/default/a", "services"),
        ("/registry/services/endpoints/default/a", "*."),
        ("/registry/minions/n", "nodes"),
        ("/registry/namespaces/default", "*."),
        ("/registry/deployments/default/a", "*.apps"),
        ("/registry/events/default/a", "events"),
        ("/registry/clusterroles/admin", "*.*"),
        ("/registry/apiextensions.k8s.io/customresourcedefinitions/a", "*.*"),
        ("/registry/example.com/crontabs/default/a", "crontabs.example.com"),
        ("/registry/example.com/others/a", "*.example.com"),
        ("/registry/_polykind/leader", ""),
        ("/registry/health", ""),
        ("/elsewhere/secrets/a", ""),
    ],
)
def test_rule_of_a_key(key: str, rule: str, tmp_path: Path) -> None:
    names = ["secrets", "services", "nodes", "events", "*.", "*.apps", "crontabs.example.com", "*.example.com", "*.*"]
    config = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [
            {"resources": [name], "providers": [{"aesgcm": {"keys": [{"name": f"rule {name}", "secret": KEY1}]}}]}
            for name in names
        ],
    }
    path = tmp_path / "encryption.yaml"
    path.write_text(yaml.safe_dump(config))
    path.chmod(0o600)
    encryption = read_encryption_config(path, "/registry/", ignore)
    stored = encryption.to_storage(key, b"{}")
    assert stored == b"{}" if not rule else stored.startswith(f"k8s:enc:aesgcm:v1:rule {rule}:".encode())
    assert encryption.from_storage(key, stored) == (b"{}", False)


def test_readable_key_file_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_config(tmp_path / "encryption.yaml", aesgcm("key1"))
    with caplog.at_level(logging.WARNING):
        read_encryption_config(path, "/registry/", ignore)
        assert caplog.text == ""
        path.chmod(0o640)
        read_encryption_config(path, "/registry/", ignore)
    assert f"{path} contains keys and its mode is 0640: run `chmod 600 {path}`" in caplog.text


def test_secretbox_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = {"secretbox": {"keys": [{"name": "a", "secret": KEY1}]}}
    path = write_config(tmp_path / "encryption.yaml", provider)
    monkeypatch.setitem(sys.modules, "nacl", None)
    with pytest.raises(SettingsError, match=r"secretbox needs PyNaCl: run `pip install 'polykind\[encryption\]'`"):
        read_encryption_config(path, "/registry/", ignore)


def test_files_that_are_not_accepted(tmp_path: Path) -> None:
    path = tmp_path / "encryption.yaml"
    with pytest.raises(SettingsError, match="No such file"):
        read_encryption_config(path, "/registry/", ignore)
    write_config(path, aesgcm("key1"), resources=("secrets", "*."))
    with pytest.raises(SettingsError, match=r"error while parsing file: resources\[0\].resources: Invalid value"):
        read_encryption_config(path, "/registry/", ignore)
    with pytest.raises(SettingsError, match="must be set with --encryption-provider-config"):
        Settings(encryption_provider_config_automatic_reload=True).check()
