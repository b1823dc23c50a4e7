"""Bearer tokens in the subprotocols of a WebSocket, for browsers, which cannot set an Authorization header."""

from __future__ import annotations

import binascii
import re
from base64 import urlsafe_b64decode

from polykind import errors
from polykind.http.messages import Request
from polykind.http.websocket import is_websocket, subprotocols

_PREFIX = b"base64url.bearer.authorization.k8s.io."
_base64url = re.compile(rb"[A-Za-z0-9_-]*").fullmatch


def use_websocket_token(request: Request) -> None:
    """Move a token from the WebSocket's subprotocols to the Authorization header, unless that header has a token.

    Raise UnauthorizedError if there are several tokens, if the token is malformed, or if the client offers no
    subprotocol besides the token that the server could accept.
    """
    if not is_websocket(request) or _has_bearer_token(request):
        return
    offered = subprotocols(request)
    tokens = [name.removeprefix(_PREFIX) for name in offered if name.startswith(_PREFIX)]
    if not tokens:
        return
    if len(tokens) > 1:
        raise errors.UnauthorizedError
    token = _decode(tokens[0])
    if not token:
        return
    others = [name for name in offered if not name.startswith(_PREFIX)]
    if not others:
        raise errors.UnauthorizedError
    request.headers[b"authorization"] = b"Bearer " + token
    request.headers[b"sec-websocket-protocol"] = b",".join(others)


def _has_bearer_token(request: Request) -> bool:
    scheme, _, token = request.headers.get(b"authorization", b"").strip().partition(b" ")
    return scheme.lower() == b"bearer" and bool(token.strip())


def _decode(encoded: bytes) -> bytes:
    """Decode base64url without padding. Raise UnauthorizedError if it is malformed or is not UTF-8."""
    if not _base64url(encoded):
        raise errors.UnauthorizedError
    try:
        token = urlsafe_b64decode(encoded + b"=" * (-len(encoded) % 4))
        token.decode()
    except (binascii.Error, UnicodeDecodeError):
        raise errors.UnauthorizedError from None
    return token
