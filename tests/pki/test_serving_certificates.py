"""The server's certificates: creation, renewal and replacement."""

from __future__ import annotations

import ssl
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from polykind.pki import authority, serving_certificates

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ["localhost", "127.0.0.1", "::1"]
FILES = ["apiserver.crt", "apiserver.key", "ca.crt", "ca.key"]


def contents(directory: Path) -> dict[str, bytes]:
    """Return the certificates and keys, by file name."""
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.name != "known.json"}


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    return sorted(n for n in after if before.get(n) != after[n])


def check_usable(directory: Path) -> x509.Certificate:
    """Check that the certificate can be served and was issued by the CA in the same directory. Return it."""
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(directory / "apiserver.crt", directory / "apiserver.key")
    certificate = x509.load_pem_x509_certificate((directory / "apiserver.crt").read_bytes())
    certificate.verify_directly_issued_by(x509.load_pem_x509_certificate((directory / "ca.crt").read_bytes()))
    return certificate


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    directory = tmp_path / "deep" / "pki"
    serving_certificates.ensure(directory, NAMES, NOW)
    return directory


def test_first_start_creates_certificates_readable_by_the_owner_only(directory: Path) -> None:
    assert sorted(contents(directory)) == FILES
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(p.stat().st_mode) for p in directory.iterdir()} == {0o600}
    alternative = check_usable(directory).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert alternative.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(a) for a in alternative.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_second_start_changes_nothing(directory: Path) -> None:
    before = contents(directory)
    paths = serving_certificates.ensure(directory, ["localhost"], NOW + timedelta(days=300))
    assert contents(directory) == before
    assert [p.name for p in paths] == ["apiserver.crt", "apiserver.key", "ca.crt"]


@pytest.mark.parametrize("days", [340, 365, 3000])
def test_serving_certificate_is_renewed_with_the_same_ca(directory: Path, days: int) -> None:
    before, now = contents(directory), NOW + timedelta(days=days)
    serving_certificates.ensure(directory, NAMES, now)
    assert changed(before, contents(directory)) == ["apiserver.crt", "apiserver.key"]
    assert check_usable(directory).not_valid_after_utc > now + timedelta(days=300)


def test_ca_is_renewed_before_it_expires(directory: Path) -> None:
    before = contents(directory)
    serving_certificates.ensure(directory, NAMES, NOW + timedelta(days=3640))
    assert changed(before, contents(directory)) == FILES
    check_usable(directory)


def test_new_name_requires_a_new_certificate(directory: Path) -> None:
    before = contents(directory)
    serving_certificates.ensure(directory, [*NAMES, "10.0.0.1"], NOW)
    assert changed(before, contents(directory)) == ["apiserver.crt", "apiserver.key"]
    check_usable(directory)


@pytest.mark.parametrize(
    ("name", "data", "replaced"),
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
def test_missing_or_invalid_files_are_replaced(directory: Path, name: str, data: bytes | None, replaced: int) -> None:
    before = contents(directory)
    if data is None:
        (directory / name).unlink()
    else:
        (directory / name).write_bytes(data)
    serving_certificates.ensure(directory, NAMES, NOW)
    assert len(changed(before, contents(directory))) == replaced
    check_usable(directory)


@pytest.mark.parametrize("pair", ["ca", "apiserver"])
def test_key_without_its_certificate_is_replaced(directory: Path, tmp_path: Path, pair: str) -> None:
    other = tmp_path / "other"
    serving_certificates.ensure(other, NAMES, NOW)
    (directory / f"{pair}.key").write_bytes((other / f"{pair}.key").read_bytes())
    serving_certificates.ensure(directory, NAMES, NOW)
    check_usable(directory)


def test_certificate_of_another_ca_is_replaced(directory: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    serving_certificates.ensure(other, NAMES, NOW)
    for name in ("ca.key", "ca.crt"):
        (directory / name).write_bytes((other / name).read_bytes())
    serving_certificates.ensure(directory, NAMES, NOW)
    check_usable(directory)


def test_verified_certificates_are_not_verified_again(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(authority, "issue", lambda *_: pytest.fail("looked at"))
    serving_certificates.ensure(directory, NAMES, NOW + timedelta(days=300))


@pytest.mark.parametrize("verified", [b"", b"{}", b"[]", b'{"digest": 1, "names": 2, "until": "never"}'])
def test_invalid_verification_record_is_rewritten(directory: Path, verified: bytes) -> None:
    before = contents(directory)
    valid = (directory / "known.json").read_bytes()
    (directory / "known.json").write_bytes(verified)
    serving_certificates.ensure(directory, NAMES, NOW)
    assert contents(directory) == before
    assert (directory / "known.json").read_bytes() == valid


def test_certificates_can_be_in_a_read_only_directory(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(path: Path, data: bytes, *, durable: bool) -> None:
        raise PermissionError(path)

    (directory / "known.json").unlink()
    before = contents(directory)
    monkeypatch.setattr(serving_certificates, "write_private", read_only)
    serving_certificates.ensure(directory, NAMES, NOW)
    assert contents(directory) == before


def test_a_foreign_certificate_is_recognized_without_the_cryptography_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = authority.make_serving(authority.make_authority("envtest", NOW), NAMES, NOW)
    (tmp_path / "apiserver.crt").write_bytes(foreign.certificate_pem)
    (tmp_path / "apiserver.key").write_bytes(foreign.key_pem)
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "polykind.pki.authority", None)
        served = serving_certificates.ensure(tmp_path, NAMES, NOW)
    assert [path.name for path in served] == ["apiserver.crt", "apiserver.key", "apiserver.crt"]
    # A key of another certificate needs a closer look, which replaces both.
    (tmp_path / "apiserver.key").write_bytes(authority.make_authority("other", NOW).key_pem)
    served = serving_certificates.ensure(tmp_path, NAMES, NOW)
    assert served[2].name == "ca.crt"
    assert (tmp_path / "apiserver.crt").read_bytes() != foreign.certificate_pem
