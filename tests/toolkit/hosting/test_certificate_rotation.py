"""Rotation of CAs and serving certificates over time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from polykind.pki.authority import serves
from polykind.toolkit.hosting import trust_bundle
from polykind.toolkit.hosting.certificate_store import FILES, CertificateSet, renew_certificates

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ["converter.crontabs.svc", "127.0.0.1"]


def at(
    days: float, files: CertificateSet | None = None, *, settled: bool = False, rotate: bool = False
) -> CertificateSet:
    now = NOW + timedelta(days=days)
    return renew_certificates(files.files if files else {}, NAMES, now, is_trusted=lambda _: settled, rotate=rotate)


def authorities(pem: bytes) -> list[x509.Certificate]:
    return trust_bundle.parse_certificates(pem)


def is_trusted_by_bundle(first: CertificateSet) -> bool:
    """True if the serving certificate was issued by a CA in the bundle."""
    return any(serves(first.serving.certificate, one, NAMES) for one in authorities(first.ca_bundle))


def test_first_call_creates_ca_and_certificate() -> None:
    first = at(0)
    assert sorted(first.files) == ["authority.pem", "ca.crt", "serving.pem"]
    assert is_trusted_by_bundle(first)
    assert first.serving.certificate.not_valid_after_utc == NOW + timedelta(days=90)


def test_second_call_changes_nothing() -> None:
    first = at(0)
    assert at(59, first).files == first.files


def test_serving_certificate_is_renewed_by_the_same_ca() -> None:
    first = at(0)
    later = at(61, first)
    assert later.serving.certificate != first.serving.certificate
    assert later.ca_bundle == first.ca_bundle
    assert is_trusted_by_bundle(later)


def test_new_name_needs_a_new_certificate() -> None:
    first = at(0)
    later = renew_certificates(first.files, [*NAMES, "other"], NOW, is_trusted=lambda _: False)
    assert (later.ca_bundle, later.serving.certificate == first.serving.certificate) == (first.ca_bundle, False)


def test_new_ca_is_bundled_before_it_is_served() -> None:
    first = at(0)
    rotating = at(10, first, rotate=True)
    assert len(authorities(rotating.ca_bundle)) == 2
    assert authorities(first.ca_bundle)[0] in authorities(rotating.ca_bundle)
    assert rotating.serving.certificate == first.serving.certificate
    assert at(11, rotating, rotate=True).ca_bundle == rotating.ca_bundle


def test_trusted_ca_is_served_and_the_old_one_stays_bundled() -> None:
    first = at(0)
    swapped = at(10, at(10, first, rotate=True), settled=True)
    old, new = authorities(first.ca_bundle)[0], authorities(swapped.ca_bundle)[0]
    assert serves(swapped.serving.certificate, new, NAMES)
    assert authorities(swapped.ca_bundle) == [new, old]
    assert swapped.retired == b""
    dropped = at(12.1, swapped)
    assert authorities(dropped.ca_bundle) == [new]
    assert authorities(dropped.retired) == [old]
    assert dropped.serving.certificate == swapped.serving.certificate


def test_ca_is_rotated_a_year_before_expiry() -> None:
    first = at(0)
    assert len(authorities(at(4 * 365 - 1, first).ca_bundle)) == 1
    assert len(authorities(at(4 * 365 + 1, first).ca_bundle)) == 2


def test_serving_certificate_never_outlives_its_ca() -> None:
    first = at(0)
    late = at(5 * 365 - 40, at(4 * 365 + 1, first))
    assert late.serving.certificate.not_valid_after_utc == NOW + timedelta(days=5 * 365)


def test_expired_ca_is_replaced_at_once() -> None:
    first = at(0)
    later = at(6 * 365, first)
    assert authorities(later.ca_bundle) != authorities(first.ca_bundle)
    assert is_trusted_by_bundle(later)


@pytest.mark.parametrize("name", ["authority.pem", "serving.pem", "ca.crt"])
@pytest.mark.parametrize("data", [b"", b"nonsense"])
def test_missing_or_broken_files_are_recreated(name: str, data: bytes) -> None:
    first = at(0)
    recreated = renew_certificates({**first.files, name: data}, NAMES, NOW, is_trusted=lambda _: False)
    assert is_trusted_by_bundle(recreated)
    assert (recreated.ca_bundle == first.ca_bundle) == (name != "authority.pem")


def test_interrupted_rotation_continues() -> None:
    first = at(0)
    rotating = at(10, first, rotate=True)
    swapped = at(10, rotating, settled=True)
    written = dict(rotating.files)
    for name in FILES[:2]:
        written[name] = swapped.files[name]
        recreated = renew_certificates(written, NAMES, NOW + timedelta(days=10), is_trusted=lambda _: True)
        assert is_trusted_by_bundle(recreated)
        assert set(authorities(recreated.ca_bundle)) == set(authorities(swapped.ca_bundle))
        assert sorted(recreated.files) == sorted(swapped.files)
