"""`polykind store check`, `copy` and `restore` with encrypted values."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest
import yaml

from polykind.cli import main
from polykind.store.sqlite import SqliteStore
from tests.support.client import Client
from tests.support.server import ServerProcess

SECRETS = "/api/v1/namespaces/default/secrets"


def config(folder: Path, *names: str) -> str:
    keys = [{"name": name, "secret": base64.b64encode((name * 16)[:16].encode()).decode()} for name in names]
    path = folder / f"{'-'.join(names)}.yaml"
    rule = {"resources": ["secrets"], "providers": [{"aesgcm": {"keys": keys}}, {"identity": {}}]}
    header = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
    path.write_text(yaml.safe_dump({**header, "resources": [rule]}))
    path.chmod(0o600)
    return f"--encryption-provider-config={path}"


def stored(folder: Path) -> bytes:
    async def read() -> bytes:
        store = SqliteStore(folder)
        await store.start()
        item = await store.get("/registry/secrets/default/a")
        await store.close()
        assert item is not None
        return item.value

    return asyncio.run(read())


async def call(server: ServerProcess, method: str, path: str, body: object = None) -> int:
    async with Client(server.url, server.token) as client:
        return (await client.call(method, path, body)).status


def test_commands_on_encrypted_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, first, both = tmp_path / "data", config(tmp_path, "one"), config(tmp_path, "two", "one")
    backup = tmp_path / "backup.db"
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}
    with ServerProcess(data, first) as server:
        assert asyncio.run(call(server, "POST", SECRETS, body)) == 201
        assert main(["store", "backup", f"--data-dir={data}", str(backup)]) == 0
    with ServerProcess(data, both) as server:
        # The running server decrypts the backup and encrypts with its first key.
        assert asyncio.run(call(server, "DELETE", f"{SECRETS}/a")) == 200
        assert main(["store", "restore", f"--data-dir={data}", str(backup)]) == 0
        assert asyncio.run(call(server, "GET", f"{SECRETS}/a")) == 200
    assert stored(data).startswith(b"k8s:enc:aesgcm:v1:two:")
    capsys.readouterr()
    check = ["store", "check", f"--data-dir={data}"]
    assert main(check) == 0
    assert capsys.readouterr().out.startswith("1 values are encrypted: --encryption-provider-config FILE")
    assert main([*check, both]) == 0
    assert capsys.readouterr().out == "no damage found\n"
    assert main([*check, first]) == 1
    reason = "the value cannot be decrypted: no matching key was found for the provided AES transformer"
    assert capsys.readouterr().out == f"/registry/secrets/default/a: {reason}\n1 problems found\n"
    copy = ["store", "copy", f"--from=sqlite:{data}"]
    assert main([*copy, f"--to=sqlite:{tmp_path / 'same'}"]) == 0
    assert stored(tmp_path / "same") == stored(data)
    assert main([*copy, f"--to=sqlite:{tmp_path / 'again'}", config(tmp_path, "three", "two")]) == 0
    assert stored(tmp_path / "again").startswith(b"k8s:enc:aesgcm:v1:three:")
    capsys.readouterr()
    assert main([*copy, f"--to=sqlite:{tmp_path / 'never'}", first]) == 1
    assert 'unable to transform key "/registry/secrets/default/a"' in capsys.readouterr().err
