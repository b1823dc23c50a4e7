"""The AdmissionReview request, and the validation of a webhook's AdmissionReview response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polykind import errors
from polykind.admission.attributes import Attributes
from polykind.admission.cel_variables import request_value
from polykind.admission.versioned_attributes import VersionedAttributes
from polykind.apis.admission.types import ADMISSION_REVIEWS
from polykind.codec import json_codec
from polykind.contract import JsonObject
from polykind.golang.base64 import decode_base64
from polykind.golang.fmt import go_quote
from polykind.webhook.review_envelope import Header, MalformedReviewError, ReviewKind, decode_header, decode_review

REVIEWS = ReviewKind("admission.k8s.io", "AdmissionReview", frozenset({"AdmissionReview"}))
JSON_PATCH = "JSONPatch"
_UNPARSED_FIELDS = frozenset({"object", "oldObject", "options"})
_HIGHEST_CODE = 999


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """The validated response of an admission webhook."""

    allowed: bool
    status: JsonObject | None
    patch: bytes
    patch_type: str
    warnings: tuple[str, ...]
    audit_annotations: Mapping[str, str]


class InvalidResponseError(Exception):
    """A response that is not a valid AdmissionReview."""


class WebhookDeniedError(errors.APIError):
    """A webhook has denied the request. The status code, reason and message come from the webhook's response."""

    def __init__(self, webhook: str, status: JsonObject | None) -> None:
        webhook_status = status or {}
        denied = f"admission webhook {go_quote(webhook)} denied the request"
        reason = webhook_status.get("message") or webhook_status.get("reason")
        super().__init__(
            f"{denied}: {reason}" if reason else f"{denied} without explanation", details=webhook_status.get("details")
        )
        self.code = max(webhook_status.get("code") or 0, 400)
        self.reason = webhook_status.get("reason") or ""
        self.include_details = "details" in webhook_status
        self.metadata = webhook_status.get("metadata") or {}
        self.webhook_status = webhook_status.get("status") or ""
        if self.webhook_status == "Success":
            self.webhook_status = ""
        if self.code > _HIGHEST_CODE:
            # An HTTP status code above 999 cannot be sent. Like kube-apiserver, respond with 500.
            self.code = 500

    def status(self) -> JsonObject:
        status = super().status()
        return status | {"status": self.webhook_status} if self.webhook_status else status


def request(version: str, uid: str, attributes: Attributes, versioned: VersionedAttributes) -> bytes:
    """Return the body of an AdmissionReview of `version`, with the request's attributes and the converted objects."""
    review_request = request_value(attributes, versioned.api_version, versioned.version)
    review_request |= {"uid": uid, "object": versioned.obj, "oldObject": versioned.old}
    review = {"kind": REVIEWS.kind, "apiVersion": f"{REVIEWS.group}/{version}", "request": review_request}
    return json_codec.encode_ordered(review) + b"\n"


def parse_response(version: str, uid: str, body: bytes, *, mutating: bool) -> AdmissionResponse:
    """Parse and validate a webhook's response. Raise InvalidResponseError if the response is not valid."""
    try:
        envelope_header = decode_header(REVIEWS, version, body)
        response: JsonObject | None = decode_review(
            ADMISSION_REVIEWS[version], envelope_header.fields, _UNPARSED_FIELDS
        ).get("response")
    except (MalformedReviewError, json_codec.MalformedJSONError) as error:
        raise InvalidResponseError(f"failed to call webhook: {error}") from None
    error_message = _response_error(version, uid, envelope_header, response, mutating)
    if error_message is not None or response is None:
        raise InvalidResponseError(f"received invalid webhook response: {error_message}")
    patch = decode_base64(response.get("patch") or "") if mutating else b""
    patch_type = response.get("patchType") or ""
    if version != "v1":
        # In v1beta1 the patch type is ignored, because JSONPatch is the only patch type.
        patch_type = JSON_PATCH if patch else ""
    return AdmissionResponse(
        response["allowed"],
        response.get("status"),
        patch,
        patch_type,
        tuple(response.get("warnings") or ()),
        response.get("auditAnnotations") or {},
    )


def _response_error(
    version: str, uid: str, envelope_header: Header, response: JsonObject | None, mutating: bool
) -> str | None:
    if response is None:
        return "webhook response was absent"
    if version != "v1":
        return None
    if response["uid"] != uid:
        return f"expected response.uid={go_quote(uid)}, got {go_quote(response['uid'])}"
    if webhook_status := envelope_header.type_meta_error(REVIEWS):
        return webhook_status
    patch, patch_type = bool(response.get("patch")), response.get("patchType")
    if not mutating:
        if patch:
            return "validating webhook may not return response.patch"
        return None if patch_type is None else "validating webhook may not return response.patchType"
    if patch and patch_type is None:
        return "webhook returned response.patch but not response.patchType"
    if not patch and patch_type is not None:
        return "webhook returned response.patchType but not response.patch"
    return 'webhook returned invalid response.patchType of ""' if patch_type == "" else None
