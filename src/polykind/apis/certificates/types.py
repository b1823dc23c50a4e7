"""The kind of the certificates.k8s.io group: CertificateSigningRequest."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion

CERTIFICATES_V1 = GroupVersion(
    "certificates.k8s.io", "v1", "io.k8s.api.certificates.v1", group_priority=17300, version_priority=15
)

CERTIFICATE_SIGNING_REQUEST = Kind(
    CERTIFICATES_V1,
    "CertificateSigningRequest",
    "A request for a certificate, which an approver approves and a signer signs.",
    fields_in="polykind.apis.certificates.signing_request_types:CERTIFICATE_SIGNING_REQUEST_FIELDS",
    columns="polykind.apis.certificates.columns:CERTIFICATE_SIGNING_REQUEST",
    short_names=("csr",),
    subresources=(
        Subresource("approval"),
        Subresource("status"),
    ),
    selectable=(".spec.signerName",),
    strategy="polykind.strategies.certificates.strategy:SigningRequestStrategy",
)

KINDS = (CERTIFICATE_SIGNING_REQUEST,)
