"""The fields of CertificateSigningRequests."""

from __future__ import annotations

from polykind.apis.certificates.types import CERTIFICATES_V1
from polykind.apis.machinery.structs import Field
from polykind.apis.machinery.value_types import BYTES, INT32, STRING, STRINGS, TIME, ListOf, MapOf, String, Wrapped

_struct = CERTIFICATES_V1.struct

KEY_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_KEY_USAGE = String("v1.KeyUsage", KEY_USAGES)

_CERTIFICATE_SIGNING_REQUEST_SPEC = _struct(
    "CertificateSigningRequestSpec",
    "The requested certificate, and the user that requests it.",
    Field("request", 1, BYTES, "The certificate request in PEM.", omitempty=False),
    Field("signerName", 7, STRING, "The requested signer.", omitempty=False),
    Field("expirationSeconds", 8, INT32, "The requested validity of the certificate.", pointer=True),
    Field("usages", 5, ListOf(_KEY_USAGE), "The requested uses of the key."),
    Field("username", 2, STRING),
    Field("uid", 3, STRING),
    Field("groups", 4, STRINGS),
    Field("extra", 6, MapOf(Wrapped("v1.ExtraValue"))),
)

_CERTIFICATE_SIGNING_REQUEST_CONDITION = _struct(
    "CertificateSigningRequestCondition",
    "An approval, a denial or a failure of a request.",
    Field("type", 1, String("v1.RequestConditionType"), "The aspect of the state, in CamelCase.", omitempty=False),
    Field("status", 6, String("v1.ConditionStatus"), "True, False or Unknown.", omitempty=False),
    Field("reason", 2, STRING, "The reason for the last change, in CamelCase."),
    Field("message", 3, STRING, "A readable explanation."),
    Field("lastUpdateTime", 4, TIME, "The time of the last update."),
    Field("lastTransitionTime", 5, TIME, "The time of the last change of the status."),
)

_CERTIFICATE_SIGNING_REQUEST_STATUS = _struct(
    "CertificateSigningRequestStatus",
    "The decision on a request, and the certificate.",
    Field(
        "conditions", 1, ListOf(_CERTIFICATE_SIGNING_REQUEST_CONDITION), "The decision on the request.", keys=("type",)
    ),
    Field("certificate", 2, BYTES, "The certificates in PEM."),
)

CERTIFICATE_SIGNING_REQUEST_FIELDS = (
    Field("spec", 2, _CERTIFICATE_SIGNING_REQUEST_SPEC, "The desired state.", omitempty=False),
    Field("status", 3, _CERTIFICATE_SIGNING_REQUEST_STATUS, "The observed state."),
)
