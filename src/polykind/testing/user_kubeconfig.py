"""Users beside the admin: each by a client certificate of the server's own authority, which every client can show."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from polykind.pki.authority import KeyPair, make_client, read_pair
from polykind.pki.kubeconfig import to_base64, write_kubeconfig
from polykind.testing.exceptions import Refused

_LIFETIME = timedelta(days=1)
_MAX_LENGTH = 64
"""Characters that the name in a certificate may have."""
_SERVICE_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):[^:]+")


def write_user_kubeconfig(file: Path, url: str, pki: Path, name: str, groups: Iterable[str]) -> None:
    """A kubeconfig for a user. Raises Refused."""
    pair = _make_certificate(pki, name, [*groups, *_service_account_groups(name)])
    user = {"client-certificate-data": to_base64(pair.certificate_pem), "client-key-data": to_base64(pair.key_pem)}
    write_kubeconfig(file, url, (pki / "ca.crt").read_bytes(), name, user)


def _service_account_groups(name: str) -> list[str]:
    """The groups that a service account is in by its name."""
    found = _SERVICE_ACCOUNT.fullmatch(name)
    return ["system:serviceaccounts", f"system:serviceaccounts:{found[1]}"] if found else []


def _make_certificate(pki: Path, name: str, groups: list[str]) -> KeyPair:
    if not 0 < len(name) <= _MAX_LENGTH or any(not 0 < len(group) <= _MAX_LENGTH for group in groups):
        raise Refused(f"users and groups have names of 1 to {_MAX_LENGTH} characters, as certificates do")
    authority = read_pair((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
    assert authority is not None
    return make_client(authority, name, groups, datetime.now(UTC), _LIFETIME)
