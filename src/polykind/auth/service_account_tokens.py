"""The tokens of service accounts: issuing, authentication, and publication of the keys that verify them."""

from __future__ import annotations

import asyncio
import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from polykind.auth.key_files import is_key_file
from polykind.auth.service_account_claims import (
    FindObject,
    TokenError,
    check_audiences,
    check_objects,
    check_times,
    check_types,
    user_of,
)
from polykind.auth.token_parsing import MalformedTokenError, read_segment, read_strictly
from polykind.auth.user import User
from polykind.bounded_cache import BoundedCache
from polykind.codec import json_codec
from polykind.contract import Clock, JsonObject

if TYPE_CHECKING:
    from polykind.auth.token_keys import PrivateKey, VerificationKey

DEFAULT_ISSUER = "https://kubernetes.default.svc"
JWKS_PATH = "/openid/v1/jwks"
CONFIGURATION_PATH = "/.well-known/openid-configuration"
_VERIFIED_BYTES = 4 * 1024 * 1024
"""The memory of the verified claims that are cached, so that most requests need no cryptography."""


class TokenSettings(msgspec.Struct, frozen=True):
    """The settings of tokens, as in kube-apiserver's flags --service-account-* and --api-audiences."""

    default_key_file: Path
    """The file of the private key if no flag names another file. The server creates the file at its first use."""
    issuers: tuple[str, ...] = (DEFAULT_ISSUER,)
    api_audiences: tuple[str, ...] = ()
    key_files: tuple[Path, ...] = ()
    signing_key_file: Path | None = None
    max_expiration: int = 0
    """The maximum lifetime of tokens in seconds. 0 means no maximum."""

    @property
    def audiences(self) -> list[str]:
        """The audiences that a token must have to authenticate at this server."""
        return list(self.api_audiences or self.issuers)


class ServiceAccountTokens:
    """Issues and authenticates tokens. Loads the keys at the first use, because that takes time."""

    def __init__(self, settings: TokenSettings, clock: Clock, find: FindObject) -> None:
        self.settings = settings
        self._clock = clock
        self._find = find
        self._verified: BoundedCache[bytes, JsonObject] = BoundedCache(_VERIFIED_BYTES)

    def check_keys(self) -> None:
        """Raise TokenKeyError if a file contains no usable key.

        Files that pass a quick check are loaded at the first use of a token. All others are loaded now.
        """
        settings = self.settings
        if settings.signing_key_file is None and not settings.key_files:
            return
        if settings.signing_key_file is not None and not is_key_file(settings.signing_key_file, private=True):
            _ = self._signing_key
        if not all(map(is_key_file, settings.key_files)):
            _ = self._verification_keys

    async def issue(self, claims: JsonObject) -> str:
        """Return a signed token."""
        from polykind.auth.token_keys import sign

        return await asyncio.to_thread(lambda: sign(self._signing_key, claims))

    def is_issuer(self, token: str) -> bool:
        """True if a token names this server as its issuer. The token may still be invalid."""
        claims = read_segment(token, 1)
        return claims is not None and claims.get("iss") in self.settings.issuers

    async def authenticate(self, token: str, audiences: list[str] | None = None) -> tuple[User, list[str]]:
        """Return the user of a token, and those of the token's audiences that are in `audiences`.

        Raise TokenError if the token is invalid.
        """
        claims = await self._claims(token)
        shared = check_audiences(claims, audiences or self.settings.audiences, self.settings.audiences)
        now = self._clock.now()
        check_times(claims, now.timestamp())
        await check_objects(claims, self._find, now)
        return user_of(claims), shared

    def stale_token_note(self, token: str) -> str:
        """Return kube-apiserver's note about a token whose extended lifetime has begun. Return "" for other tokens.

        The token must be authenticated.
        """
        claims = read_segment(token, 1) or {}
        private = claims.get("kubernetes.io")
        warn_after = private.get("warnafter") if isinstance(private, dict) else None
        late = int(self._clock.now().timestamp()) - int(warn_after) if warn_after else 0
        return f"subject: {claims.get('sub')}, seconds after warning threshold: {late}" if late > 0 else ""

    async def _claims(self, token: str) -> JsonObject:
        """Return the claims of a token. Raise TokenError if the signature of the token is not valid."""
        from polykind.auth.token_keys import SignatureError, verify

        digest = hashlib.sha256(token.encode()).digest()
        claims = self._verified[digest]
        if claims is not None:
            return claims
        keys = await asyncio.to_thread(lambda: self._verification_keys)
        try:
            verify(token, keys)
            claims = read_strictly(token, 1)
        except MalformedTokenError:
            raise TokenError("invalid bearer token") from None
        except SignatureError as error:
            raise TokenError(str(error)) from None
        check_types(claims)
        self._verified[digest] = claims
        return claims

    @cached_property
    def _signing_key(self) -> PrivateKey:
        from polykind.auth.token_keys import generate_key, load_private_key
        from polykind.pki.private_files import write_private

        path = self.settings.signing_key_file or self.settings.default_key_file
        if self.settings.signing_key_file is None and not path.exists():
            write_private(path, generate_key())
        return load_private_key(path)

    @cached_property
    def _verification_keys(self) -> list[VerificationKey]:
        from polykind.auth.token_keys import VerificationKey, load_public_keys

        keys = [key for path in self.settings.key_files for key in load_public_keys(path)]
        return keys or [VerificationKey(self._signing_key.public_key())]

    async def key_set(self) -> bytes:
        """Return the JSON Web Key Set with the keys that verify tokens."""
        keys = await asyncio.to_thread(lambda: self._verification_keys)
        return json_codec.encode_ordered({"keys": [key.jwk() for key in keys]})

    async def openid_configuration(self, address: str) -> bytes:
        """Return the discovery document of OpenID Connect. `address` is the host and port of this server."""
        keys = await asyncio.to_thread(lambda: self._verification_keys)
        document = {
            "issuer": self.settings.issuers[0],
            "jwks_uri": f"https://{address}{JWKS_PATH}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key.algorithm for key in keys}),
        }
        return json_codec.encode_ordered(document)
