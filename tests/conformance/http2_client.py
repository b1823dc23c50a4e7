"""The client of the recorded conversations over HTTP/2: every request has a connection of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset

from tests.conformance.client import Headers, Server, StreamedResponse

_STREAM = 1


class Http2Server(Server):
    """An API server that is asked over HTTP/2."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token)
        self.context.set_alpn_protocols(["h2"])

    @contextmanager
    def stream(
        self, method: str, path: str, body: bytes | None, headers: Headers | None, timeout: float
    ) -> Iterator[StreamedResponse]:
        address = self.parts.hostname or "", self.parts.port or 443
        with (
            socket.create_connection(address, timeout=timeout) as plain,
            self.context.wrap_socket(plain) as connection,
        ):
            assert connection.selected_alpn_protocol() == "h2"
            fields = [(":method", method), (":scheme", "https"), (":authority", self.parts.netloc), (":path", path)]
            fields.append(("accept-encoding", "identity"))  # as http.client sends it
            fields += [(name.lower(), value) for name, value in self.complete_headers(body, headers).items()]
            if body is not None:
                fields.append(("content-length", str(len(body))))
            yield _Response(connection, fields, body or b"")


class _Response:
    """Sends one request and reads its response."""

    def __init__(self, connection: socket.socket, fields: list[tuple[str, str]], body: bytes) -> None:
        self._socket = connection
        config = H2Configuration(header_encoding="latin-1", validate_outbound_headers=False)
        self._http2 = H2Connection(config)
        self._buffer = b""
        self._ended = False
        self.status = 0
        self._headers: list[tuple[str, str]] = []
        self._http2.initiate_connection()
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields]
        self._http2.send_headers(_STREAM, encoded, end_stream=not body)
        self._send_body(body)
        while not self.status:
            self._receive()

    def _send_body(self, body: bytes) -> None:
        """Send the body. Stop if the server has responded before it was complete."""
        while body and not self._ended:
            size = min(len(body), self._http2.local_flow_control_window(_STREAM), self._http2.max_outbound_frame_size)
            if not size:
                self._receive()
                continue
            self._http2.send_data(_STREAM, body[:size], end_stream=size == len(body))
            body = body[size:]
        self._flush()

    def _flush(self) -> None:
        self._socket.sendall(self._http2.data_to_send())

    def _receive(self) -> None:
        """Wait for the next bytes of the server."""
        self._flush()
        data = self._socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the server has closed the connection")
        for event in self._http2.receive_data(data):
            if isinstance(event, ResponseReceived):
                fields = [(str(name), str(value)) for name, value in event.headers]
                self.status = int(dict(fields)[":status"])
                self._headers = [(name, value) for name, value in fields if name != ":status"]
            elif isinstance(event, DataReceived):
                self._buffer += event.data
                self._http2.acknowledge_received_data(event.flow_controlled_length, _STREAM)
            elif isinstance(event, StreamEnded):
                self._ended = True
            elif isinstance(event, StreamReset | ConnectionTerminated) and not self._ended:
                raise ConnectionError(f"the server has ended the request: {event}")
        self._flush()

    def getheader(self, name: str, default: str, /) -> str:
        return dict(self._headers).get(name.lower(), default)

    def getheaders(self) -> list[tuple[str, str]]:
        return self._headers

    def read(self, size: int | None = None, /) -> bytes:
        while not self._ended and (size is None or len(self._buffer) < size):
            self._receive()
        size = len(self._buffer) if size is None else size
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def __iter__(self) -> Iterator[bytes]:
        while True:
            while b"\n" not in self._buffer and not self._ended:
                self._receive()
            if not self._buffer:
                return
            yield self.read(self._buffer.find(b"\n") + 1 or None)
