"""Paths that need no credentials."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.client import Client
from tests.support.live import live


@pytest.mark.parametrize(("mode", "single_check"), [("RBAC", 403), ("AlwaysAllow", 200)])
async def test_single_health_checks_need_permission_under_rbac(tmp_path: Path, mode: str, single_check: int) -> None:
    async with live(tmp_path, authorization_mode=(mode,)) as running, Client(running.server.url, "") as anonymous:
        assert (await anonymous.call("GET", "/readyz")).status == 200
        assert (await anonymous.call("GET", "/readyz/ping")).status == single_check
        assert (await running.client.call("GET", "/readyz/ping")).status == 200
