"""The launcher `etcd`: answers health checks and stores nothing, because the kube-apiserver launcher needs no etcd."""

from __future__ import annotations

import selectors
import signal
import socket
import sys
import time

# Test tools start this program before each server, so it imports only few modules of the standard library.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType
    from typing import Any

_DEFAULT_URL = "http://localhost:2379"
_VERSION = "3.6.0"
_HELP = """Usage:
  etcd [flags]

Answers /health, /readyz, /livez and /version. Stores nothing: the kube-apiserver launcher of Polykind needs no etcd.

Flags:
  --listen-client-urls 'http://localhost:2379'
    Comma-separated URLs to listen on.
  --unsafe-no-fsync 'false'
    Accepted, as are all other flags of etcd, without effect.
"""
_BODIES = {
    b"/health": b'{"health":"true","reason":""}',
    b"/readyz": b"ok",
    b"/livez": b"ok",
    b"/version": b'{"etcdserver":"%b","etcdcluster":"%b"}' % (_VERSION.encode(), _VERSION.encode()),
}
_REQUEST_SECONDS = 5.0
_MAX_REQUEST_BYTES = 16_384


class UrlError(ValueError):
    """A URL to listen on is invalid. The message names it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the stub until SIGTERM or SIGINT. Return the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if {"--help", "-help", "-h"} & set(arguments):
        print(_HELP)
        return 0
    if {"--version", "-version"} & set(arguments):
        print(f"etcd Version: {_VERSION}")
        return 0
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    try:
        listeners = [listener for url in client_urls(arguments) for listener in listen(url)]
    except (OSError, UrlError) as error:
        print(f"etcd: {error}", file=sys.stderr)
        return 1
    Stub(listeners).run()
    return 0


def _stop(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def client_urls(arguments: Sequence[str]) -> list[str]:
    """Return the values of --listen-client-urls. All other arguments are ignored."""
    found = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and name == "listen-client-urls":
            found.append(value if equals else next(rest, ""))
    return [url for url in ",".join(found).split(",") if url] or [_DEFAULT_URL]


def listen(url: str) -> Iterator[socket.socket]:
    """Listen on all addresses of a URL's host. Raise UrlError if the URL is invalid, OSError if the port is taken."""
    scheme, _, address = url.partition("://")
    host, _, port = address.rstrip("/").rpartition(":")
    if scheme != "http" or not host or not port.isdecimal():
        raise UrlError(f"--listen-client-urls {url} is not a URL such as {_DEFAULT_URL}")
    for family, _, _, _, target in set(socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(target)
        listener.listen()
        yield listener


def response(request: bytes) -> bytes:
    """Return the HTTP response to a request."""
    words = request.split(None, 2)
    path = words[1].partition(b"?")[0] if len(words) > 1 else b""
    body = _BODIES.get(path)
    status = b"200 OK" if body is not None else b"404 Not Found"
    body = body if body is not None else b"404 page not found\n"
    kind = b"application/json" if body.startswith(b"{") else b"text/plain; charset=utf-8"
    head = (b"HTTP/1.1 " + status, b"Content-Type: " + kind, b"Content-Length: %d" % len(body), b"Connection: close")
    return b"\r\n".join((*head, b"", body))


class Stub:
    """Answers requests in one thread. A connection that sends no complete request is closed after some seconds."""

    def __init__(self, listeners: Sequence[socket.socket]) -> None:
        self._selector = selectors.DefaultSelector()
        self._deadlines: dict[socket.socket, float] = {}
        """The open connections in the order of their deadlines."""
        for listener in listeners:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ, self._accept)

    def run(self) -> None:
        """Answer requests until a signal ends the process."""
        while True:
            deadline = next(iter(self._deadlines.values()), None)
            for key, _ in self._selector.select(deadline and max(0.0, deadline - time.monotonic())):
                handle: Callable[[Any], None] = key.data
                handle(key.fileobj)
            while self._deadlines and next(iter(self._deadlines.values())) <= time.monotonic():
                self._close(next(iter(self._deadlines)))

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            # The client has disconnected.
            return
        self._deadlines[connection] = time.monotonic() + _REQUEST_SECONDS
        connection.setblocking(False)
        head = bytearray()
        self._selector.register(connection, selectors.EVENT_READ, lambda source: self._read(source, head))

    def _read(self, connection: socket.socket, head: bytearray) -> None:
        try:
            chunk = connection.recv(4096)
            head += chunk
            if chunk and b"\r\n\r\n" not in head and len(head) <= _MAX_REQUEST_BYTES:
                return
            # The response is smaller than the socket's buffer.
            connection.sendall(response(bytes(head)))
        except OSError:
            # The client has disconnected and needs no response.
            pass
        self._close(connection)

    def _close(self, connection: socket.socket) -> None:
        del self._deadlines[connection]
        self._selector.unregister(connection)
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
