"""Certificate stores. Our server has no Secrets, so a fake server over real TLS serves one."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trustme
from aiohttp import web

from polykind.cluster.cluster_access import ClusterAccess
from polykind.cluster.cluster_client import ClusterClient
from polykind.toolkit.hosting.certificate_store import Files, SecretStore
from polykind.toolkit.hosting.host_certificates import ManagedCertificates
from tests.support.server import free_port
from tests.toolkit.hosting.hosts import Clock


class Secrets:
    """A fake API server that serves only Secrets."""

    def __init__(self) -> None:
        self.stored: dict[str, Any] = {}
        self.writes = 0
        self.before_write: Any = None
        self.authority = trustme.CA()
        self.port = free_port()

    def routes(self) -> list[web.RouteDef]:
        collection = "/api/v1/namespaces/crontabs/secrets"
        return [
            web.get(collection + "/{name}", self._get),
            web.post(collection, self._post),
            web.patch(collection + "/{name}", self._patch),
        ]

    def store(self) -> SecretStore:
        access = ClusterAccess(f"https://127.0.0.1:{self.port}", self.authority.cert_pem.bytes(), token="t")
        return SecretStore(ClusterClient(access), "crontabs/certificates")

    async def _get(self, request: web.Request) -> web.Response:
        found = self.stored.get(request.match_info["name"])
        return web.json_response(found) if found else web.json_response({"message": "not found"}, status=404)

    async def _post(self, request: web.Request) -> web.Response:
        secret = await request.json()
        if self.before_write:
            await self.before_write()
        if secret["metadata"]["name"] in self.stored:
            return web.json_response({"message": "already exists"}, status=409)
        assert (secret["apiVersion"], secret["kind"], secret["type"]) == ("v1", "Secret", "Opaque")
        return self._store(secret)

    async def _patch(self, request: web.Request) -> web.Response:
        patch = await request.json()
        assert request.content_type == "application/merge-patch+json"
        if self.before_write:
            await self.before_write()
        present = self.stored[request.match_info["name"]]
        if patch["metadata"]["resourceVersion"] != present["metadata"]["resourceVersion"]:
            return web.json_response({"message": "the object has been modified"}, status=409)
        data = {name: value for name, value in {**present["data"], **patch["data"]}.items() if value is not None}
        return self._store({**present, "data": data})

    def _store(self, secret: dict[str, Any]) -> web.Response:
        self.writes += 1
        metadata = {**secret["metadata"], "resourceVersion": str(self.writes)}
        self.stored[metadata["name"]] = {**secret, "metadata": metadata}
        return web.json_response(self.stored[metadata["name"]])


@pytest.fixture
async def secrets() -> AsyncIterator[Secrets]:
    secrets = Secrets()
    application = web.Application()
    application.add_routes(secrets.routes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secrets.authority.issue_cert("127.0.0.1").configure_cert(context)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", secrets.port, ssl_context=context).start()
    yield secrets
    await runner.cleanup()


async def closed(store: SecretStore) -> None:
    await store._cluster.close()


async def test_secret_is_created_patched_then_unchanged(secrets: Secrets) -> None:
    store = secrets.store()
    seen: list[Files] = []

    def change(files: Files) -> Files:
        seen.append(dict(files))
        return {"authority.pem": b"A", "ca.crt": b"C"} if not files else {"authority.pem": b"B"}

    for _ in range(3):
        await store.update(change)
    assert seen == [{}, {"authority.pem": b"A", "ca.crt": b"C"}, {"authority.pem": b"B"}]
    assert secrets.writes == 2
    await closed(store)


async def test_second_replica_uses_the_first_ones_certificates(secrets: Secrets) -> None:
    one = ManagedCertificates(["127.0.0.1"], store=secrets.store(), clock=Clock())
    two = ManagedCertificates(["127.0.0.1"], store=secrets.store(), clock=Clock())

    async def faster() -> None:
        secrets.before_write = None
        await one.refresh()

    secrets.before_write = faster
    await two.refresh()
    assert (two.ca_bundle, two.expires) == (one.ca_bundle, one.expires)
    one.rotate()
    two.rotate()
    secrets.before_write = faster
    await two.refresh()
    assert two.ca_bundle == one.ca_bundle
    assert two.ca_bundle.count(b"BEGIN") == 2
    for certificates in (one, two):
        assert isinstance(certificates._store, SecretStore)
        await closed(certificates._store)


async def test_unreachable_store_serves_a_temporary_certificate(caplog: pytest.LogCaptureFixture) -> None:
    store = SecretStore(ClusterClient(ClusterAccess(f"https://127.0.0.1:{free_port()}")), "crontabs/certificates")
    certificates = ManagedCertificates(["127.0.0.1"], store=store)
    await certificates.refresh()
    assert certificates.temporary
    assert (
        "the store is unreachable, serving a temporary certificate: the Secret crontabs/certificates cannot be used: "
        in caplog.text
    )
    with pytest.raises(OSError, match="the Secret crontabs/certificates cannot be used: Cannot connect"):
        await certificates.refresh()
    await closed(store)


@pytest.mark.parametrize("secret", ["", "x", "x/", "/x", "a/b/c"])
def test_invalid_secret_name_is_rejected(secret: str) -> None:
    with pytest.raises(ValueError, match="must be namespace/name") as caught:
        SecretStore(ClusterClient(ClusterAccess("https://x")), secret)
    assert str(caught.value) == f"--cert-secret {secret}: must be namespace/name"
