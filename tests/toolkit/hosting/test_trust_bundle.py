"""Merging of a host's CA into a caBundle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from polykind.pki.authority import make_authority
from polykind.toolkit.hosting import trust_bundle

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def authority(name: str = "theirs", *, made: datetime = NOW, days: int = 100) -> bytes:
    return make_authority(name, made, timedelta(days=days)).certificate_pem


def test_host_ca_is_appended() -> None:
    theirs, ours = authority(), authority(trust_bundle.HOST_CA_NAME)
    assert trust_bundle.merge_bundles(theirs, ours, b"", NOW) == theirs + ours


def test_present_ca_changes_nothing() -> None:
    theirs, ours = authority(), authority(trust_bundle.HOST_CA_NAME)
    present = ours + b"\n\n" + theirs
    assert trust_bundle.merge_bundles(present, ours, b"", NOW) == present


def test_expired_certificates_are_removed() -> None:
    theirs, ours = authority(days=1), authority(trust_bundle.HOST_CA_NAME)
    assert trust_bundle.merge_bundles(theirs, ours, b"", NOW + timedelta(days=2)) == ours


def test_retired_certificates_are_removed() -> None:
    theirs, old, ours = authority(), authority(trust_bundle.HOST_CA_NAME), authority(trust_bundle.HOST_CA_NAME)
    assert trust_bundle.merge_bundles(old + theirs + ours, ours, old, NOW) == theirs + ours


def test_ca_of_another_replica_is_kept() -> None:
    other, ours = authority(trust_bundle.HOST_CA_NAME), authority(trust_bundle.HOST_CA_NAME)
    assert trust_bundle.merge_bundles(other, ours, b"", NOW) == other + ours


def test_garbage_and_duplicates_are_removed() -> None:
    theirs, ours = authority(), authority(trust_bundle.HOST_CA_NAME)
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    assert trust_bundle.merge_bundles(broken + theirs + theirs + b"junk", ours, b"", NOW) == theirs + ours
    assert trust_bundle.merge_bundles(b"junk" + ours, ours, b"", NOW) == ours


def test_oldest_host_cas_are_removed() -> None:
    hosts = [
        authority(trust_bundle.HOST_CA_NAME, made=NOW + timedelta(minutes=n)) for n in range(trust_bundle.MAX_HOST_CAS)
    ]
    theirs, ours = authority(), authority(trust_bundle.HOST_CA_NAME)
    merged = trust_bundle.merge_bundles(theirs + b"".join(hosts), ours, b"", NOW)
    assert merged == theirs + b"".join(hosts[1:]) + ours


def test_contains() -> None:
    one, two = authority(), authority()
    assert trust_bundle.contains(one + two, two)
    assert not trust_bundle.contains(one, one + two)
    assert trust_bundle.contains(one, b"")
