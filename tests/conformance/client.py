"""A client for the server under test: single requests, and watches that stay open in the background."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from tests.conformance.protobuf_tree import MEDIA_TYPE, parse_body, unwrap_event

Headers = Mapping[str, str | None]


class Answer(NamedTuple):
    """An HTTP response. Header names are lower case; several headers of one name are joined by newlines."""

    status: int
    headers: dict[str, str]
    body: bytes


class StreamedResponse(Protocol):
    """A response whose body is read as it arrives. Each item of the iteration is a line."""

    status: int

    def getheader(self, name: str, default: str, /) -> str: ...

    def getheaders(self) -> list[tuple[str, str]]: ...

    def read(self, size: int | None = None, /) -> bytes: ...

    def __iter__(self) -> Iterator[bytes]: ...


class Server:
    """An API server at `url`. Every call opens its own connection."""

    def __init__(self, url: str, token: str) -> None:
        self.parts, self.token = urlsplit(url), token
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE

    def open(self, timeout: float = 60) -> http.client.HTTPConnection:
        host, port = self.parts.hostname or "", self.parts.port
        if self.parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=self.context)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def request(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Headers | None = None,
    ) -> http.client.HTTPResponse:
        connection.request(method, path, body=body, headers=self.complete_headers(body, headers))
        return connection.getresponse()

    def complete_headers(self, body: bytes | None, headers: Headers | None) -> dict[str, str]:
        """Add the usual headers to those of a request. A header whose value is None is removed."""
        head = {"Accept": "application/json", "User-Agent": "conform"}
        if self.token:
            head["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            head["Content-Type"] = "application/json"
        for key, value in (headers or {}).items():
            if value is None:
                head.pop(key, None)
            else:
                head[key] = value
        return head

    @contextmanager
    def stream(
        self, method: str, path: str, body: bytes | None, headers: Headers | None, timeout: float
    ) -> Iterator[StreamedResponse]:
        """Send a request on a new connection and return the response, whose body is read as it arrives."""
        connection = self.open(timeout)
        try:
            yield self.request(connection, method, path, body, headers)
        finally:
            connection.close()

    def call(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Headers | None = None,
        timeout: float = 60,
    ) -> Answer:
        with self.stream(method, path, body, headers, timeout) as response:
            got: dict[str, str] = {}
            for name, value in response.getheaders():
                key = name.lower()
                got[key] = f"{got[key]}\n{value}" if key in got else value
            return Answer(response.status, got, response.read())


class Watch(threading.Thread):
    """A watch that stays open in the background. The scenario collects its events later."""

    def __init__(self, server: Server, path: str, headers: Headers) -> None:
        super().__init__(daemon=True)
        self.server, self.path, self.headers = server, path, headers
        self.events: list[Any] = []
        self.status: int | None = None
        self.ended = False
        self.body: Any = None
        self.changed = threading.Condition()
        self.start()

    def run(self) -> None:
        try:
            with self.server.stream("GET", self.path, None, self.headers, 90) as response:
                self.follow(response)
        except (OSError, ValueError, http.client.HTTPException):
            pass
        finally:
            self.finish()

    def follow(self, response: StreamedResponse) -> None:
        with self.changed:
            self.status = response.status
            self.changed.notify_all()
        if response.status != 200:
            self.body = parse_body(response.read() or b"null")
        elif response.getheader("Content-Type", "").startswith(MEDIA_TYPE):
            self.follow_frames(response)
        else:
            self.follow_lines(response)

    def follow_lines(self, response: StreamedResponse) -> None:
        for line in response:
            if line.strip():
                self.append(json.loads(line))

    def follow_frames(self, response: StreamedResponse) -> None:
        """Read protobuf events. The length of each stands before it, in four bytes."""
        while len(size := response.read(4)) == 4:
            self.append(unwrap_event(response.read(int.from_bytes(size, "big"))))

    def append(self, event: Any) -> None:
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()

    def finish(self) -> None:
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_open(self, seconds: float) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.status is not None or self.ended, seconds)

    def wait_end(self, seconds: float) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.ended, seconds)

    def take(self, count: int, seconds: float) -> list[Any]:
        with self.changed:
            self.changed.wait_for(lambda: len(self.events) >= count or self.ended, seconds)
            taken, self.events = self.events, []
            return taken
