"""Authentication of the JSON Web Tokens of one issuer."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

from polykind.auth.oidc.claim_mapping import ClaimError, ClaimMapping
from polykind.auth.oidc.provider_client import ProviderClient
from polykind.auth.oidc.signing_keys import KeySetError, RemoteKeySet
from polykind.auth.oidc.standard_claims import types_problem, unix_time
from polykind.auth.service_account_claims import TokenError
from polykind.auth.token_parsing import MalformedTokenError, read_header, read_segment
from polykind.auth.user import User
from polykind.bounded_cache import BoundedCache
from polykind.codec import json_codec
from polykind.contract import Clock, JsonObject
from polykind.golang.fmt import go_quote

_RETRY_SECONDS = 10.0
_LEEWAY_SECONDS = 60
_CACHED_BYTES = 4 * 1024 * 1024
_CACHED_SECONDS = 10.0
"""The time for which a successful authentication is remembered. kube-apiserver caches tokens for the same time."""
_GOOGLE = "https://accounts.google.com"

log = logging.getLogger(__name__)


class JWTAuthenticator:
    """Authenticates tokens of one issuer.

    `start` fetches the discovery document in the background and repeats it until it succeeds, because the provider may
    start after this server. Until then, all tokens of the issuer are rejected.
    """

    def __init__(
        self, config: JsonObject, algorithms: Sequence[str], clock: Clock, *, retry_seconds: float = _RETRY_SECONDS
    ) -> None:
        issuer = config["issuer"]
        self.issuer: str = issuer["url"]
        self._discovery_url: str = (
            issuer.get("discoveryURL") or f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        )
        self._audiences: list[str] = issuer["audiences"]
        self._algorithms = algorithms
        self._clock = clock
        self._retry_seconds = retry_seconds
        self._mapping = ClaimMapping(config)
        self._client = ProviderClient(issuer.get("certificateAuthority", ""))
        self._keys: RemoteKeySet | None = None
        self._discovery: asyncio.Task[None] | None = None
        self._cached: BoundedCache[bytes, tuple[float, User]] = BoundedCache(_CACHED_BYTES)
        self.problem = f"oidc: authenticator for issuer {go_quote(self.issuer)} is not initialized"
        """The reason why no token can be authenticated now, or ""."""

    def start(self) -> None:
        """Start to fetch the discovery document in the background."""
        self._discovery = asyncio.create_task(self._discover_until_found())

    async def close(self) -> None:
        if self._discovery is not None:
            self._discovery.cancel()
            with suppress(asyncio.CancelledError):
                await self._discovery
        await self._client.close()

    def is_issuer(self, token: str) -> bool:
        """True if a token names this issuer. The token may still be invalid."""
        claims = read_segment(token, 1)
        return claims is not None and _issuer_of(claims) == self.issuer

    async def authenticate(self, token: str) -> User:
        """Return the user of a token of this issuer. Raise TokenError if the token is invalid."""
        digest, now = hashlib.sha256(token.encode()).digest(), self._clock.now().timestamp()
        cached = self._cached[digest]
        if cached is not None and now < cached[0]:
            return cached[1]
        claims = await self._verified_claims(token)
        try:
            user = self._mapping.user(claims)
        except ClaimError as error:
            raise TokenError(str(error)) from None
        self._cached[digest] = min(now + _CACHED_SECONDS, unix_time(claims["exp"]) or 0), user
        return user

    async def _verified_claims(self, token: str) -> JsonObject:
        if self._keys is None:
            raise TokenError("oidc: authenticator not initialized")
        try:
            algorithm = read_header(token).algorithm
        except MalformedTokenError as error:
            raise TokenError(f"oidc: verify token: oidc: malformed jwt: {error}") from None
        if algorithm not in self._algorithms:
            expected = f"[{' '.join(map(go_quote, self._algorithms))}]"
            problem = f"id token signed with unsupported algorithm, expected {expected} got {go_quote(algorithm)}"
            raise TokenError(f"oidc: verify token: oidc: {problem}")
        try:
            await self._keys.verify(token, algorithm)
        except KeySetError as error:
            raise TokenError(f"oidc: verify token: failed to verify signature: {error}") from None
        claims = read_segment(token, 1) or {}
        problem = self._claims_problem(claims)
        if problem:
            raise TokenError(f"oidc: verify token: oidc: {problem}")
        return claims

    def _claims_problem(self, claims: JsonObject) -> str:
        """Return the reason why the standard claims of a token are not valid, or ""."""
        if problem := types_problem(claims):
            return f"failed to unmarshal claims: {problem}"
        if _issuer_of(claims) != self.issuer:
            got = f"expected {go_quote(self.issuer)} got {go_quote(str(claims.get('iss', '')))}"
            return f"id token issued by a different provider, {got}"
        claim = claims.get("aud") or []
        audiences = [claim] if isinstance(claim, str) else [audience or "" for audience in claim]
        if not any(audience in self._audiences for audience in audiences):
            wanted, got = (f"[{' '.join(map(go_quote, values))}]" for values in (sorted(self._audiences), audiences))
            return f"expected audience in {wanted} got {got}"
        now = self._clock.now()
        expiry, not_before = unix_time(claims.get("exp")), unix_time(claims.get("nbf"))
        if expiry is None or expiry < now.timestamp():
            return f"token is expired (Token Expiry: {_go_time(expiry)})"
        if not_before is not None and now.timestamp() + _LEEWAY_SECONDS < not_before:
            current = f"{now:%Y-%m-%d %H:%M:%S.%f} +0000 UTC"
            return f"current time {current} before the nbf (not before) time: {_go_time(not_before)}"
        return ""

    async def _discover_until_found(self) -> None:
        while True:
            try:
                self._keys = RemoteKeySet(await self._discover(), self._client.fetch, self._clock)
            except KeySetError as error:
                self.problem = f"oidc: authenticator for issuer {go_quote(self.issuer)} is not healthy: {error}"
                log.error(
                    "oidc authenticator: cannot discover the issuer %s, retrying in %.0f s: %s",
                    self.issuer, self._retry_seconds, error,
                )  # fmt: skip
                await asyncio.sleep(self._retry_seconds)
            else:
                self.problem = ""
                return

    async def _discover(self) -> str:
        """Return the URL of the key set from the discovery document. Raise KeySetError if the document is invalid."""
        body = (await self._client.fetch(self._discovery_url)).body
        try:
            document = json_codec.decode(body)
            issuer, key_set = document["issuer"], document["jwks_uri"]
        except (ValueError, TypeError, KeyError) as error:
            raise KeySetError(f"oidc: failed to decode provider discovery object: {error}") from None
        if issuer != self.issuer:
            expected = f"expected {go_quote(self.issuer)} got {go_quote(str(issuer))}"
            raise KeySetError(f"oidc: issuer did not match the issuer returned by provider, {expected}")
        return str(key_set)


def _issuer_of(claims: JsonObject) -> str:
    """Return the issuer. Google writes its issuer with or without the scheme."""
    issuer = claims.get("iss")
    return _GOOGLE if issuer == "accounts.google.com" else str(issuer or "")


def _go_time(seconds: int | None) -> str:
    """Format a time as Go prints it. None is Go's zero time."""
    if seconds is None:
        return "0001-01-01 00:00:00 +0000 UTC"
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} +0000 UTC"
    except (ValueError, OverflowError, OSError):
        return str(seconds)
