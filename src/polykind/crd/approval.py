"""API approval: CRDs in the groups *.k8s.io and *.kubernetes.io need the annotation api-approved.kubernetes.io
(KEP-1111).
"""

from __future__ import annotations

from polykind.contract import JsonObject
from polykind.crd.conditions import API_APPROVED, condition
from polykind.errors import FieldError, invalid, required
from polykind.golang.fmt import go_quote
from polykind.golang.url import URLError, parse_url

ANNOTATION = "api-approved.kubernetes.io"

_POLICY = "see https://github.com/kubernetes/enhancements/pull/1111"
_CONDITIONS = {
    "missing": ("False", "MissingAnnotation"),
    "invalid": ("False", "InvalidAnnotation"),
    "bypassed": ("False", "UnapprovedAnnotation"),
    "approved": ("True", "ApprovedAnnotation"),
}


def is_protected_group(group: str) -> bool:
    """True for a group that is reserved for the Kubernetes community."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval_condition(crd: JsonObject) -> JsonObject | None:
    """Return the approval condition of a CRD. Return None if its group is not protected."""
    if not is_protected_group(crd["spec"]["group"]):
        return None
    state, message = _state(crd)
    status, reason = _CONDITIONS[state]
    return condition(API_APPROVED, status, reason, message)


def validate_approval(crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Return an error if the approval annotation is missing or invalid, unless the old CRD has the same error."""
    if not is_protected_group(crd["spec"]["group"]):
        return []
    state, message = _state(crd)
    if state in ("approved", "bypassed") or (old is not None and _state(old)[0] == state):
        return []
    path = f"metadata.annotations[{ANNOTATION}]"
    return [required(path, message) if state == "missing" else invalid(path, _annotation(crd), message)]


def _annotation(crd: JsonObject) -> str:
    return str((crd["metadata"].get("annotations") or {}).get(ANNOTATION, ""))


def _state(crd: JsonObject) -> tuple[str, str]:
    text = _annotation(crd)
    required_annotation = f"protected groups must have approval annotation {go_quote(ANNOTATION)}"
    if not text:
        return "missing", f"{required_annotation}, {_POLICY}"
    if text.startswith("unapproved"):
        return "bypassed", f"not approved: {go_quote(text)}"
    try:
        url = parse_url(text, request=True)
    except URLError:
        url = None
    if url is not None and url.host and url.scheme:
        return "approved", f"approved in {text}"
    return "invalid", f'{required_annotation} with either a URL or a reason starting with "unapproved", {_POLICY}'
