"""What becomes of a caBundle when a host appends its authority."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from polykind.pki.authority import make_authority
from polykind.toolkit.hosting import bundle

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def authority(name: str = "theirs", *, made: datetime = NOW, days: int = 100) -> bytes:
    return make_authority(name, made, timedelta(days=days)).certificate_pem


def test_ours_is_appended_to_what_is_there() -> None:
    theirs, ours = authority(), authority(bundle.OURS)
    assert bundle.merged(theirs, ours, b"", NOW) == theirs + ours


def test_what_is_there_already_is_left_as_it_stands() -> None:
    theirs, ours = authority(), authority(bundle.OURS)
    present = ours + b"\n\n" + theirs
    assert bundle.merged(present, ours, b"", NOW) == present


def test_what_has_expired_goes() -> None:
    theirs, ours = authority(days=1), authority(bundle.OURS)
    assert bundle.merged(theirs, ours, b"", NOW + timedelta(days=2)) == ours


def test_what_is_retired_goes() -> None:
    theirs, old, ours = authority(), authority(bundle.OURS), authority(bundle.OURS)
    assert bundle.merged(old + theirs + ours, ours, old, NOW) == theirs + ours


def test_another_replica_s_authority_stays() -> None:
    other, ours = authority(bundle.OURS), authority(bundle.OURS)
    assert bundle.merged(other, ours, b"", NOW) == other + ours


def test_what_is_no_certificate_goes_and_duplicates_too() -> None:
    theirs, ours = authority(), authority(bundle.OURS)
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    assert bundle.merged(broken + theirs + theirs + b"junk", ours, b"", NOW) == theirs + ours
    assert bundle.merged(b"junk" + ours, ours, b"", NOW) == ours


def test_of_too_many_hosts_the_oldest_go() -> None:
    hosts = [authority(bundle.OURS, made=NOW + timedelta(minutes=n)) for n in range(bundle.MOST)]
    theirs, ours = authority(), authority(bundle.OURS)
    merged = bundle.merged(theirs + b"".join(hosts), ours, b"", NOW)
    assert merged == theirs + b"".join(hosts[1:]) + ours


def test_containing() -> None:
    one, two = authority(), authority()
    assert bundle.contains(one + two, two)
    assert not bundle.contains(one, one + two)
    assert bundle.contains(one, b"")
