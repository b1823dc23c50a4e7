"""The parts of a JSON Web Token, as kube-apiserver's JOSE library reads them (RFC 7515)."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import orjson

from polykind.contract import JsonObject
from polykind.golang.base64 import decode_base64_url

_LAST_DIGITS = {0: "", 2: "AQgw", 3: "AEIMQUYcgkosw048"}
"""The digits that can end a part, by the length of the part modulo 4. Others have bits that no byte contains."""


class MalformedTokenError(ValueError):
    """A token is not a JSON Web Token."""


class TokenHeader(NamedTuple):
    """The header of a token that this server understands."""

    algorithm: str
    key_id: str
    supported: bool
    """False if the header demands an extension that this server does not support (`crit`)."""


def decode_segment(text: str) -> bytes:
    """Decode one part of a token. Return empty bytes if the part is not the one spelling of its bytes in base64url."""
    last_digits = _LAST_DIGITS.get(len(text) % 4)
    if last_digits is None or (last_digits and text[-1] not in last_digits):
        return b""
    try:
        return decode_base64_url(text)
    except ValueError:
        return b""


def read_segment(token: str, index: int) -> JsonObject | None:
    """Return the header (index 0) or the claims (1) of a token, unverified. Return None if the token is not a JWT."""
    parts = token.split(".", 3)
    if len(parts) != 3:
        return None
    try:
        value = orjson.loads(decode_segment(parts[index]))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def read_strictly(token: str, index: int) -> JsonObject:
    """Return the header or the claims of a token. Raise MalformedTokenError if they are malformed or repeat a name."""
    if read_segment(token, index) is None:
        raise MalformedTokenError("it does not have three parts of JSON in base64url")
    try:
        found: JsonObject = json.loads(decode_segment(token.split(".")[index]), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise MalformedTokenError(str(error)) from None
    return found


def read_header(token: str) -> TokenHeader:
    """Return the header of a token. Raise MalformedTokenError if the token or its header is malformed."""
    header = read_strictly(token, 0)
    for name in ("alg", "kid", "nonce"):
        if not isinstance(header.get(name), str | None):
            raise MalformedTokenError(f"the header {name} is not a string")
    if not _is_key(header.get("jwk")) or header.get("x5c"):
        # The library decodes these keys and certificates, though they are not used. Issuers do not send them.
        raise MalformedTokenError("the header has an embedded key or certificate")
    signature = token.rpartition(".")[2]
    if signature and not decode_segment(signature):
        raise MalformedTokenError("the signature is not base64url")
    critical = header.get("crit")
    supported = critical is None or (isinstance(critical, list) and all(name == "b64" for name in critical))
    # The library also supports b64 (RFC 7797), with which the claims would be signed without base64.
    return TokenHeader(header.get("alg") or "", header.get("kid") or "", supported and header.get("b64") is not False)


def _is_key(value: Any) -> bool:
    """True if a header has no embedded key, or one of a known type."""
    return value is None or (isinstance(value, dict) and value.get("kty") in ("RSA", "EC", "OKP", "oct"))


def _without_repetition(pairs: list[tuple[str, Any]]) -> JsonObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise MalformedTokenError("a name is repeated")
    return found
