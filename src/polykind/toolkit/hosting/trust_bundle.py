"""CA bundles in PEM, as in `caBundle` fields."""

from __future__ import annotations

import re
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

HOST_CA_NAME = "polykind-host-ca"
"""The common name of the CAs that hosts create."""

MAX_HOST_CAS = 32
"""The maximum number of host CAs in a bundle. A replica without persistent storage adds a CA at every start."""

_block = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def parse_certificates(pem: bytes) -> list[x509.Certificate]:
    """Return the distinct certificates in PEM text. Skip all text that is not a certificate."""
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
    """True if a bundle contains all certificates of another bundle."""
    return set(parse_certificates(wanted)) <= set(parse_certificates(pem))


def merge_bundles(present: bytes, host_bundle: bytes, retired: bytes, now: datetime) -> bytes:
    """Return the bundle `present` with the certificates of `host_bundle` added. Return `present` if nothing changes.

    Expired certificates, the certificates in `retired`, and text that is not a certificate are removed. The API server
    would reject a bundle that it cannot parse. If there are more than MAX_HOST_CAS host CAs, the oldest are removed.
    """
    wanted, removed = parse_certificates(host_bundle), set(parse_certificates(retired))
    before = parse_certificates(present)
    others = [c for c in before if c not in wanted and c not in removed and c.not_valid_after_utc > now]
    host_cas = sorted((c for c in others if _is_host_ca(c)), key=lambda c: c.not_valid_before_utc)
    surplus = set(host_cas[: max(0, len(host_cas) + len(wanted) - MAX_HOST_CAS)])
    kept = [c for c in before if c in wanted or (c in others and c not in surplus)]
    out = kept + [c for c in wanted if c not in kept]
    return present if out == before and _only_certificates(present) else encode_certificates(out)


def _is_host_ca(certificate: x509.Certificate) -> bool:
    return certificate.subject.rfc4514_string() == f"CN={HOST_CA_NAME}"


def _only_certificates(pem: bytes) -> bool:
    """True if the text contains only certificates."""
    return not _block.sub(b"", pem).strip()
