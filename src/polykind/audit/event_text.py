"""Encoded audit events: the one-line text of --audit-log-format=legacy, and truncation."""

from __future__ import annotations

from collections.abc import Iterable

from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote


def event_text(event: bytes) -> str:
    """Return an event as one line of text, without a newline."""
    fields: JsonObject = json_codec.decode(event)
    user, other = fields["user"], fields.get("impersonatedUser")
    username = user.get("username") or ""
    groups = user.get("groups") if username else None
    as_groups = "<lookup>" if other is None or other.get("groups") is None else _quoted(other["groups"])
    status = fields.get("responseStatus")
    values = {
        "id": fields["auditID"],
        "stage": fields["stage"],
        "ip": (fields.get("sourceIPs") or ["<unknown>"])[0],
        "method": fields["verb"],
        "user": username or "<none>",
        "groups": _quoted(groups) if groups else "<none>",
        "as": "<self>" if other is None else other.get("username", ""),
        "asgroups": as_groups,
        "user-agent": fields.get("userAgent", ""),
        "namespace": (fields.get("objectRef") or {}).get("namespace") or "<none>",
        "uri": fields["requestURI"],
    }
    pairs = " ".join(f"{key}={go_quote(value)}" for key, value in values.items())
    response = "<deferred>" if status is None else status.get("code", 0)
    return f'{_shorten(fields["requestReceivedTimestamp"])} AUDIT: {pairs} response="{response}"'


def _quoted(groups: Iterable[str]) -> str:
    return ",".join(map(go_quote, groups))


def _shorten(timestamp: str) -> str:
    """Return a timestamp without trailing zeros in its fraction, as Go's RFC3339Nano formats it."""
    return timestamp.removesuffix("Z").rstrip("0").removesuffix(".") + "Z"


def truncate_event(event: bytes) -> bytes:
    """Return an event without its request object and response object, and with the annotation that says so."""
    fields: JsonObject = json_codec.decode(event)
    fields.pop("requestObject", None)
    fields.pop("responseObject", None)
    # The annotations are the last field of an event.
    annotations = {**(fields.pop("annotations", None) or {}), "audit.k8s.io/truncated": "true"}
    fields["annotations"] = {key: annotations[key] for key in sorted(annotations)}
    return json_codec.encode_ordered(fields) + b"\n"
