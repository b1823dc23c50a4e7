"""Real TLS clients with client certificates of every kind, with and without a token."""

from __future__ import annotations

import json
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.server.test_server import NAMESPACES, status
from tests.support.certificates import CLIENT, SERVER, UNKNOWN_EXTENSION, Issued, client_context, issue
from tests.support.live import live

ROOT, OTHER = issue("root", ca=True), issue("other", ca=True)
MIDDLE = issue("middle", ROOT, ca=True)
REJECTED: dict[str, tuple[Issued, ...]] = {
    "unknown CA": (issue("bob", OTHER, usages=[CLIENT]), OTHER),
    "self-signed": (issue("bob"),),
    "self-signed CA": (issue("bob", ca=True),),
    "expired": (issue("bob", ROOT, days=(-2, -1)),),
    "not yet valid": (issue("bob", ROOT, days=(1, 2)),),
    "server certificate": (issue("bob", ROOT, usages=[SERVER]),),
    "missing intermediate": (issue("bob", MIDDLE),),
    "unknown critical extension": (issue("bob", ROOT, (UNKNOWN_EXTENSION, True)),),
    "short key": (issue("bob", OTHER, key=rsa.generate_private_key(65537, 1024)),),
}
ACCEPTED: dict[str, tuple[Issued, ...]] = {
    "direct": (issue("bob", ROOT, usages=[CLIENT]),),
    "intermediate": (issue("bob", MIDDLE), MIDDLE),
    "the CA itself": (ROOT,),
}
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


@pytest.mark.parametrize("version", VERSIONS, ids=["TLS 1.2", "TLS 1.3"])
async def test_client_certificates(tmp_path: Path, version: ssl.TLSVersion) -> None:
    (tmp_path / "ca.pem").write_bytes(ROOT.pem)
    async with live(tmp_path, client_ca_file=tmp_path / "ca.pem", authorization_mode=("AlwaysAllow",)) as running:
        token = f"Authorization: Bearer {running.server.token}"

        async def code(*chain: Issued, header: str = "", path: str = NAMESPACES) -> int:
            context = client_context(tmp_path, *chain, version=version)
            return (await status(running, path, *([header] if header else []), tls=context))[0]

        for case, chain in ACCEPTED.items():
            assert await code(*chain) == 200, case
            assert await code(*chain, header="Authorization: Bearer wrong") == 200, case
        for case, chain in REJECTED.items():
            assert await code(*chain) == 401, case
            assert await code(*chain, header="Authorization: Bearer wrong") == 401, case
            assert await code(*chain, header=token) == 200, case
        assert await code() == 401
        assert await code(header=token) == 200
        nameless = issue("", ROOT)
        assert await code(nameless) == 401
        assert await code(nameless, header=token) == 200


async def test_resumed_session_keeps_the_user(tmp_path: Path) -> None:
    """A TLS 1.2 client resumes its session by an id, without sending its certificate again."""
    (tmp_path / "ca.pem").write_bytes(ROOT.pem)
    async with live(tmp_path, client_ca_file=tmp_path / "ca.pem", authorization_mode=("AlwaysAllow",)) as running:
        for chain, expected in ((REJECTED["self-signed"], 401), (ACCEPTED["direct"], 200)):
            context = client_context(tmp_path, *chain, version=ssl.TLSVersion.TLSv1_2)
            for _ in range(2):
                assert (await status(running, NAMESPACES, tls=context))[0] == expected


async def test_reload_of_the_client_ca(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(ROOT.pem)
    async with live(tmp_path, client_ca_file=tmp_path / "ca.pem", authorization_mode=("AlwaysAllow",)) as running:
        context = client_context(tmp_path, *ACCEPTED["direct"])
        assert (await status(running, NAMESPACES, tls=context))[0] == 200
        (tmp_path / "ca.pem").write_bytes(OTHER.pem)
        running.server.reload()
        code, body = await status(running, NAMESPACES, tls=context)
        assert (code, json.loads(body)["reason"]) == (401, "Unauthorized")
