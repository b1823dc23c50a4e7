"""docs/guides/encryption.md: its configuration, its migration and its query work as written."""

from __future__ import annotations

import asyncio
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import apsw
import yaml

from polykind.server.server import Server
from polykind.server.settings import Settings
from tests.support import pages
from tests.support.client import Client

BLOCKS = pages.blocks((pages.ROOT / "docs" / "guides" / "encryption.md").read_text(), "sh")


async def test_procedure_of_the_page(tmp_path: Path) -> None:
    create, migrate, verify = BLOCKS
    config_commands, _, serve = create.partition("polykind serve ")
    subprocess.run(["bash", "-euc", config_commands], cwd=tmp_path, check=True)
    flags = serve.split()
    assert flags[0::2] == ["--encryption-provider-config", "--encryption-provider-config-automatic-reload"]
    config = tmp_path / flags[1]
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    settings = Settings(data_dir=tmp_path / ".polykind", secure_port=0)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "my-secret"}}
    async with Server(settings) as server, Client(server.url, server.token) as client:
        assert (await client.call("POST", "/api/v1/namespaces/default/secrets", secret)).status == 201
    settings.encryption_provider_config = config
    settings.encryption_provider_config_automatic_reload = True
    async with Server(settings) as server, Client(server.url, server.token) as client:
        manifest = yaml.safe_load(migrate.partition("<<END\n")[2].partition("END\n")[0])
        path = f"/apis/{manifest['apiVersion']}/storageversionmigrations"
        assert (await client.call("POST", path, manifest)).status == 201
        assert f"storageversionmigration/{manifest['metadata']['name']}" in migrate
        async with asyncio.timeout(30):
            while '"Succeeded"' not in (reply := await client.call("GET", path)).body.decode():
                assert reply.status == 200
                await asyncio.sleep(0.02)
    found = re.search(r'sqlite3 (\S+) "(.*?)"', verify)
    assert found is not None
    connection = apsw.Connection(str(tmp_path / found[1]))
    try:
        rows: list[Any] = connection.execute(found[2]).fetchall()
    finally:
        connection.close()
    assert [key for key, _ in rows] == ["/registry/secrets/default/my-secret"] * 2
    assert rows[-1][1].startswith(b"k8s:enc:aesgcm:v1:key1:")
