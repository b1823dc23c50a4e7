"""Parsing of certificate requests and certificates, with Go's messages."""

from __future__ import annotations

import base64

import pytest

from polykind.apis.certificates.request_parsing import certificate_error, organizations, parse_request, request_error
from tests.apis.certificates.requests import certificate_request, encode_block, with_broken_signature

ECDSA_SHA1 = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIRk1HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlxR1NNNDlB"
    "Z0VHQ0NxR1NNNDlBd0VIQTBJQQpCRVRKbWhBNlBTQmJEdVd3U3NKOFJ4R3pWdXNqUUU0dUFMUHJCUkllL09laVpMazhDdGViclZYWVdhNzBI"
    "QUhsCjYwN3RMY0xLdW9oZUN1bkRxV3lrc0tpZ0FEQUpCZ2NxaGtqT1BRUUJBMGdBTUVVQ0lRQ21tUDBNa0pPWVBBTncKbk1lQm8wVFZwZGJw"
    "blBhS1RPREp6VzdPbkZzbDNnSWdmNUlWV1Q1bzd5c0d0V0lobk0zM0NZa1lFVjAxTFBydQpLV016SkROaXJIRT0KLS0tLS1FTkQgQ0VSVElG"
    "SUNBVEUgUkVRVUVTVC0tLS0tCg=="
)
RSA_SHA1 = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQlN6Q0J0UUlCQURBTU1Rb3dDQVlEVlFRRERBRjRNSUdmTUEwR0NTcUdT"
    "SWIzRFFFQkFRVUFBNEdOQURDQgppUUtCZ1FESHR2TktlcElWc05ISG40NituZnVQSUhVdDZmSFdiWTBJWFcrZ2kzQTBWSnhoSkhNQmo2U3VV"
    "VHhICm5lUXFvYTF2SWxBZkp1aldpWi9PakJQRTJkNHNWNWF1RlNlaGdvQmhKZW5ReC9OUVF1QThOdEFObE1TWFU4ZEoKaTBVR3llZzhNcVFw"
    "WFBQdmJWVy9NUUlyR3V1WHpkOGVIWlcxNEdKTTIzYk1GOEdyM1FJREFRQUJvQUF3RFFZSgpLb1pJaHZjTkFRRUZCUUFEZ1lFQVZkMGkyRXB2"
    "QVIwaGxXNjJUQU5tNzdIazVPMm91c2FhNElVZlUyVU1GdC9kCnVLQ0F5VG5pNE9scnV1eDMzRURxS2g1eVl4cG5uYjkzNUJPdUt1d2gzV0da"
    "YmhnNG5NSGlKcDdsYTRVWUxrOVcKVXhQSFpacHh3eXp5ZnV4bDNqRE9VOXV3VGpId0FINE5JWElzbFhOeGRZNEhWellBTmFsQ0lwWEpHWVRU"
    "SFhFPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
)
RSA_MD5 = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQlN6Q0J0UUlCQURBTU1Rb3dDQVlEVlFRRERBRjRNSUdmTUEwR0NTcUdT"
    "SWIzRFFFQkFRVUFBNEdOQURDQgppUUtCZ1FEUTBtanJTMm1zNWtvNzJ1Z3hQTllxY3MvbElQV2hmYVBIOUpwWU81eWtUaEdYV0JldFl1WVo4"
    "a3huCkZXWW1kNGk4VTUxdlBqTVFZZnVzUkk1RnJGOHpiZHNka216YklaOHJ5R2x0T0VwR2Rub0wydXdRdkxTUkdzQjkKZ3lEcUpvVTRldEpj"
    "V2ZyL3lzM0xWcWFta3FPc2gzQnZraVpXMFF6ZUVzTXZKRkdqUHdJREFRQUJvQUF3RFFZSgpLb1pJaHZjTkFRRUVCUUFEZ1lFQWNFYUZxUSs2"
    "bEtIZ3hzWHJ4MEMwYXF3SDdlMzVjcjBXbS9TRDNzUGFOQi9KCmlUK3BSREJhQjdIaGtNL2lWRDJSbCtraU95ZUhGVm1uTFZYVE90SVNrK3dw"
    "Q1ZUQ203MXlydkx6Q29lWjhyYUMKeDFaa0NRWDRtR3IvOGcxZDgxdXhxK3dWZ25OejdDL2N1ei8wZS9jeWlGbkxpWWFxVGs5d1FDeWNKVkhB"
    "M0s4PQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
)
ECDSA_SHA224 = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIR01HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlxR1NNNDlB"
    "Z0VHQ0NxR1NNNDlBd0VIQTBJQQpCQ21QSVlXelNzVktDVFNTQ2p6VlVwUFJjZXpTZWRyeVprV1FCUmtGS1dXSWpNdzkzUHpWL3VNZGdvNEJP"
    "d1R3CjFOOHJFZWpMeEkrN1M3Ymx5S085Sm9HZ0FEQUtCZ2dxaGtqT1BRUURBUU5JQURCRkFpQkdjdWF1dDJ1T09jQSsKVzF1Qm9hbitwVXJD"
    "ZFZMWmRrOTY1YnVhVEVLdHJ3SWhBSzIrb1AxSWIyVGREZHcwTi9lMHdFdVZ2YWdRclZGMwpLVVhWMzBEUnJFV3gKLS0tLS1FTkQgQ0VSVElG"
    "SUNBVEUgUkVRVUVTVC0tLS0tCg=="
)


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
        (ECDSA_SHA1, ""),
        (RSA_SHA1, ""),
        (with_broken_signature(ECDSA_SHA1), "x509: ECDSA verification failure"),
        (with_broken_signature(RSA_SHA1), "crypto/rsa: verification error"),
        (RSA_MD5, "x509: cannot verify signature: insecure algorithm MD5-RSA"),
        (ECDSA_SHA224, "x509: cannot verify signature: algorithm unimplemented"),
    ],
)
def test_signature_algorithms(encoded: str, error: str) -> None:
    assert request_error(encoded) == error


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
