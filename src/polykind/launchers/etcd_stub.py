"""The launcher `etcd`: answers health checks and stores nothing, because the kube-apiserver launcher needs no etcd."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

# Test tools start this program before each server, so it imports only small modules of the standard library.

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
    # Block the signals in all threads, so that sigwait below receives them.
    stop_signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop_signals)
    try:
        listeners = [listener for url in client_urls(arguments) for listener in listen(url)]
    except (OSError, UrlError) as error:
        print(f"etcd: {error}", file=sys.stderr)
        return 1
    for listener in listeners:
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
    signal.sigwait(stop_signals)
    return 0


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


def _accept(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_respond, args=(connection,), daemon=True).start()


def _respond(connection: socket.socket) -> None:
    with connection, suppress(OSError):
        connection.settimeout(_REQUEST_SECONDS)
        connection.sendall(response(_read_head(iter(lambda: connection.recv(4096), b""))))


def _read_head(chunks: Iterable[bytes]) -> bytes:
    """Return the head of a request, which ends with an empty line."""
    head = b""
    for chunk in chunks:
        head += chunk
        if b"\r\n\r\n" in head or len(head) > _MAX_REQUEST_BYTES:
            break
    return head


if __name__ == "__main__":
    sys.exit(main())
