"""Parsing of certificate requests and certificates, with Go's messages."""

from __future__ import annotations

import base64

import pytest

from polykind.apis.certificates.request_parsing import certificate_error, organizations, parse_request, request_error
from tests.apis.certificates.requests import certificate_request, encode_block, with_broken_signature


def test_a_signed_request_is_valid() -> None:
    assert request_error(certificate_request()) == ""
    assert organizations(parse_request(certificate_request("system:masters"))) == ["system:masters"]


@pytest.mark.parametrize(
    ("encoded", "error"),
    [
        ("", "PEM block type must be CERTIFICATE REQUEST"),
        (base64.b64encode(b"text").decode(), "PEM block type must be CERTIFICATE REQUEST"),
        (encode_block("CERTIFICATE", b""), "PEM block type must be CERTIFICATE REQUEST"),
        (encode_block("CERTIFICATE REQUEST", b""), "asn1: syntax error: sequence truncated"),
        (encode_block("CERTIFICATE REQUEST", b"\x30\x01"), "asn1: syntax error: data truncated"),
    ],
)
def test_malformed_requests(encoded: str, error: str) -> None:
    assert request_error(encoded) == error


def test_a_request_must_be_signed_with_its_own_key() -> None:
    assert request_error(with_broken_signature(certificate_request())) == "x509: ECDSA verification failure"


@pytest.mark.parametrize(
    ("encoded", "error"),
    [
        ("", ""),
        (base64.b64encode(b"text").decode(), "must contain at least one CERTIFICATE PEM block"),
        (encode_block("KEY", b""), 'only CERTIFICATE PEM blocks are allowed, found "KEY"'),
        (encode_block("CERTIFICATE", b""), "found CERTIFICATE PEM block containing 0 certificates"),
        (encode_block("CERTIFICATE", b"\x30\x00"), "x509: malformed certificate"),
    ],
)
def test_certificates(encoded: str, error: str) -> None:
    assert certificate_error(encoded) == error
