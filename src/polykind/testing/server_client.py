"""A small async HTTPS client, with which the fixtures send their requests to the test server from any event loop."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import httptools

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused

TIMEOUT_SECONDS = 60.0
USER_AGENT = "polykind-testing"
_CHUNK = 65536


class Client:
    """A client for one server. It sends all requests with the admin's token."""

    def __init__(self, url: str, token: str, ca: Path) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._token = token
        self._tls = ssl.create_default_context(cafile=str(ca))

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Connection]:
        """Yield a connection to the server, and close it at the end of the `async with` block."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
        try:
            yield Connection(reader, writer, f"{self._host}:{self._port}", self._token)
        finally:
            # Do not wait for the server's side of the TLS shutdown: the server may have stopped.
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()

    async def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> JsonObject:
        """Send one request on its own connection. Return and raise as `Connection.request` does."""
        async with self.connect() as connection:
            return await connection.request(method, path, body, kind)


class Connection:
    """A connection to the server, which sends one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, token: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host
        self._token = token

    async def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> JsonObject:
        """Send a request and return the decoded response. `kind` is the content type of the body.

        Raise Refused for an error status.
        """
        async with asyncio.timeout(TIMEOUT_SECONDS):
            self._send(method, path, body, kind)
            response = _Response()
            await self._read_rest(response)
        return _decode_response(response.status, bytes(response.body))

    async def watch(self, path: str) -> AsyncGenerator[list[JsonObject], None]:
        """Yield the events of a watch on `path` as they arrive, until the server ends the watch.

        Raise Refused if the server rejects the watch. The caller closes the iterator with `contextlib.aclosing`.
        """
        self._send("GET", path, None, "application/json")
        response = _Response()
        while not response.complete:
            data = await self._reader.read(_CHUNK)
            if not data:
                return
            response.feed(data)
            if response.status and response.status != 200:
                await self._read_rest(response)
                _decode_response(response.status, bytes(response.body))
            lines = response.body.split(b"\n")
            response.body = lines.pop()
            if lines:
                yield [json.loads(line) for line in lines]

    async def _read_rest(self, response: _Response) -> None:
        while not response.complete:
            data = await self._reader.read(_CHUNK)
            if not data:
                raise ConnectionResetError("the server closed the connection before it had responded")
            response.feed(data)

    def _send(self, method: str, path: str, body: Any, kind: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: {self._host}\r\nAuthorization: Bearer {self._token}\r\n"
            f"User-Agent: {USER_AGENT}\r\nAccept: application/json\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(data)}\r\n\r\n"
        )
        self._writer.write(head.encode("latin-1") + data)


class _Response:
    """A response that is being parsed. httptools calls the methods `on_...`."""

    def __init__(self) -> None:
        self.status = 0
        self.body = bytearray()
        self.complete = False
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.complete = True


def _decode_response(status: int, body: bytes) -> JsonObject:
    try:
        response = json.loads(body)
    except ValueError:
        response = {"message": body.decode(errors="replace").strip()}
    if not 200 <= status < 300:
        raise Refused(str(response.get("message")), status)
    result: JsonObject = response
    return result


class ResourcePaths:
    """Finds the URL paths of kinds in the server's discovery documents. Each apiVersion is requested only once."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[str, dict[str, tuple[str, bool]]] = {}

    async def collection(self, obj: Mapping[str, Any]) -> str:
        """Return the URL path of the collection to which an object belongs, by its apiVersion, kind and namespace.

        Raise Refused if the server does not serve the kind.
        """
        version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        found = (await self._served(version)).get(kind)
        if found is None:
            raise Refused(
                f"this server does not serve {kind or 'objects without a kind'} of {version or 'no apiVersion'}: "
                "apply its CustomResourceDefinition first (polykind_crds, or crds= of the marker)"
            )
        plural, namespaced = found
        if not namespaced:
            return f"{_root(version)}/{plural}"
        namespace = (obj.get("metadata") or {}).get("namespace") or "default"
        return f"{_root(version)}/namespaces/{quote(namespace, safe='')}/{plural}"

    async def path(self, obj: Mapping[str, Any]) -> str:
        """Return the URL path of an object. Raise Refused if it has no name or the server does not serve its kind."""
        name = (obj.get("metadata") or {}).get("name")
        if not name:
            raise Refused("the object needs apiVersion, kind and metadata.name")
        return object_path(await self.collection(obj), name)

    async def _served(self, version: str) -> dict[str, tuple[str, bool]]:
        if version not in self._known:
            try:
                listed = (await self._connection.request("GET", _root(version)))["resources"] if version else []
            except Refused as error:
                if error.status != 404:
                    raise
                listed = []
            self._known[version] = {
                one["kind"]: (one["name"], one["namespaced"]) for one in listed if "/" not in one["name"]
            }
        return self._known[version]


def object_path(collection: str, name: str, **options: str) -> str:
    """Return the URL path of an object in a collection, with `options` as query parameters."""
    return f"{collection}/{quote(name, safe='')}{f'?{urlencode(options)}' if options else ''}"


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"
