from __future__ import annotations

from typing import Any

import pytest
import trustme

from polykind.crd.ca_bundle import ca_bundle_error
from polykind.golang.base64 import encode_base64
from polykind.golang.url import URLError, parse_url
from tests.crd.build import create_errors

AT = "spec.conversion."


def webhook(**client: Any) -> dict[str, Any]:
    return {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}


@pytest.mark.parametrize(
    ("conversion", "texts"),
    [
        ({"strategy": "None"}, []),
        ({"strategy": ""}, ["strategy: Required value"]),
        ({"strategy": "Magic"}, ['strategy: Unsupported value: "Magic": supported values: "None", "Webhook"']),
        (
            {"strategy": "Webhook"},
            [
                "webhookClientConfig: Required value: required when strategy is set to Webhook",
                "conversionReviewVersions: Required value",
            ],
        ),
        (
            {**webhook(url="https://x"), "strategy": "None"},
            [
                "webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
                "conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        ),
        (webhook(), ["webhookClientConfig: Required value: exactly one of url or service is required"]),
        (
            webhook(url="http://me@x/y?z=1#w"),
            [
                "webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; "
                "desired format: https://host[/path]",
                'webhookClientConfig.url: Invalid value: "me": user information is not permitted in the URL',
                'webhookClientConfig.url: Invalid value: "w": fragments are not permitted in the URL',
                'webhookClientConfig.url: Invalid value: "z=1": query parameters are not permitted in the URL',
            ],
        ),
        (
            webhook(service={"name": "", "namespace": "b", "port": 0, "path": "/a//B"}),
            [
                "webhookClientConfig.service.namespace: Required value",
                "webhookClientConfig.service.port: Invalid value: 0: "
                "port is not valid: must be between 1 and 65535, inclusive",
                'webhookClientConfig.service.path: Invalid value: "/a//B": segment[1] may not be empty',
                'webhookClientConfig.service.path: Invalid value: "/a//B": segment[2]: a lowercase RFC 1123 subdomain '
                "must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an "
                "alphanumeric character (e.g. 'example.com', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ],
        ),
    ],
)
def test_conversion(conversion: dict[str, Any], texts: list[str]) -> None:
    assert create_errors(conversion=conversion) == [AT + text for text in texts]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (":", 'parse ":": missing protocol scheme'),
        ("https://a b", 'parse "https://a b": invalid character " " in host name'),
        ("https://a:b", 'parse "https://a:b": invalid port ":b" after host'),
        ("https://%zz/", 'parse "https://%zz/": invalid URL escape "%zz"'),
        ("https://h/\x01", 'parse "https://h/\\x01": net/url: invalid control character in URL'),
        ("1:2", 'parse "1:2": first path segment in URL cannot contain colon'),
        ("https://[::1", "parse \"https://[::1\": missing ']' in host"),
    ],
)
def test_invalid_url_has_go_message(text: str, why: str) -> None:
    with pytest.raises(URLError) as refused:
        parse_url(text)
    assert str(refused.value) == why


def test_parse_url() -> None:
    assert parse_url("HTTPS://u:p@h:1/p?q#f") == ("https", "h:1", "u:p", "q", "f")
    assert parse_url("mailto:x") == ("mailto", "", None, "", "")
    assert parse_url("//h/x").host == "h"
    assert parse_url("x").host == ""
    with pytest.raises(URLError, match="invalid URI for request"):
        parse_url("x", request=True)


def test_ca_bundles() -> None:
    authority = trustme.CA().cert_pem.bytes()
    assert ca_bundle_error(None) is None
    assert ca_bundle_error(encode_base64(authority)) is None
    assert ca_bundle_error(encode_base64(b"# ours\n" + authority + authority)) is None
    load = "unable to load root certificates: "
    assert ca_bundle_error(encode_base64(b"nothing")) == load + "unable to parse bytes as PEM block"
    key = b"-----BEGIN EC PRIVATE KEY-----\nbm90\n-----END EC PRIVATE KEY-----\n"
    assert ca_bundle_error(encode_base64(key)) == load + "no valid certificate authority data seen"
    broken = b"-----BEGIN CERTIFICATE-----\nbm90\n-----END CERTIFICATE-----\n"
    assert ca_bundle_error(encode_base64(broken)) == load + "failed to parse certificate: x509: malformed certificate"
