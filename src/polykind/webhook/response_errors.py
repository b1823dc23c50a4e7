"""HTTP responses of webhooks that are no review, with the messages of kube-apiserver's REST client."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

from polykind.codec import json_codec
from polykind.golang.fmt import go_quote

_MAX_SHOWN_BYTES = 2048
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 - RFC 9110's token, no secret
_parameter = re.compile(rf'\s*;\s*({_TOKEN})\s*=\s*(?:{_TOKEN}|"(?:[^"\\]|\\.)*")').match
_media = re.compile(rf"\s*({_TOKEN})(?:/({_TOKEN}))?\s*$").match

_MESSAGES = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


class HTTPResponse(NamedTuple):
    """A complete HTTP response. `slot` is released when a large body is no longer needed."""

    status: int
    content_type: str
    body: bytes
    slot: asyncio.Semaphore | None = None

    @property
    def succeeded(self) -> bool:
        return 200 <= self.status <= 206


def response_error(response: HTTPResponse) -> str | None:
    """Return the reason why the body of the response cannot be used, or None if it can be used."""
    content_type = response.content_type or "application/json"
    media_type_error = _media_type_error(content_type)
    if media_type_error:
        return f"Internal error occurred: mime: {media_type_error}"
    if not response.succeeded:
        status_message = _status_message(response.body)
        return _message_for_status(response) if status_message is None else status_message
    if not response.body:
        return f"0-length response with status code: {response.status} and content type: {content_type}"
    return None


def body_excerpt(body: bytes, message: str = "") -> str:
    """Return the beginning of a body as one printable line. Return "" if an error message already quotes it."""
    text = " ".join(body[:_MAX_SHOWN_BYTES].decode(errors="replace").split())
    if not text or text in message or go_quote(text)[1:-1] in message:
        return ""
    printable = "".join(char if char.isprintable() else "\ufffd" for char in text)
    return f"{printable}..." if len(body) > _MAX_SHOWN_BYTES else printable


def _message_for_status(response: HTTPResponse) -> str:
    body_text = "unknown"
    if not response.content_type or response.content_type.strip().lower().startswith("text/"):
        body_text = response.body[:_MAX_SHOWN_BYTES].decode(errors="replace").strip()
    if response.status in _MESSAGES:
        return _MESSAGES[response.status]
    if response.status in (403, 415):
        return body_text
    if response.status == 406:
        if body_text in ("", "unknown"):
            return "the server was unable to respond with a content type that the client supports"
        return body_text
    if response.status >= 500:
        return f"an error on the server ({go_quote(body_text)}) has prevented the request from succeeding"
    return f"the server responded with the status code {response.status} but did not return more information"


def _status_message(body: bytes) -> str | None:
    """Return the message of a Status with status Failure, None if the body is not such a Status."""
    if not body.lstrip().startswith(b"{"):
        return None
    try:
        value = json_codec.decode(body)
    except json_codec.MalformedJSONError:
        return None
    if not isinstance(value, dict) or value.get("kind") != "Status" or value.get("apiVersion", "v1") not in ("v1", ""):
        return None
    status_message = value.get("message", "")
    return status_message if value.get("status") == "Failure" and isinstance(status_message, str) else None


def _media_type_error(content_type: str) -> str | None:
    base, semicolon, rest = content_type.partition(";")
    if not re.match(rf"\s*{_TOKEN}", base):
        return "no media type"
    if not _media(base):
        has_slash = "/" in base.split()[0]
        return "unexpected content after media subtype" if has_slash else "expected slash after first token"
    rest = semicolon + rest
    while rest.strip(" \t;"):
        parameter = _parameter(rest)
        if parameter is None:
            return "invalid media parameter"
        rest = rest[parameter.end() :]
    return None
