"""Validation of CertificateSigningRequests."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polykind import errors, names
from polykind.apis.certificates.request_parsing import certificate_error, request_error
from polykind.apis.certificates.types import CERTIFICATES_V1
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.golang.utf8 import byte_length

APPROVAL_CONDITIONS = ("Approved", "Denied")
_FINAL_CONDITIONS = ("Approved", "Denied", "Failed")
"""The types of conditions whose status must be True and that no update can remove."""
_STATUSES = ("False", "True", "Unknown")
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_MIN_SECONDS = 600
_MAX_DOMAIN = 253
_MAX_SIGNER_NAME = _MAX_DOMAIN + 1 + 253 + 1 + 63


def validate_request(csr: JsonObject, old: JsonObject | None = None) -> list[FieldError]:
    """Validate the spec and the status of a CertificateSigningRequest. `old` is the stored object of an update.

    An update may keep invalid values of the stored object, because older versions of Kubernetes accepted them.
    """
    spec, status = csr["spec"], csr.get("status") or {}
    before = old or {}
    old_spec, old_status = before.get("spec") or {}, before.get("status") or {}
    found: list[FieldError] = []
    error = request_error(spec.get("request") or "")
    if error:
        found.append(errors.invalid("spec.request", spec.get("request"), error))
    found += _validate_usages(spec.get("usages") or [], old_spec.get("usages") or [])
    found += _validate_signer(spec.get("signerName", ""), old_spec.get("signerName"))
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _MIN_SECONDS:
        reason = "may not specify a duration less than 600 seconds (10 minutes)"
        found.append(errors.invalid("spec.expirationSeconds", seconds, reason))
    found += _validate_conditions(status.get("conditions") or [], old_status.get("conditions") or [])
    return found + _validate_certificate(status.get("certificate") or "", None if old is None else old_status)


def _validate_certificate(certificate: str, old_status: JsonObject | None) -> list[FieldError]:
    """Validate a new certificate. `old_status` is the stored status of an update."""
    if old_status is not None:
        before = old_status.get("certificate") or ""
        if certificate == before or certificate_error(before):
            return []
    error = certificate_error(certificate)
    return [errors.invalid("status.certificate", "<certificate data>", error)] if error else []


def _validate_signer(signer: str, before: str | None) -> list[FieldError]:
    if signer == _LEGACY_SIGNER and before != _LEGACY_SIGNER:
        reason = "the legacy signerName is not allowed via this API version"
        return [errors.invalid("spec.signerName", signer, reason)]
    return validate_signer_name(signer, "spec.signerName")


def _validate_usages(usages: Sequence[str], old: Sequence[str]) -> list[FieldError]:
    found = [] if usages else [errors.required("spec.usages")]
    known = CERTIFICATES_V1.types.values("KeyUsage")
    if set(old) <= set(known):
        for index, usage in enumerate(usages):
            if usage not in known:
                found.append(errors.not_supported(f"spec.usages[{index}]", usage, known))
    if len(set(old)) == len(old):
        for index, usage in enumerate(usages):
            if usage in usages[:index]:
                found.append(errors.duplicate(f"spec.usages[{index}]", usage))
    return found


def validate_signer_name(name: str, at: str) -> list[FieldError]:
    """Validate the name of a signer: a domain, a slash, and DNS subdomains."""
    if not name:
        return [errors.required(at)]
    if name.count("/") != 1:
        reason = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [errors.invalid(at, name, reason)]
    domain, _, path = name.partition("/")
    found = [errors.too_long(at, _MAX_DOMAIN)] if byte_length(domain) > _MAX_DOMAIN else []
    found += _validate_labels(domain, at, names.dns1123_label)
    if "." not in domain:
        reason = "should be a domain with at least two segments separated by dots"
        found.append(errors.invalid(at, domain, reason))
    found += _validate_labels(path, at, names.dns1123_subdomain)
    if byte_length(name) > _MAX_SIGNER_NAME:
        found.append(errors.too_long(at, _MAX_SIGNER_NAME))
    return found


def _validate_labels(text: str, at: str, check: Callable[[str], list[str]]) -> list[FieldError]:
    """Return the errors of the first invalid label in a dotted name."""
    for label in text.split("."):
        messages = check(label)
        if messages:
            return errors.all_invalid(at, text, (f"validating label {go_quote(label)}: {m}" for m in messages))
    return []


def _validate_conditions(conditions: Sequence[JsonObject], old: Sequence[JsonObject]) -> list[FieldError]:
    found: list[FieldError] = []
    old_types = [condition.get("type", "") for condition in old]
    known: list[str] = []
    for index, condition in enumerate(conditions):
        at = f"status.conditions[{index}]"
        condition_type, status = condition.get("type", ""), condition.get("status", "")
        if not condition_type and "" not in old_types:
            found.append(errors.required(f"{at}.type"))
        allowed = ("True",) if condition_type in _FINAL_CONDITIONS else _STATUSES
        if not status:
            found.append(errors.required(f"{at}.status"))
        elif status not in allowed:
            found.append(errors.not_supported(f"{at}.status", status, allowed))
        if _excludes(condition_type, known) and not set(APPROVAL_CONDITIONS) <= set(old_types):
            reason = "Approved and Denied conditions are mutually exclusive"
            found.append(errors.invalid("status.conditions", condition_type, reason))
        if condition_type in known and len(set(old_types)) == len(old_types):
            found.append(errors.duplicate(f"{at}.type", condition_type))
        known.append(condition_type)
    return found


def _excludes(condition_type: str, others: Sequence[str]) -> bool:
    """True if the type is Approved or Denied and the other of the two is among `others`."""
    return condition_type in APPROVAL_CONDITIONS and any(
        other in others for other in APPROVAL_CONDITIONS if other != condition_type
    )


def validate_request_update(
    new: JsonObject, old: JsonObject, *, may_approve: bool = False, may_sign: bool = False
) -> list[FieldError]:
    """Validate an update of a CertificateSigningRequest.

    `may_approve` is true if the update may approve or deny the request. `may_sign` is true if it may add the
    certificate. No update can remove a condition of type Approved, Denied or Failed.
    """
    found = validate_request(new, old)
    at = "status.conditions"
    for condition_type in _FINAL_CONDITIONS:
        if len(_conditions(new, condition_type)) < len(_conditions(old, condition_type)):
            reason = f"updates may not remove a condition of type {go_quote(condition_type)}"
            found.append(errors.forbidden(at, reason))
    if not may_approve:
        for condition_type in APPROVAL_CONDITIONS:
            if len(_conditions(new, condition_type)) > len(_conditions(old, condition_type)):
                reason = f"updates may not add a condition of type {go_quote(condition_type)}"
                found.append(errors.forbidden(at, reason))
    certificate, before = ((csr.get("status") or {}).get("certificate") or "" for csr in (new, old))
    if certificate != before:
        if not may_sign:
            found.append(errors.forbidden("status.certificate", "updates may not set certificate content"))
        elif before:
            found.append(errors.forbidden("status.certificate", "updates may not modify existing certificate content"))
    return found


def _conditions(csr: JsonObject, condition_type: str) -> list[JsonObject]:
    conditions = (csr.get("status") or {}).get("conditions") or ()
    return [condition for condition in conditions if condition.get("type", "") == condition_type]
