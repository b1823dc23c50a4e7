"""The certificates that a webhook's caller trusts, as a caBundle has them: PEM, one after another. Pure."""

from __future__ import annotations

import re
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

HOST_CA_NAME = "polykind-host-ca"
"""The common name of the authorities that hosts make."""

MAX_HOST_CAS = 32
"""How many authorities of hosts a bundle keeps: a replica without a disk brings another whenever it starts."""

_block = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def parse_certificates(pem: bytes) -> list[x509.Certificate]:
    """The certificates in PEM, each once; what is none is skipped."""
    certificates: dict[bytes, x509.Certificate] = {}
    for block in _block.findall(pem):
        try:
            certificate = x509.load_pem_x509_certificate(block)
        except ValueError:
            continue
        certificates.setdefault(certificate.fingerprint(hashes.SHA256()), certificate)
    return list(certificates.values())


def encode_certificates(certificates: list[x509.Certificate]) -> bytes:
    return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates)


def contains(pem: bytes, wanted: bytes) -> bool:
    """Whether all certificates of one bundle are in another."""
    return set(parse_certificates(wanted)) <= set(parse_certificates(pem))


def merge_bundles(present: bytes, host_bundle: bytes, retired: bytes, now: datetime) -> bytes:
    """A bundle with ours appended to what is valid in it; as it is, if that changes nothing.

    What has expired, what is `retired` and what is no certificate goes: the API server refuses a bundle that it cannot
    read. Others' certificates are theirs to remove, unless they are of hosts and there are too many.
    """
    wanted, retired_certificates = parse_certificates(host_bundle), set(parse_certificates(retired))
    present_certificates = parse_certificates(present)
    others = [
        certificate
        for certificate in present_certificates
        if certificate not in wanted
        and certificate not in retired_certificates
        and certificate.not_valid_after_utc > now
    ]
    host_cas = sorted(
        (certificate for certificate in others if _is_host_ca(certificate)),
        key=lambda certificate: certificate.not_valid_before_utc,
    )
    surplus = set(host_cas[: max(0, len(host_cas) + len(wanted) - MAX_HOST_CAS)])
    remaining = [
        certificate
        for certificate in present_certificates
        if certificate in wanted or (certificate in others and certificate not in surplus)
    ]
    out = remaining + [certificate for certificate in wanted if certificate not in remaining]
    return present if out == present_certificates and _only_certificates(present) else encode_certificates(out)


def _is_host_ca(certificate: x509.Certificate) -> bool:
    return certificate.subject.rfc4514_string() == f"CN={HOST_CA_NAME}"


def _only_certificates(pem: bytes) -> bool:
    """Whether there is nothing in it but certificates."""
    return not _block.sub(b"", pem).strip()
