"""The certificates of the first start, and of those after it."""

from __future__ import annotations

import ssl
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from polykind.pki import authority, serving_certificates

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ["localhost", "127.0.0.1", "::1"]
FILES = ["apiserver.crt", "apiserver.key", "ca.crt", "ca.key"]


def contents(folder: Path) -> dict[str, bytes]:
    """Of the certificates and their keys."""
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name != "known.json"}


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    return sorted(n for n in after if before.get(n) != after[n])


def usable(folder: Path) -> x509.Certificate:
    """Check that the pair can be served, and was issued by the CA beside it."""
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(folder / "apiserver.crt", folder / "apiserver.key")
    certificate = x509.load_pem_x509_certificate((folder / "apiserver.crt").read_bytes())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate((folder / "ca.crt").read_bytes()))
    return certificate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "deep" / "pki"
    serving_certificates.ensure(folder, NAMES, NOW)
    return folder


def test_the_first_start_makes_a_ca_and_a_serving_certificate_for_the_owner_alone(folder: Path) -> None:
    assert sorted(contents(folder)) == FILES
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    alternative = usable(folder).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert alternative.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(a) for a in alternative.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_another_start_changes_nothing(folder: Path) -> None:
    before = contents(folder)
    paths = serving_certificates.ensure(folder, ["localhost"], NOW + timedelta(days=300))
    assert contents(folder) == before
    assert [p.name for p in paths] == ["apiserver.crt", "apiserver.key", "ca.crt"]


@pytest.mark.parametrize("days", [340, 365, 3000])
def test_a_serving_certificate_is_renewed_before_it_expires_under_the_same_ca(folder: Path, days: int) -> None:
    before, now = contents(folder), NOW + timedelta(days=days)
    serving_certificates.ensure(folder, NAMES, now)
    assert changed(before, contents(folder)) == ["apiserver.crt", "apiserver.key"]
    assert usable(folder).not_valid_after_utc > now + timedelta(days=300)


def test_a_ca_is_renewed_before_it_expires(folder: Path) -> None:
    before = contents(folder)
    serving_certificates.ensure(folder, NAMES, NOW + timedelta(days=3640))
    assert changed(before, contents(folder)) == FILES
    usable(folder)


def test_a_new_name_takes_a_new_certificate(folder: Path) -> None:
    before = contents(folder)
    serving_certificates.ensure(folder, [*NAMES, "10.0.0.1"], NOW)
    assert changed(before, contents(folder)) == ["apiserver.crt", "apiserver.key"]
    usable(folder)


@pytest.mark.parametrize(
    ("name", "data", "anew"),
    [
        ("apiserver.key", None, 2),
        ("apiserver.crt", None, 2),
        ("apiserver.crt", b"nonsense", 2),
        ("apiserver.key", b"", 2),
        ("ca.key", None, 4),
        ("ca.crt", None, 4),
        ("ca.crt", b"nonsense", 4),
    ],
)
def test_what_is_missing_or_broken_is_made_anew(folder: Path, name: str, data: bytes | None, anew: int) -> None:
    before = contents(folder)
    if data is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(data)
    serving_certificates.ensure(folder, NAMES, NOW)
    assert len(changed(before, contents(folder))) == anew
    usable(folder)


@pytest.mark.parametrize("pair", ["ca", "apiserver"])
def test_a_start_that_was_cut_short_between_key_and_certificate(folder: Path, tmp_path: Path, pair: str) -> None:
    other = tmp_path / "other"
    serving_certificates.ensure(other, NAMES, NOW)
    (folder / f"{pair}.key").write_bytes((other / f"{pair}.key").read_bytes())
    serving_certificates.ensure(folder, NAMES, NOW)
    usable(folder)


def test_a_certificate_of_another_ca_is_replaced(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    serving_certificates.ensure(other, NAMES, NOW)
    for name in ("ca.key", "ca.crt"):
        (folder / name).write_bytes((other / name).read_bytes())
    serving_certificates.ensure(folder, NAMES, NOW)
    usable(folder)


def test_what_was_found_good_is_not_looked_at_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authority, "issue", lambda *_: pytest.fail("looked at"))
    serving_certificates.ensure(folder, NAMES, NOW + timedelta(days=300))


@pytest.mark.parametrize("known", [b"", b"{}", b"[]", b'{"digest": 1, "names": 2, "until": "never"}'])
def test_what_is_known_may_be_broken(folder: Path, known: bytes) -> None:
    before = contents(folder)
    good = (folder / "known.json").read_bytes()
    (folder / "known.json").write_bytes(known)
    serving_certificates.ensure(folder, NAMES, NOW)
    assert contents(folder) == before
    assert (folder / "known.json").read_bytes() == good


def test_good_certificates_may_lie_where_nobody_may_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, data: bytes) -> None:
        raise PermissionError(path)

    (folder / "known.json").unlink()
    before = contents(folder)
    monkeypatch.setattr(serving_certificates, "write_private", refused)
    serving_certificates.ensure(folder, NAMES, NOW)
    assert contents(folder) == before
