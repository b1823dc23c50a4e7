"""The server as an object: started and stopped any number of times in one process."""

from __future__ import annotations

import stat
from pathlib import Path

from polykind.server.server import Server
from polykind.server.settings import Settings
from tests.support.client import Client
from tests.support.crontabs import crontab, definition

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def settings(folder: Path) -> Settings:
    return Settings(data_dir=folder, secure_port=0)


async def test_objects_survive_a_restart(tmp_path: Path, group: str) -> None:
    tabs = f"/apis/{group}/v1/namespaces/default/crontabs"
    async with Server(settings(tmp_path)) as server, Client(server.url, server.token) as client:
        assert (await client.call("POST", CRDS, definition(group))).status == 201
        made = await client.call("POST", tabs, crontab(group))
        assert made.status == 201, made.body
    async with Server(settings(tmp_path)) as server, Client(server.url, server.token) as client:
        found = await client.call("GET", f"{tabs}/my-crontab")
        assert (found.status, found.json()) == (200, made.json())
        again = await client.call("POST", tabs, crontab(group, "second"))
        later = int(again.json()["metadata"]["resourceVersion"])
        assert later > int(made.json()["metadata"]["resourceVersion"])


async def test_two_servers_in_one_process_are_independent(tmp_path: Path, group: str) -> None:
    async with (
        Server(settings(tmp_path / "a")) as one,
        Server(settings(tmp_path / "b")) as other,
        Client(one.url, one.token) as client,
        Client(other.url, other.token) as stranger,
        Client(other.url, one.token) as intruder,
    ):
        assert one.port != other.port
        assert (await client.call("POST", CRDS, definition(group))).status == 201
        assert (await stranger.call("GET", f"{CRDS}/crontabs.{group}")).status == 404
        assert (await intruder.call("GET", CRDS)).status == 401


async def test_first_start_creates_private_files_and_second_start_keeps_them(tmp_path: Path) -> None:
    async with Server(settings(tmp_path)) as server:
        assert stat.S_IMODE(server.kubeconfig.stat().st_mode) == 0o600
        token, authority = server.token, sorted(p.read_bytes() for p in (tmp_path / "pki").iterdir())
    async with Server(settings(tmp_path)) as server:
        assert server.token == token
        assert sorted(p.read_bytes() for p in (tmp_path / "pki").iterdir()) == authority


async def test_watch_ends_when_the_server_stops(tmp_path: Path) -> None:
    async with Client("https://127.0.0.1:1", "") as client:
        async with Server(settings(tmp_path)) as server:
            client.port, client.token = server.port, server.token
            status, _ = await client.send("GET", f"{CRDS}?watch=1&resourceVersion=0")
            assert status == 200
        assert [chunk async for chunk in client.chunks()] == []
