"""The users of client certificates, and how long a verification counts."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path

import pytest

from polykind.auth.client_certificates import ClientCertificates, RejectedCertificateError
from polykind.auth.user import User
from polykind.pki.user_registry import UserRegistry
from tests.support.certificates import NOW, issue, name

ROOT = issue("root", ca=True)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "ca.pem").write_bytes(ROOT.pem)
    return tmp_path / "ca.pem"


def test_subject_is_the_user(bundle: Path) -> None:
    issued = issue(name("bob", "dev", "ops", uids=["7"]), ROOT)
    user = ClientCertificates(bundle, UserRegistry(bundle.parent), lambda: NOW).user((issued.der,))
    assert user == User("bob", "7", ("dev", "ops", "system:authenticated"), user.extra if user else {})
    assert user is not None
    digest = hashlib.sha256(issued.der).hexdigest()
    assert user.extra == {"authentication.kubernetes.io/credential-id": (f"X509SHA256={digest}",)}


def test_anonymous_user_of_a_certificate_is_not_authenticated(bundle: Path) -> None:
    user = ClientCertificates(bundle, UserRegistry(bundle.parent), lambda: NOW).user(
        (issue("system:anonymous", ROOT).der,)
    )
    assert user is not None
    assert user.groups == ()


def test_certificate_without_a_common_name_names_no_user(bundle: Path) -> None:
    certificates = ClientCertificates(bundle, UserRegistry(bundle.parent), lambda: NOW)
    assert certificates.user((issue(name(None, "dev"), ROOT).der,)) is None


@pytest.mark.parametrize("uids", [["1", "2"], [""]])
def test_invalid_uid_is_rejected(bundle: Path, uids: list[str]) -> None:
    certificates = ClientCertificates(bundle, UserRegistry(bundle.parent), lambda: NOW)
    with pytest.raises(RejectedCertificateError, match="uid"):
        certificates.user((issue(name("bob", uids=uids), ROOT).der,))


def test_expired_certificate_is_rejected_although_it_was_valid(bundle: Path) -> None:
    now = NOW
    certificates = ClientCertificates(bundle, UserRegistry(bundle.parent), lambda: now)
    chain = (issue("bob", ROOT).der,)
    assert certificates.user(chain) is certificates.user(chain)
    now = NOW + timedelta(days=2)
    with pytest.raises(RejectedCertificateError, match="expired"):
        certificates.user(chain)


def test_rejected_certificate_can_become_valid(bundle: Path) -> None:
    now = NOW
    certificates = ClientCertificates(bundle, UserRegistry(bundle.parent), lambda: now)
    chain = (issue("bob", ROOT, days=(0.5, 1)).der,)
    for _ in range(2):
        with pytest.raises(RejectedCertificateError, match="not yet valid"):
            certificates.user(chain)
    now = NOW + timedelta(days=0.6)
    assert certificates.user(chain) is not None


def test_reload_forgets_removed_authorities(bundle: Path) -> None:
    certificates = ClientCertificates(bundle, UserRegistry(bundle.parent), lambda: NOW)
    chain = (issue("bob", ROOT).der,)
    assert certificates.user(chain) is not None
    bundle.write_bytes(b"damaged")
    with pytest.raises((ValueError, OSError)):
        certificates.reload()
    assert certificates.user(chain) is not None
    bundle.write_bytes(issue("other", ca=True).pem)
    certificates.reload()
    with pytest.raises(RejectedCertificateError, match="unknown authority"):
        certificates.user(chain)
