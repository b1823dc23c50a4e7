"""The heads of HTTP/1.1 responses."""

from __future__ import annotations

from http import HTTPStatus

from polykind.http.websocket import WebSocketStream
from polykind.operations.responses import Response, Stream, body_size

_STATUS_LINES = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}


def encode_head(response: Response | Stream, audit_id: bytes, date: bytes, *, keep_alive: bool) -> bytes:
    """Return the head of a response. Without `keep_alive`, it announces that the connection will be closed."""
    parts = [
        _STATUS_LINES.get(response.status) or b"HTTP/1.1 %d Unknown\r\n" % response.status,
        b"Audit-Id: ",
        audit_id,
        b"\r\nCache-Control: no-cache, private\r\nDate: ",
        date,
    ]
    if response.content_type:
        parts += (b"\r\nContent-Type: ", response.content_type)
    for name, value in response.headers:
        if name == b"Cache-Control":
            parts[3] = b"\r\nCache-Control: %b\r\nDate: " % value
        else:
            parts += (b"\r\n", name, b": ", value)
    if isinstance(response, Stream):
        parts.append(b"\r\nTransfer-Encoding: chunked")
    elif response.status != 304:
        # A 304 has no body, and a Content-Length would describe the document that the client has cached.
        body = response.body
        parts.append(b"\r\nContent-Length: %d" % (len(body) if type(body) is bytes else body_size(body)))
    parts.append(b"\r\n\r\n" if keep_alive else b"\r\nConnection: close\r\n\r\n")
    return b"".join(parts)


def encode_websocket_head(stream: WebSocketStream) -> bytes:
    """Return the response that opens a WebSocket.

    Like kube-apiserver's response, it has only the headers of RFC 6455.
    """
    headers = b"".join([b"%b: %b\r\n" % header for header in stream.headers])
    return b"%b%b\r\n" % (_STATUS_LINES[stream.status], headers)
