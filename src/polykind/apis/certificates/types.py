"""The kind of the certificates.k8s.io group: CertificateSigningRequest."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Columns, Kind, Subresource
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

CERTIFICATES_V1 = GroupVersion(
    "certificates.k8s.io", "v1", type_table("certificates", "v1"), group_priority=17300, version_priority=15
)


def _columns(kind: Kind) -> Columns:
    from polykind.apis.certificates.columns import COLUMNS

    return COLUMNS[kind]


CERTIFICATE_SIGNING_REQUEST = Kind(
    CERTIFICATES_V1,
    "CertificateSigningRequest",
    columns=_columns,
    short_names=("csr",),
    subresources=(
        Subresource("approval"),
        Subresource("status"),
    ),
    selectable=(".spec.signerName",),
    strategy="polykind.strategies.certificates.strategy:SigningRequestStrategy",
)

KINDS = (CERTIFICATE_SIGNING_REQUEST,)
