"""Plugins for CertificateSigningRequests: CertificateApproval, CertificateSigning, CertificateSubjectRestriction."""

from __future__ import annotations

from polykind.admission.attributes import CREATE, UPDATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, forbidden
from polykind.apis.certificates.request_parsing import organizations, parse_request
from polykind.auth.authorizer import Access
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.loop_calls import on_loop

_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


async def _may(attributes: Attributes, verb: str, signer: str) -> bool:
    """True if the user may perform the verb on requests for a signer, or for all signers of its domain."""
    names = (signer, f"{signer.partition('/')[0]}/*")
    for name in names:
        access = Access(attributes.user, verb, "certificates.k8s.io", "*", "signers", name=name)
        if (await on_loop(attributes.authorizer.decide(access))).allowed:
            return True
    return False


class CertificateApproval(BuiltinPlugin):
    """Requires the permission `approve` for the signer from a user that approves or denies a certificate request."""

    operations = (UPDATE,)
    subresources = ("approval",)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        signer = ((attributes.old or {}).get("spec") or {}).get("signerName", "")
        if not await _may(attributes, "approve", signer):
            reason = f"user not permitted to approve requests with signerName {go_quote(signer)}"
            raise forbidden(attributes, reason)


class CertificateSigning(BuiltinPlugin):
    """Requires the permission `sign` for the signer from a user that changes a request's certificate or conditions."""

    operations = (UPDATE,)
    subresources = ("status",)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        old = attributes.old or {}
        new_status, old_status = obj.get("status") or {}, old.get("status") or {}
        if all(new_status.get(field) == old_status.get(field) for field in ("certificate", "conditions")):
            return
        signer = (old.get("spec") or {}).get("signerName", "")
        if not await _may(attributes, "sign", signer):
            raise forbidden(attributes, f"user not permitted to sign requests with signerName {go_quote(signer)}")


class CertificateSubjectRestriction(BuiltinPlugin):
    """Rejects requests for client certificates of the group system:masters."""

    operations = (CREATE,)

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        spec = obj.get("spec") or {}
        if spec.get("signerName") != _CLIENT_SIGNER:
            return
        # The validation of the object has already rejected a malformed certificate request.
        if "system:masters" in organizations(parse_request(spec.get("request", ""))):
            reason = f"use of {_CLIENT_SIGNER} signer with system:masters group is not allowed"
            raise forbidden(attributes, reason)
