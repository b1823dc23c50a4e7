"""Attacks of clients without credentials: long texts in the path, the query and the headers of a request."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from tests.conformance.client import Answer
from tests.robustness.attacker import Attacker, Attacks

_PODS = "/api/v1/pods"
_LENGTH = 240_000
"""Just below the limit for the head of a request."""


def _get(path: str = _PODS, **headers: str) -> Callable[[Attacker], Answer]:
    """Send one request. Headers that other clients send with it are the attacker's own."""
    return lambda attacker: attacker.anonymous("GET", path, **headers)


def _each(request: Callable[[int], tuple[str, dict[str, str]]]) -> Callable[[Attacker], Answer]:
    """Send many requests, which differ, and return the last answer. `request` returns the path and the headers."""

    def attack(attacker: Attacker) -> Answer:
        for number in range(60):
            path, headers = request(number)
            answer = attacker.anonymous("GET", path, **headers)
        return answer

    return attack


def _segment(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _token(header: bytes, claims: bytes) -> str:
    return f"Bearer {_segment(header)}.{_segment(claims)}.AA"


_CLAIMS = b'{"iss":"https://kubernetes.default.svc"}'

ANONYMOUS_ATTACKS: Attacks = {
    "anonymous: many long paths": (_each(lambda n: (f"/{n}{'x' * _LENGTH}", {})), 403),
    "anonymous: many long headers": (
        _each(lambda n: ("/api", {"Accept": f"a/{n}" + "x" * 70_000, "User_Agent": f"{n}" + "y" * 70_000})),
        403,
    ),
    "anonymous: many tokens": (_each(lambda n: (_PODS, {"Authorization": f"Bearer {n}{'x' * _LENGTH}"})), 401),
    "anonymous: escaped path": (_get("/" + "%C3" * 80_000), 403),
    "anonymous: control characters in the path": (_get("/" + "%01" * 80_000), 403),
    "anonymous: path segments": (_get("/api/v1" + "/a" * 120_000), 403),
    "anonymous: label selector": (_get(f"{_PODS}?labelSelector={'a>1,' * 60_000}"), 403),
    "anonymous: selectors with a name": (
        _get(f"{_PODS}?fieldSelector=metadata.name=a&labelSelector={'a>1,' * 59_000}"),
        403,
    ),
    "anonymous: field selector": (_get(f"{_PODS}?fieldSelector={'metadata.name!=1,' * 14_000}"), 403),
    "anonymous: timeout": (_get(f"{_PODS}?timeout={'1h' * 120_000}"), 400),
    "anonymous: digits in the timeout": (_get(f"{_PODS}?timeout={'1' * _LENGTH}"), 400),
    "anonymous: parameters": (_get(f"{_PODS}?{'a=b&' * 60_000}timeout=1s"), 403),
    "anonymous: escaped parameters": (_get(f"{_PODS}?timeout=1s&{'%41=%42&' * 9_000}{'%41' * 50_000}"), 403),
    "anonymous: weight of a media type": (_get(Accept=f"application/json;q={'1' * _LENGTH}"), 403),
    "anonymous: media types": (_get(Accept="a/b;q=0.1," * 24_000), 403),
    "anonymous: token with a large header": (
        _get(Authorization=_token(json.dumps({"alg": "RS256", "x": [[]] * 40_000}).encode(), _CLAIMS)),
        401,
    ),
    "anonymous: token with nested claims": (_get(Authorization=_token(b'{"alg":"RS256"}', b'{"a":' * 30_000)), 401),
    "anonymous: token with a long number": (
        _get(Authorization=_token(b'{"alg":"RS256"}', b'{"iss":' + b"1" * 170_000 + b"}")),
        401,
    ),
    "anonymous: token of dots": (_get(Authorization="Bearer " + "." * _LENGTH), 401),
    "anonymous: user to impersonate": (_get(Impersonate_User="x" * _LENGTH), 403),
    "anonymous: subprotocols": (
        _get(Sec_WebSocket_Protocol="a," * 120_000, Upgrade="websocket", Connection="Upgrade"),
        403,
    ),
}
