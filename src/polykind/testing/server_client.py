"""A blocking HTTPS client, with which the fixtures send their requests to the test server."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused

TIMEOUT_SECONDS = 60.0


class Client:
    """A client for one server. It sends all requests with the admin's token."""

    def __init__(self, url: str, token: str, ca: Path) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._token = token
        self._tls = ssl.create_default_context(cafile=str(ca))

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection to the server, and close it at the end of the `with` block."""
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_SECONDS, context=self._tls)
        try:
            yield Connection(connection, self._token)
        finally:
            connection.close()


class Connection:
    """A connection to the server, which sends one request at a time."""

    def __init__(self, connection: http.client.HTTPSConnection, token: str) -> None:
        self._connection = connection
        self._token = token

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> JsonObject:
        """Send a request and return the decoded response. `kind` is the content type of the body.

        Raise Refused for an error status.
        """
        response = self._send(method, path, body, kind)
        return _decode_response(response.status, response.read())

    def watch(self, path: str, seconds: float) -> Iterator[JsonObject]:
        """Yield the events of a watch on `path`, for at most `seconds` or until the server ends the watch."""
        deadline = time.monotonic() + seconds
        response = self._send("GET", path, None, "application/json")
        if response.status != 200:
            _decode_response(response.status, response.read())
        try:
            while (left := deadline - time.monotonic()) > 0:
                if self._connection.sock is not None:
                    self._connection.sock.settimeout(left)
                line = response.readline()
                if not line:
                    return
                yield json.loads(line)
        except TimeoutError:
            return
        finally:
            response.close()

    def _send(self, method: str, path: str, body: Any, kind: str) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "Content-Type": kind}
        self._connection.request(method, path, data, headers)
        return self._connection.getresponse()


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

    def collection(self, obj: Mapping[str, Any]) -> str:
        """Return the URL path of the collection to which an object belongs, by its apiVersion, kind and namespace.

        Raise Refused if the server does not serve the kind.
        """
        version, kind = str(obj.get("apiVersion", "")), str(obj.get("kind", ""))
        found = self._served(version).get(kind)
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

    def _served(self, version: str) -> dict[str, tuple[str, bool]]:
        if version not in self._known:
            try:
                listed = self._connection.request("GET", _root(version))["resources"] if version else []
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
