"""Kubeconfigs for any user, with client certificates that the server's CA signs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from polykind.pki.authority import KeyPair, make_client, read_pair
from polykind.pki.private_files import to_base64, write_kubeconfig
from polykind.testing.exceptions import Refused

_LIFETIME = timedelta(days=1)
_MAX_LENGTH = 64
"""The maximum length of a user or group name in a certificate's subject."""
_SERVICE_ACCOUNT = re.compile(r"system:serviceaccount:([^:]+):[^:]+")


def write_user_kubeconfig(file: Path, url: str, pki: Path, name: str, groups: Iterable[str]) -> None:
    """Write a kubeconfig for the server at `url`, with a client certificate for the user `name` and its groups.

    `pki` is the directory with the server's CA. Raise Refused if the name of the user or of a group is invalid.
    """
    pair = _make_certificate(pki, name, [*groups, *_service_account_groups(name)])
    user = {"client-certificate-data": to_base64(pair.certificate_pem), "client-key-data": to_base64(pair.key_pem)}
    write_kubeconfig(file, url, (pki / "ca.crt").read_bytes(), name, user)


def _service_account_groups(name: str) -> list[str]:
    """Return the groups that Kubernetes derives from a service account's name."""
    found = _SERVICE_ACCOUNT.fullmatch(name)
    return ["system:serviceaccounts", f"system:serviceaccounts:{found[1]}"] if found else []


def _make_certificate(pki: Path, name: str, groups: list[str]) -> KeyPair:
    if not 0 < len(name) <= _MAX_LENGTH or any(not 0 < len(group) <= _MAX_LENGTH for group in groups):
        raise Refused(f"names of users and groups must have 1 to {_MAX_LENGTH} characters, as in certificates")
    ca = read_pair((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
    assert ca is not None
    return make_client(ca, name, groups, datetime.now(UTC), _LIFETIME)
