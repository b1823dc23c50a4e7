"""The certificates that a webhook's caller trusts, as a caBundle has them: PEM, one after another. Pure."""

from __future__ import annotations

import re
from datetime import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

OURS = "polykind-host-ca"
"""The common name of the authorities that hosts make."""

MOST = 32
"""How many authorities of hosts a bundle keeps: a replica without a disk brings another whenever it starts."""

_block = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def certificates(pem: bytes) -> list[x509.Certificate]:
    """The certificates in PEM, each once; what is none is skipped."""
    found: dict[bytes, x509.Certificate] = {}
    for block in _block.findall(pem):
        try:
            certificate = x509.load_pem_x509_certificate(block)
        except ValueError:
            continue
        found.setdefault(certificate.fingerprint(hashes.SHA256()), certificate)
    return list(found.values())


def encoded(found: list[x509.Certificate]) -> bytes:
    return b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in found)


def contains(pem: bytes, wanted: bytes) -> bool:
    """Whether all certificates of one bundle are in another."""
    return set(certificates(wanted)) <= set(certificates(pem))


def merged(present: bytes, ours: bytes, retired: bytes, now: datetime) -> bytes:
    """A bundle with ours appended to what is valid in it; as it is, if that changes nothing.

    What has expired, what is `retired` and what is no certificate goes: the API server refuses a bundle that it cannot
    read. Others' certificates are theirs to remove, unless they are of hosts and there are too many.
    """
    wanted, gone = certificates(ours), set(certificates(retired))
    before = certificates(present)
    others = [one for one in before if one not in wanted and one not in gone and one.not_valid_after_utc > now]
    hosts = sorted((one for one in others if _of_a_host(one)), key=lambda one: one.not_valid_before_utc)
    excess = set(hosts[: max(0, len(hosts) + len(wanted) - MOST)])
    kept = [one for one in before if one in wanted or (one in others and one not in excess)]
    out = kept + [one for one in wanted if one not in kept]
    return present if out == before and _clean(present) else encoded(out)


def _of_a_host(certificate: x509.Certificate) -> bool:
    return certificate.subject.rfc4514_string() == f"CN={OURS}"


def _clean(pem: bytes) -> bool:
    """Whether there is nothing in it but certificates."""
    return not _block.sub(b"", pem).strip()
