"""A small HTTPS client for an API server: get, list, create, merge patch and watch.

ClusterError           a request failed
  UnreachableError     the API server did not respond: try again later
  StatusError          the API server returned an error: `status` and its message
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import msgspec
import orjson

from polykind.cluster.cluster_access import ClusterAccess, KubeconfigError
from polykind.contract import JsonObject
from polykind.pki.key_pairs import load_key_pair

if TYPE_CHECKING:
    import aiohttp

REQUEST_SECONDS = 40.0
"""The timeout of a request in seconds. It is longer than the API server's timeout for a call to a converter."""
WATCH_SECONDS = 300
PAGE = 500
"""The number of objects in one page of a list."""
_MAX_RESPONSE_BYTES = 64 * 1024 * 1024
_MERGE_PATCH = "application/merge-patch+json"


class ClusterError(Exception):
    """A request to the API server failed. The message is the reason."""


class UnreachableError(ClusterError):
    """The API server did not respond."""


class StatusError(ClusterError):
    """The API server returned an error status."""

    def __init__(self, status: int, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        """Seconds that the client should wait before it tries again. 0 if the server does not say."""


class ClusterClient:
    """A client for one API server. It connects on the first request; call `close` when done."""

    def __init__(self, access: ClusterAccess, agent: str = "polykind-host") -> None:
        """Raise KubeconfigError if the certificates cannot be used. `agent` is the User-Agent of all requests."""
        self.server = access.server
        self._agent = agent
        self._access = access
        self._tls = ssl_context(access)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def get(self, path: str) -> JsonObject:
        """Read an object. Raise ClusterError if the request fails."""
        return await self._send("GET", path)

    async def list_items(self, collection: str) -> AsyncGenerator[JsonObject, None]:
        """Yield the items of a list, which is read in pages. Raise ClusterError if a request fails."""
        continuation = ""
        while True:
            page = await self.get(f"{collection}?limit={PAGE}{continuation}")
            for item in page.get("items") or ():
                yield item
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return
            continuation = f"&continue={quote(token, safe='')}"

    async def create(self, collection: str, obj: JsonObject) -> JsonObject:
        """Create an object. Raise ClusterError if the request fails."""
        return await self._send("POST", collection, orjson.dumps(obj), {"Content-Type": "application/json"})

    async def patch(self, path: str, patch: JsonObject) -> JsonObject:
        """Send a JSON merge patch for an object and return the patched object. Raise ClusterError if that fails."""
        return await self._send("PATCH", path, orjson.dumps(patch), {"Content-Type": _MERGE_PATCH})

    async def request(
        self, method: str, path: str, body: object = None, *, content_type: str = "", accept: str = ""
    ) -> JsonObject:
        """Send any request with a JSON body and return the JSON object of the response.

        Raise ClusterError if the request fails.
        """
        headers = {"Accept": accept} if accept else {}
        if body is None:
            return await self._send(method, path, None, headers)
        return await self._send(
            method, path, orjson.dumps(body), {"Content-Type": content_type or "application/json", **headers}
        )

    async def watch(self, collection: str, name: str) -> AsyncGenerator[None, None]:
        """Yield None for each watch event of one object, including its initial state. Raise ClusterError on failure.

        The watch ends after a few minutes, and the caller must start it again.
        """
        import aiohttp

        path = f"{collection}?watch=1&timeoutSeconds={WATCH_SECONDS}&fieldSelector=metadata.name%3D{name}"
        timeout = aiohttp.ClientTimeout(total=WATCH_SECONDS + REQUEST_SECONDS, sock_connect=REQUEST_SECONDS)
        try:
            async with self._request("GET", path, timeout=timeout, read_bufsize=2**20) as response:
                if response.status != 200:
                    raise StatusError(response.status, _message(response.status, await response.read()))
                async for chunk, _ in response.content.iter_chunks():
                    if b"\n" in chunk:
                        yield None
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise UnreachableError(_error_text(error)) from error

    async def _send(self, method: str, path: str, body: bytes | None = None, headers: Any = None) -> JsonObject:
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
        try:
            async with self._request(method, path, data=body, headers=headers, timeout=timeout) as response:
                data = await response.content.read(_MAX_RESPONSE_BYTES)
                while not response.content.at_eof() and len(data) < _MAX_RESPONSE_BYTES:
                    data += await response.content.read(_MAX_RESPONSE_BYTES - len(data))
                status, wait = response.status, response.headers.get("Retry-After", "")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise UnreachableError(_error_text(error)) from error
        if not 200 <= status < 300:
            raise StatusError(status, _message(status, data), float(wait) if wait.isdecimal() else 0.0)
        try:
            decoded = msgspec.json.decode(data)
        except msgspec.DecodeError:
            decoded = None
        if not isinstance(decoded, dict):
            raise StatusError(status, f"{self.server} did not return a JSON object for {method} {path}")
        return decoded

    def _request(self, method: str, path: str, *, headers: Any = None, **options: Any) -> Any:
        import aiohttp

        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self._tls, limit=16)
            agent = {"User-Agent": self._agent, "Accept": "application/json"}
            self._session = aiohttp.ClientSession(connector=connector, headers=agent)
        all_headers = {**(headers or {}), **credentials(self._access)}
        return self._session.request(
            method, self.server + path, headers=all_headers, server_hostname=self._access.server_name,
            allow_redirects=False, **options,
        )  # fmt: skip


def credentials(access: ClusterAccess) -> dict[str, str]:
    """Return the headers that authenticate a request. Raise UnreachableError if the token file cannot be read."""
    token = access.token
    if access.token_file is not None:
        try:
            token = access.token_file.read_text().strip()
        except OSError as error:
            raise UnreachableError(f"{access.token_file} cannot be read: {error.strerror}") from None
    if token:
        return {"Authorization": f"Bearer {token}"}
    if access.basic is None:
        return {}
    import aiohttp

    return {"Authorization": aiohttp.BasicAuth(*access.basic).encode()}


def ssl_context(access: ClusterAccess) -> ssl.SSLContext:
    """Return the TLS context for connections. Raise KubeconfigError if its certificates cannot be used."""
    out = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    out.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if access.ca:
            out.load_verify_locations(cadata=access.ca.decode())
        else:
            out.load_default_certs()
        if not access.verify:
            out.check_hostname, out.verify_mode = False, ssl.CERT_NONE
        if access.certificate:
            load_key_pair(out, access.certificate, access.key)
    except (ssl.SSLError, ValueError) as error:
        raise KubeconfigError(f"the certificates for {access.server} cannot be used: {error}") from None
    return out


def _message(status: int, body: bytes) -> str:
    try:
        message = msgspec.json.decode(body)["message"]
    except (msgspec.DecodeError, KeyError, TypeError):
        message = body[:500].decode(errors="replace").strip()
    return f"{message or 'no message'} ({status})"


def _error_text(error: BaseException) -> str:
    return str(error) or type(error).__name__
