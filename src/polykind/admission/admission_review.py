"""AdmissionReview: what a webhook is told of a write, and every check that its answer must pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.expressionvalues import request_value
from polykind.apis.admission.types import ADMISSION_REVIEWS
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.base64 import decode_base64
from polykind.golang.fmt import go_quote
from polykind.webhook.envelope import Header, Malformed, Reviews, header, read

REVIEWS = Reviews("admission.k8s.io", "AdmissionReview", frozenset({"AdmissionReview"}))
JSON_PATCH = "JSONPatch"
_OBJECTS = frozenset({"object", "oldObject", "options"})
_HIGHEST = 999


class Shown(NamedTuple):
    """A write as it is told at one version of its resource: that version, and the objects' apiVersion."""

    version: str
    api_version: str
    obj: JsonObject | None
    old: JsonObject | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook says of a write."""

    allowed: bool
    status: JsonObject | None
    patch: bytes
    patch_type: str
    warnings: tuple[str, ...]


class Misanswered(Exception):
    """An answer that is no verdict; says why."""


class Denied(errors.APIError):
    """A webhook has refused a write: the Status is the webhook's own."""

    def __init__(self, webhook: str, status: JsonObject | None) -> None:
        said = status or {}
        denied = f"admission webhook {go_quote(webhook)} denied the request"
        why = said.get("message") or said.get("reason")
        super().__init__(f"{denied}: {why}" if why else f"{denied} without explanation", details=said.get("details"))
        self.code = max(said.get("code") or 0, 400)
        self.reason = said.get("reason") or ""
        self.include_details = "details" in said
        self.metadata = said.get("metadata") or {}
        self.word = said.get("status") or ""
        if self.word == "Success":
            self.word = ""
        if self.code > _HIGHEST:
            # What cannot be sent is a fault of the webhook's, and told as one.
            self.code = 500

    def status(self) -> JsonObject:
        told = super().status()
        return told | {"status": self.word} if self.word else told


def request(version: str, uid: str, asked: Attributes, shown: Shown) -> bytes:
    """The body of a review."""
    told = request_value(asked, shown.api_version, shown.version)
    told |= {"uid": uid, "object": shown.obj, "oldObject": shown.old}
    review = {"kind": REVIEWS.kind, "apiVersion": f"{REVIEWS.group}/{version}", "request": told}
    return json_codec.encode_ordered(review) + b"\n"


def answered(version: str, uid: str, body: bytes, *, mutating: bool) -> Verdict:
    """The verdict in an answer. Raises Misanswered."""
    try:
        head = header(REVIEWS, version, body)
        response: JsonObject | None = read(ADMISSION_REVIEWS[version], head.fields, _OBJECTS).get("response")
    except (Malformed, json_codec.MalformedJSONError) as error:
        raise Misanswered(f"failed to call webhook: {error}") from None
    complaint = _complaint(version, uid, head, response, mutating)
    if complaint is not None or response is None:
        raise Misanswered(f"received invalid webhook response: {complaint}")
    patch = decode_base64(response.get("patch") or "") if mutating else b""
    kind = response.get("patchType") or ""
    if version != "v1":
        # Never looked at in v1beta1: there is but one type.
        kind = JSON_PATCH if patch else ""
    return Verdict(response["allowed"], response.get("status"), patch, kind, tuple(response.get("warnings") or ()))


def _complaint(version: str, uid: str, head: Header, response: JsonObject | None, mutating: bool) -> str | None:
    if response is None:
        return "webhook response was absent"
    if version != "v1":
        return None
    if response["uid"] != uid:
        return f"expected response.uid={go_quote(uid)}, got {go_quote(response['uid'])}"
    if said := head.complaint(REVIEWS):
        return said
    patch, kind = bool(response.get("patch")), response.get("patchType")
    if not mutating:
        if patch:
            return "validating webhook may not return response.patch"
        return None if kind is None else "validating webhook may not return response.patchType"
    if patch and kind is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and kind is not None:
        return "webhook returned response.patchType but not response.patch"
    return 'webhook returned invalid response.patchType of ""' if kind == "" else None
