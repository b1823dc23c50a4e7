"""Users beside the admin: each by a client certificate of the server's own authority, which every client can show."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from polykind.files import write_private
from polykind.issuing import Pair, read_pair
from polykind.testing.refused import Refused

LIFE = timedelta(days=1)
LONGEST = 64
"""Characters that the name in a certificate may have."""
_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):[^:]+")


def write_kubeconfig(file: Path, url: str, pki: Path, name: str, groups: Iterable[str]) -> None:
    """A kubeconfig for a user. Raises Refused."""
    pair = _certificate(pki, name, [*groups, *_groups_of_account(name)])
    cluster = {"server": url, "certificate-authority-data": _base64((pki / "ca.crt").read_bytes())}
    user = {
        "client-certificate-data": _base64(pair.certificate_pem),
        "client-key-data": _base64(pair.key_pem),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "polykind", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "polykind", "context": {"cluster": "polykind", "user": name}}],
        "current-context": "polykind",
    }
    write_private(file, json.dumps(config, indent=2).encode() + b"\n")


def _groups_of_account(name: str) -> list[str]:
    """The groups that a service account is in by its name."""
    found = _ACCOUNT.fullmatch(name)
    return ["system:serviceaccounts", f"system:serviceaccounts:{found[1]}"] if found else []


def _certificate(pki: Path, name: str, groups: list[str]) -> Pair:
    if not 0 < len(name) <= LONGEST or any(not 0 < len(group) <= LONGEST for group in groups):
        raise Refused(f"users and groups have names of 1 to {LONGEST} characters, as certificates do")
    authority = read_pair((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
    assert authority is not None
    assert isinstance(authority.key, ec.EllipticCurvePrivateKey)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([*subject, x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFE)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Pair(certificate, key)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
