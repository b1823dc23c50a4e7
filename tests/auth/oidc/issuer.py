"""An OpenID Connect provider over TLS, with real keys, discovery and a key set."""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trustme
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from polykind.auth.token_keys import PrivateKey, VerificationKey, sign
from polykind.contract import JsonObject


class Issuer:
    """A provider. Tests change `keys`, `cache_control` and `discovery` while it runs."""

    def __init__(self) -> None:
        self.authority = trustme.CA()
        self.signing: PrivateKey = new_key()
        self.keys: list[PrivateKey] = [self.signing]
        self.cache_control = ""
        self.url = ""
        self.discovery: JsonObject = {}
        self.key_fetches = 0
        self.available = True

    @property
    def ca(self) -> str:
        """The CA of the provider's certificate in PEM."""
        return self.authority.cert_pem.bytes().decode()

    def token(self, *, key: PrivateKey | None = None, **claims: Any) -> str:
        """Return a signed token that is valid for an hour, with further or other claims. None removes a claim."""
        now = int(time.time())
        values = {"iss": self.url, "aud": "polykind", "sub": "jane", "iat": now, "exp": now + 3600, **claims}
        return sign(key or self.signing, {name: value for name, value in values.items() if value is not None})

    def config(self, **mappings: Any) -> JsonObject:
        """Return the authenticator of this provider with claim mappings."""
        defaults = {"username": {"claim": "sub", "prefix": ""}, "groups": {}, "uid": {}}
        return {
            "issuer": {"url": self.url, "audiences": ["polykind"], "certificateAuthority": self.ca},
            "claimMappings": {**defaults, **mappings},
        }

    async def _configuration(self, request: web.Request) -> web.Response:
        if not self.available:
            return web.Response(status=503)
        return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.discovery})

    async def _keys(self, request: web.Request) -> web.Response:
        self.key_fetches += 1
        keys = [VerificationKey(key.public_key()).jwk() for key in self.keys]
        headers = {"Cache-Control": self.cache_control} if self.cache_control else {}
        return web.json_response({"keys": keys}, headers=headers)

    def add_endpoints(self, application: web.Application) -> None:
        """Add the endpoints of a subclass."""

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Issuer]:
        application = web.Application()
        application.router.add_get("/.well-known/openid-configuration", self._configuration)
        application.router.add_get("/keys", self._keys)
        self.add_endpoints(application)
        runner = web.AppRunner(application)
        await runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def new_rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)
