"""What an HTTP answer that is no success means, in the words of the reference's client."""

from __future__ import annotations

import re
from typing import NamedTuple

from polykind.codec import json_codec
from polykind.golang.fmt import go_quote

_SHOWN = 2048
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # noqa: S105 - RFC 9110's token, no secret
_parameter = re.compile(rf'\s*;\s*({_TOKEN})\s*=\s*(?:{_TOKEN}|"(?:[^"\\]|\\.)*")').match
_media = re.compile(rf"\s*({_TOKEN})(?:/({_TOKEN}))?\s*$").match

_TEXTS = {
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


class Answer(NamedTuple):
    """An HTTP answer, read to its end."""

    status: int
    content_type: str
    body: bytes


def complaint(answer: Answer) -> str | None:
    """Why the answer's body cannot be looked at; None if it can."""
    content_type = answer.content_type or "application/json"
    fault = _media_fault(content_type)
    if fault:
        return f"Internal error occurred: mime: {fault}"
    if not 200 <= answer.status <= 206:
        said = _status_message(answer.body)
        return _unexpected(answer) if said is None else said
    if not answer.body:
        return f"0-length response with status code: {answer.status} and content type: {content_type}"
    return None


def _unexpected(answer: Answer) -> str:
    shown = "unknown"
    if not answer.content_type or answer.content_type.strip().lower().startswith("text/"):
        shown = answer.body[:_SHOWN].decode(errors="replace").strip()
    if answer.status in _TEXTS:
        return _TEXTS[answer.status]
    if answer.status in (403, 415):
        return shown
    if answer.status == 406:
        if shown in ("", "unknown"):
            return "the server was unable to respond with a content type that the client supports"
        return shown
    if answer.status >= 500:
        return f"an error on the server ({go_quote(shown)}) has prevented the request from succeeding"
    return f"the server responded with the status code {answer.status} but did not return more information"


def _status_message(body: bytes) -> str | None:
    """The message of a Status object that tells a failure; None if the body is none."""
    if not body.lstrip().startswith(b"{"):
        return None
    try:
        value = json_codec.decode(body)
    except json_codec.MalformedJSONError:
        return None
    if not isinstance(value, dict) or value.get("kind") != "Status" or value.get("apiVersion", "v1") not in ("v1", ""):
        return None
    said = value.get("message", "")
    return said if value.get("status") == "Failure" and isinstance(said, str) else None


def _media_fault(content_type: str) -> str | None:
    base, semicolon, rest = content_type.partition(";")
    if not re.match(rf"\s*{_TOKEN}", base):
        return "no media type"
    if not _media(base):
        tail = "/" in base.split()[0]
        return "unexpected content after media subtype" if tail else "expected slash after first token"
    rest = semicolon + rest
    while rest.strip(" \t;"):
        found = _parameter(rest)
        if found is None:
            return "invalid media parameter"
        rest = rest[found.end() :]
    return None
