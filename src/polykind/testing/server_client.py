"""What the fixtures ask of their server: plain requests over TLS, one connection to each piece of work.

It waits in the thread that calls it. Tests bring clients of their own; this one is for what those lack.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from polykind.contract import JsonObject
from polykind.testing.exceptions import Refused

TIMEOUT_SECONDS = 60.0


class Client:
    """Speaks to one server as its admin."""

    def __init__(self, url: str, token: str, ca: Path) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._token = token
        self._tls = ssl.create_default_context(cafile=str(ca))

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        connection = http.client.HTTPSConnection(self._host, self._port, timeout=TIMEOUT_SECONDS, context=self._tls)
        try:
            yield Connection(connection, self._token)
        finally:
            connection.close()


class Connection:
    """Requests on one connection."""

    def __init__(self, connection: http.client.HTTPSConnection, token: str) -> None:
        self._connection = connection
        self._token = token

    def request(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> JsonObject:
        """The answer. Raises Refused with the server's message if it is no success."""
        response = self._send(method, path, body, kind)
        return _decode_response(response.status, response.read())

    def watch(self, path: str, seconds: float) -> Iterator[JsonObject]:
        """The events of a watch, for so many seconds or until the server ends it."""
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
        answer = json.loads(body)
    except ValueError:
        answer = {"message": body.decode(errors="replace").strip()}
    if not 200 <= status < 300:
        raise Refused(str(answer.get("message")), status)
    found: JsonObject = answer
    return found
