"""The HTTPS client that fetches documents of an OpenID Connect provider."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from polykind.auth.oidc.signing_keys import Document, KeySetError
from polykind.webhook.tls import CABundleError, build_ssl_context

_MAX_BYTES = 1 << 20
_SECONDS = 30.0


class ProviderClient:
    """Fetches documents over HTTPS. Imports aiohttp at the first request, because that takes a while."""

    def __init__(self, authority: str) -> None:
        """`authority` holds the trusted CAs in PEM. If it is empty, the CAs of the operating system are trusted."""
        self._authority = authority
        self._session: Any = None

    async def fetch(self, url: str) -> Document:
        """Return the document at a URL. Raise KeySetError if it cannot be fetched or is larger than 1 MiB."""
        aiohttp = await asyncio.to_thread(importlib.import_module, "aiohttp")
        if not url.startswith("https://"):
            raise KeySetError(f"{url}: the address must start with https://")
        if self._session is None:
            try:
                context = await asyncio.to_thread(build_ssl_context, self._authority.encode())
            except CABundleError as error:
                raise KeySetError(str(error)) from None
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=context), timeout=aiohttp.ClientTimeout(total=_SECONDS)
            )
        try:
            async with self._session.get(url) as response:
                body = await response.content.read(_MAX_BYTES + 1)
                while len(body) <= _MAX_BYTES and (more := await response.content.read(_MAX_BYTES + 1 - len(body))):
                    body += more
                if response.status != 200:
                    raise KeySetError(f"{url}: {response.status} {response.reason}")
                if len(body) > _MAX_BYTES:
                    raise KeySetError(f"{url}: the document is larger than {_MAX_BYTES} bytes")
                return Document(body, response.headers.get("Cache-Control", ""))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise KeySetError(f"Get {url}: {error or type(error).__name__}") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
