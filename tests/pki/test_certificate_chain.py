"""The verification of client certificates: which chains count, and why the others do not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from polykind.pki.certificate_chain import CertificateError, load_authorities, verify_client
from tests.support.certificates import ANY, CLIENT, NOW, SERVER, UNKNOWN_EXTENSION, Issued, issue, key_usage

ROOT = issue("root", ca=True)
OTHER = issue("root", ca=True)
"""An authority with the same name and another key."""
MIDDLE = issue("middle", ROOT, ca=True)
ALTERNATIVE_NAME = x509.SubjectAlternativeName([x509.DNSName("a.example.com")])
CONSTRAINED = issue("root", None, (x509.NameConstraints([x509.DNSName("b")], None), True), ca=True)


def check(*chain: Issued, roots: tuple[Issued, ...] = (ROOT,)) -> None:
    verify_client([issued.der for issued in chain], [root.certificate for root in roots], NOW)


@pytest.mark.parametrize(
    "chain",
    [
        [issue("a", ROOT)],
        [issue("a", ROOT, usages=[CLIENT])],
        [issue("a", ROOT, usages=[SERVER, ANY])],
        [issue("a", ROOT, (ALTERNATIVE_NAME, True))],
        [issue("a", ROOT, (UNKNOWN_EXTENSION, False))],
        [issue("a", ROOT, key=ed25519.Ed25519PrivateKey.generate())],
        [issue("a", ROOT, key=ec.generate_private_key(ec.SECP521R1()), digest=hashes.SHA512())],
        [issue("a", MIDDLE), MIDDLE],
        [issue("a", MIDDLE), OTHER, MIDDLE],
        [ROOT],
    ],
)
def test_valid_chain(chain: list[Issued]) -> None:
    check(*chain, roots=(OTHER, ROOT))


LEAF_AS_CA = issue("leaf", ROOT, ca=False)
NO_CONSTRAINTS = issue("leaf", ROOT)
NO_SIGNING = issue("leaf", ROOT, (key_usage(cert_sign=False), True), ca=True)
SHORT = issue("short", ROOT, ca=True, path_length=0)
EXPIRED_MIDDLE = issue("middle", ROOT, ca=True, days=(-2, -1))
SERVER_MIDDLE = issue("middle", ROOT, ca=True, usages=[SERVER])
BELOW_SHORT = issue("below", SHORT, ca=True)


@pytest.mark.parametrize(
    ("chain", "message"),
    [
        ([issue("a", OTHER)], "unknown authority"),
        ([issue("a")], "unknown authority"),
        ([issue("a", ca=True)], "unknown authority"),
        ([issue("a", MIDDLE)], "unknown authority"),
        ([issue("a", issue("middle", OTHER, ca=True)), MIDDLE], "unknown authority"),
        ([issue("a", LEAF_AS_CA), LEAF_AS_CA], "unknown authority"),
        ([issue("a", NO_CONSTRAINTS), NO_CONSTRAINTS], "unknown authority"),
        ([issue("a", NO_SIGNING), NO_SIGNING], "unknown authority"),
        ([issue("a", BELOW_SHORT), BELOW_SHORT, SHORT], "unknown authority"),
        ([issue("a", EXPIRED_MIDDLE), EXPIRED_MIDDLE], "unknown authority"),
        ([issue("a", SERVER_MIDDLE), SERVER_MIDDLE], "unknown authority"),
        ([issue("a", ROOT, days=(-2, -1))], "expired"),
        ([issue("a", ROOT, days=(1, 2))], "not yet valid"),
        ([issue("a", ROOT, usages=[SERVER])], "incompatible key usage"),
        ([issue("a", ROOT, (UNKNOWN_EXTENSION, True))], "unhandled critical extension 1.2.3.4"),
        ([issue("a", ROOT)] * 11, "more than 10"),
    ],
)
def test_invalid_chain(chain: list[Issued], message: str) -> None:
    with pytest.raises(CertificateError, match=message):
        check(*chain)


def test_short_path_allows_a_leaf() -> None:
    check(issue("a", SHORT), SHORT)


def test_short_keys_do_not_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    weak = issue("weak", ca=True, key=rsa.generate_private_key(65537, 1024))
    check(issue("a", weak), roots=(weak,))
    monkeypatch.setattr("polykind.pki.certificate_chain._MIN_RSA_BITS", 1025)
    with pytest.raises(CertificateError, match="unknown authority"):
        check(issue("a", weak), roots=(weak,))


def test_constrained_names() -> None:
    check(issue("a", CONSTRAINED), roots=(CONSTRAINED,))
    with pytest.raises(CertificateError, match="unknown authority"):
        check(issue("a", CONSTRAINED, (ALTERNATIVE_NAME, False)), roots=(CONSTRAINED,))


def test_number_of_signatures_is_bounded() -> None:
    names = [issue("x", issue("x", ca=True), ca=True) for _ in range(9)]
    with pytest.raises(CertificateError, match=r"too many possible chains|unknown authority"):
        check(issue("a", names[0]), *names, roots=tuple(issue("x", ca=True) for _ in range(40)))


def test_time_is_that_of_the_whole_chain() -> None:
    middle = issue("middle", ROOT, ca=True, days=(-0.5, 0.25))
    found = verify_client([issue("a", middle).der, middle.der], [ROOT.certificate], NOW)
    assert (found.valid_from, found.valid_until) == (NOW - timedelta(days=0.5), NOW + timedelta(days=0.25))


def test_damaged_certificate_is_rejected() -> None:
    with pytest.raises(CertificateError, match="cannot parse"):
        verify_client([b"0"], [ROOT.certificate], NOW)


def test_bundle_without_certificates_is_invalid() -> None:
    assert len(load_authorities(ROOT.pem + OTHER.pem)) == 2
    with pytest.raises(ValueError, match="PEM"):
        load_authorities(b"nothing")
