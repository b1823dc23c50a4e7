"""`polykind store check`, `backup` and `restore`, on stopped and on running servers."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import apsw
import pytest

from polykind.cli import main
from tests.support.client import Client
from tests.support.server import ServerProcess

T = TypeVar("T")
MAPS = "/api/v1/namespaces/default/configmaps"


def config_map(name: str, text: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


def on(server: ServerProcess, use: Callable[[Client], Awaitable[T]]) -> T:
    """Run a function with a client of the server."""

    async def run() -> T:
        client = Client(server.url, server.token)
        try:
            return await use(client)
        finally:
            client.close()

    return asyncio.run(run())


async def write(client: Client) -> None:
    for name in ("a", "b", "c"):
        assert (await client.call("POST", MAPS, config_map(name, "first"))).status == 201


async def change(client: Client) -> None:
    """Change one object, delete one and add one."""
    assert (await client.call("PUT", f"{MAPS}/a", config_map("a", "second"))).status == 200
    assert (await client.call("DELETE", f"{MAPS}/b")).status == 200
    assert (await client.call("POST", MAPS, config_map("d", "second"))).status == 201


async def read(client: Client) -> tuple[dict[str, str], int]:
    """Return the texts by name, and the revision of the list."""
    listed = json.loads((await client.call("GET", MAPS)).body)
    texts = {item["metadata"]["name"]: item["data"]["text"] for item in listed["items"] if "text" in item["data"]}
    return texts, int(listed["metadata"]["resourceVersion"])


BEFORE = {"a": "first", "b": "first", "c": "first"}


def damage(directory: Path, name: str) -> None:
    """Change the stored value of an object, as a flipped bit would."""
    connection = apsw.Connection(str(directory / "polykind.db"))
    connection.execute(
        "UPDATE log SET value = CAST(replace(CAST(value AS TEXT), 'first', 'fjrst') AS BLOB) WHERE key LIKE ?",
        (f"%/{name}",),
    )
    assert connection.changes()
    connection.close()


def test_backup_and_restore_of_a_running_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    with ServerProcess(data) as server:
        on(server, write)
        assert main(["store", "backup", f"--data-dir={data}", str(backup)]) == 0
        assert "verified" in capsys.readouterr().out
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        on(server, change)
        _, changed_at = on(server, read)
        assert main(["store", "restore", f"--data-dir={data}", str(backup)]) == 0
        assert "restored by the running server" in capsys.readouterr().out
        texts, restored_at = on(server, read)
        assert texts == BEFORE
        assert restored_at > changed_at
        assert not (data / "restore").exists()


def test_restore_of_a_stopped_server_goes_on_above_the_old_revisions(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    with ServerProcess(data) as server:
        on(server, write)
    assert main(["store", "backup", f"--data-dir={data}", str(backup)]) == 0
    with ServerProcess(data) as server:
        on(server, change)
        _, changed_at = on(server, read)
    assert main(["store", "restore", f"--data-dir={data}", str(backup)]) == 0
    assert (data / "polykind.db.replaced").exists()
    with ServerProcess(data) as server:
        texts, restored_at = on(server, read)
        assert texts == BEFORE
        assert restored_at > changed_at

        async def resume(client: Client) -> bytes:
            return (await client.call("GET", f"{MAPS}?watch=1&timeoutSeconds=1&resourceVersion={changed_at}")).body

        assert b'"code":410' in on(server, resume)


def test_check_names_damaged_objects_and_restore_brings_them_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    with ServerProcess(data) as server:
        on(server, write)
    assert main(["store", "check", f"--data-dir={data}"]) == 0
    assert main(["store", "backup", f"--data-dir={data}", str(backup)]) == 0
    capsys.readouterr()
    damage(data, "b")
    assert main(["store", "check", f"--data-dir={data}"]) == 1
    assert "/registry/configmaps/default/b: the checksum of revision" in capsys.readouterr().out
    assert main(["store", "backup", f"--data-dir={data}", str(tmp_path / "other.db")]) == 2
    assert "configmaps/default/b" in capsys.readouterr().err
    assert not list(tmp_path.glob("other.db*"))
    with ServerProcess(data) as server:

        async def get(client: Client) -> list[int]:
            return [(await client.call("GET", f"{MAPS}/{name}")).status for name in ("a", "b", "c")]

        assert on(server, get) == [200, 500, 200]
        assert main(["store", "restore", f"--data-dir={data}", str(backup)]) == 0
        assert on(server, read)[0] == BEFORE


def test_restore_replaces_an_unreadable_file(tmp_path: Path) -> None:
    data, backup = tmp_path / "data", tmp_path / "backup.db"
    with ServerProcess(data) as server:
        on(server, write)
    assert main(["store", "backup", f"--data-dir={data}", str(backup)]) == 0
    (data / "polykind.db").write_bytes(b"no database" * 1000)
    assert main(["store", "restore", f"--data-dir={data}", str(backup)]) == 0
    with ServerProcess(data) as server:
        assert on(server, read)[0] == BEFORE


@pytest.mark.parametrize("action", ["backup", "restore"])
def test_missing_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str) -> None:
    assert main(["store", action, f"--data-dir={tmp_path}", str(tmp_path / "none.db")]) == 2
    assert "does not exist" in capsys.readouterr().err
