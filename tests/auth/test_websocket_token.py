"""Bearer tokens in the subprotocols of a WebSocket."""

from __future__ import annotations

import pytest

from polykind import errors
from polykind.auth.websocket_token import use_websocket_token
from polykind.http.messages import Request

PREFIX = "base64url.bearer.authorization.k8s.io."
TOKEN = f"{PREFIX}dDE"
"""The subprotocol for the token t1."""


def prepared(protocols: str, **headers: str) -> dict[bytes, bytes]:
    given = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-protocol": protocols, **headers}
    request = Request("GET", "/", "", {n.encode(): v.encode() for n, v in given.items()}, b"")
    use_websocket_token(request)
    return request.headers


@pytest.mark.parametrize("protocols", [f"{TOKEN}, base64.binary.k8s.io", f"base64.binary.k8s.io,{TOKEN}"])
def test_token_moves_to_the_authorization_header(protocols: str) -> None:
    headers = prepared(protocols)
    assert headers[b"authorization"] == b"Bearer t1"
    assert headers[b"sec-websocket-protocol"] == b"base64.binary.k8s.io"


@pytest.mark.parametrize(
    "protocols",
    [
        pytest.param(TOKEN, id="no other subprotocol"),
        pytest.param(f"{TOKEN},{TOKEN},x", id="two tokens"),
        pytest.param(f"{PREFIX}dDE=,x", id="padding"),
        pytest.param(f"{PREFIX}d,x", id="incomplete"),
        pytest.param(f"{PREFIX}_w,x", id="not UTF-8"),
    ],
)
def test_malformed_token_is_unauthorized(protocols: str) -> None:
    with pytest.raises(errors.UnauthorizedError):
        prepared(protocols)


@pytest.mark.parametrize(
    ("protocols", "headers"),
    [
        pytest.param("base64.binary.k8s.io", {}, id="no token"),
        pytest.param(f"{PREFIX},x", {}, id="empty token"),
        pytest.param(f"{TOKEN},x", {"upgrade": "h2c"}, id="no WebSocket"),
        pytest.param(f"{TOKEN},x", {"authorization": "Bearer t2"}, id="Authorization header"),
    ],
)
def test_other_requests_stay_as_they_are(protocols: str, headers: dict[str, str]) -> None:
    changed = prepared(protocols, **headers)
    assert changed.get(b"authorization", b"").decode() == headers.get("authorization", "")
    assert changed[b"sec-websocket-protocol"] == protocols.encode()
