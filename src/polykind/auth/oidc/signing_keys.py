"""The public keys of an OpenID Connect provider, fetched from its key set and cached."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from polykind.auth.token_keys import PublicKey, public_key_of_jwk, verify_signature
from polykind.auth.token_parsing import decode_segment, read_header
from polykind.codec import json_codec
from polykind.contract import Clock

_MIN_REFETCH_SECONDS = 10.0
"""The minimum time between two fetches, even if they fail. Anyone can send tokens with unknown keys."""
_max_age = re.compile(r"(?:^|,)\s*max-age\s*=\s*\"?(\d+)").search


class KeySetError(Exception):
    """The keys cannot be fetched, or none of them has signed a token."""


class Document(NamedTuple):
    """A fetched document: its body, and the header Cache-Control or ""."""

    body: bytes
    cache_control: str


Fetch = Callable[[str], Awaitable[Document]]
"""A function that fetches a URL. It raises KeySetError if that fails."""


@dataclass(frozen=True)
class SigningKey:
    """A public key of a provider. `id` is its `kid`; `algorithm` is "" if the key allows every algorithm."""

    id: str
    algorithm: str
    public: PublicKey

    def verifies(self, algorithm: str, signed: bytes, signature: bytes) -> bool:
        if self.algorithm not in ("", algorithm):
            return False
        return verify_signature(self.public, algorithm, signed, signature)


class RemoteKeySet:
    """The key set at one URL. Keys are fetched when a token needs them, and concurrent tokens share one fetch."""

    def __init__(self, url: str, fetch: Fetch, clock: Clock) -> None:
        self._url = url
        self._fetch = fetch
        self._clock = clock
        self._keys: list[SigningKey] = []
        self._fresh_until = 0.0
        self._fetched_at = float("-inf")
        self._fetching: asyncio.Task[list[SigningKey]] | None = None

    async def verify(self, token: str, algorithm: str) -> None:
        """Raise KeySetError if no key of the provider has signed the token.

        Fetch the keys again if no cached key has signed the token and the cached keys are no longer fresh.
        """
        signed, _, encoded = token.rpartition(".")
        signature = decode_segment(encoded)
        header = read_header(token)
        key_id = header.key_id
        if not header.supported:
            raise KeySetError("failed to verify id token signature")
        if await _is_signed(self._keys, key_id, algorithm, signed.encode(), signature):
            return
        now = self._clock.now().timestamp()
        if self._fetching is None and (now < self._fresh_until or now < self._fetched_at + _MIN_REFETCH_SECONDS):
            raise KeySetError("failed to verify id token signature")
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._refresh())
        keys = await asyncio.shield(self._fetching)
        if not await _is_signed(keys, key_id, algorithm, signed.encode(), signature):
            raise KeySetError("failed to verify id token signature")

    async def _refresh(self) -> list[SigningKey]:
        try:
            document = await self._fetch(self._url)
            self._keys = parse_key_set(document.body)
            self._fresh_until = self._clock.now().timestamp() + cache_seconds(document.cache_control)
            return self._keys
        finally:
            self._fetched_at = self._clock.now().timestamp()
            self._fetching = None


async def _is_signed(keys: list[SigningKey], key_id: str, algorithm: str, signed: bytes, signature: bytes) -> bool:
    """True if one of the keys has signed the token. Verifies in a thread, because cryptography takes time."""
    candidates = [key for key in keys if not key_id or key.id == key_id]
    if not candidates:
        return False
    return await asyncio.to_thread(lambda: any(key.verifies(algorithm, signed, signature) for key in candidates))


def parse_key_set(body: bytes) -> list[SigningKey]:
    """Parse a JSON Web Key Set. Skip keys of unsupported types. Raise KeySetError if the document is invalid."""
    try:
        document = json_codec.decode(body)
        entries = document["keys"]
        keys = []
        for entry in entries:
            if entry.get("use") in (None, "", "sig"):
                public = public_key_of_jwk(entry)
                if public is not None:
                    keys.append(SigningKey(str(entry.get("kid") or ""), str(entry.get("alg") or ""), public))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise KeySetError(f"oidc: failed to decode keys: {error}") from None
    return keys


def cache_seconds(cache_control: str) -> int:
    """Return the seconds for which a response with this Cache-Control header is fresh. 0 means: not at all."""
    if "no-store" in cache_control or "no-cache" in cache_control:
        return 0
    match = _max_age(cache_control.lower())
    return int(match[1]) if match else 0
