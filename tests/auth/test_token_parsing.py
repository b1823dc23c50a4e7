from __future__ import annotations

import base64
import json

import pytest

from polykind.auth.token_parsing import MalformedTokenError, decode_segment, read_header, read_segment, read_strictly


def part(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


def token(header: str, claims: str = "{}") -> str:
    return f"{part(header)}.{part(claims)}.{part('signature')}"


def test_each_byte_string_has_one_spelling() -> None:
    for data in (b"a", b"ab", b"abc", b"\xff\xfe"):
        text = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        assert decode_segment(text) == data


@pytest.mark.parametrize("text", ["YQ==", "YQ=", "YR", "YWJ", "Y!Q", " YQ", "Y\nQ", "Y", "+/+/", "YQé"])
def test_other_spellings_are_refused(text: str) -> None:
    assert decode_segment(text) == b""


def test_header_of_a_token() -> None:
    header = read_header(token('{"alg":"RS256","kid":"k"}'))
    assert header == ("RS256", "k", True)


@pytest.mark.parametrize(
    ("fields", "supported"),
    [
        ({}, True),
        ({"crit": None}, True),
        ({"crit": ["b64"], "b64": True}, True),
        ({"crit": ["b64"], "b64": False}, False),
        ({"b64": False}, False),
        ({"crit": ["exp"], "exp": 1}, False),
        ({"crit": "exp"}, False),
        ({"crit": {}}, False),
    ],
)
def test_critical_extensions_are_not_supported(fields: dict[str, object], supported: bool) -> None:
    assert read_header(token(json.dumps({"alg": "RS256", **fields}))).supported is supported


@pytest.mark.parametrize(
    "header",
    [
        '{"jwk":{}}',
        '{"jwk":7}',
        '{"x5c":["a"]}',
        '{"x5c":7}',
        '{"alg":1}',
        '{"kid":{}}',
        '{"alg":"RS256","alg":"none"}',
        "[]",
        "1",
        "",
        "{" * 2000,
        '{"a":' * 1000,
    ],
)
def test_malformed_headers(header: str) -> None:
    with pytest.raises(MalformedTokenError):
        read_header(token(header))


def test_signature_must_be_base64() -> None:
    with pytest.raises(MalformedTokenError):
        read_header(token("{}") + "=")


def test_repeated_claims_are_refused_only_when_reading_strictly() -> None:
    repeated = token("{}", '{"iss":"a","iss":"b"}')
    assert read_segment(repeated, 1) == {"iss": "b"}
    with pytest.raises(MalformedTokenError):
        read_strictly(repeated, 1)
