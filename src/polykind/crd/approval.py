"""Definitions in the groups of Kubernetes itself need the approval of its community, told in an annotation."""

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
    """Whether a group is one of the community's."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval_condition(crd: JsonObject) -> JsonObject | None:
    """The condition of a definition in a protected group."""
    if not is_protected_group(crd["spec"]["group"]):
        return None
    state, message = _state(crd)
    status, reason = _CONDITIONS[state]
    return condition(API_APPROVED, status, reason, message)


def validate_approval(crd: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """A missing or unreadable approval is refused, unless it was so before."""
    if not is_protected_group(crd["spec"]["group"]):
        return []
    state, message = _state(crd)
    if state in ("approved", "bypassed") or (old is not None and _state(old)[0] == state):
        return []
    at = f"metadata.annotations[{ANNOTATION}]"
    return [required(at, message) if state == "missing" else invalid(at, _annotation(crd), message)]


def _annotation(crd: JsonObject) -> str:
    return str((crd["metadata"].get("annotations") or {}).get(ANNOTATION, ""))


def _state(crd: JsonObject) -> tuple[str, str]:
    text = _annotation(crd)
    needed = f"protected groups must have approval annotation {go_quote(ANNOTATION)}"
    if not text:
        return "missing", f"{needed}, {_POLICY}"
    if text.startswith("unapproved"):
        return "bypassed", f"not approved: {go_quote(text)}"
    try:
        url = parse_url(text, request=True)
    except URLError:
        url = None
    if url is not None and url.host and url.scheme:
        return "approved", f"approved in {text}"
    return "invalid", f'{needed} with either a URL or a reason starting with "unapproved", {_POLICY}'
