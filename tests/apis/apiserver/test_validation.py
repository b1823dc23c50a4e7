"""Validation of AuthenticationConfiguration. The messages are those that kube-apiserver printed."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.auth.oidc.claim_expressions import validate_config

SERVICE_ACCOUNTS = ("https://kubernetes.default.svc",)
EMAIL = (
    'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": claims.email_verified must be used in '
    "claimMappings.username.expression or claimMappings.extra[*].valueExpression or "
    "claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"
)


def config(issuer: Any = None, mappings: Any = None, **rest: Any) -> dict[str, Any]:
    """Return a valid configuration with one authenticator, changed by the arguments."""
    authenticator = {
        "issuer": {"url": "https://a.example.com", "audiences": ["x"], **(issuer or {})},
        "claimMappings": {
            "username": {"claim": "sub", "prefix": ""}, "groups": {}, "uid": {}, **(mappings or {}),
        },
        **rest,
    }  # fmt: skip
    return {"jwt": [authenticator]}


def messages(configuration: dict[str, Any]) -> list[str]:
    return [str(error) for error in validate_config(configuration, SERVICE_ACCOUNTS)]


@pytest.mark.parametrize(
    "valid",
    [
        config(),
        config({"audiences": ["a", "b"], "audienceMatchPolicy": "MatchAny"}),
        config(mappings={"username": {"expression": "claims.email + string(claims.email_verified)"}}),
        config(
            mappings={"username": {"expression": "claims.?email.orValue('x')"}},
            claimValidationRules=[{"expression": "claims.email_verified == true"}],
        ),
        config(userValidationRules=[{"expression": "user.groups.all(g, g != 'x') && user.extra.size() == 0"}]),
        {"jwt": []},
        {"jwt": [], "anonymous": {"enabled": True, "conditions": [{"path": "/livez"}]}},
    ],
)
def test_valid_configurations(valid: dict[str, Any]) -> None:
    assert messages(valid) == []


@pytest.mark.parametrize(
    ("invalid", "expected"),
    [
        (
            config({"url": "http://a.example.com"}),
            ['jwt[0].issuer.url: Invalid value: "http://a.example.com": URL scheme must be https'],
        ),
        (
            config({"url": "https://u:p@a.example.com?x=1#f"}),
            [
                f'jwt[0].issuer.url: Invalid value: "https://u:p@a.example.com?x=1#f": URL must not contain a {part}'
                for part in ("username or password", "query", "fragment")
            ],
        ),
        (
            config({"url": SERVICE_ACCOUNTS[0]}),
            [
                'jwt[0].issuer.url: Invalid value: "https://kubernetes.default.svc": URL must not overlap with '
                "disallowed issuers: [https://kubernetes.default.svc]"
            ],
        ),
        (
            config({"discoveryURL": "https://a.example.com/"}),
            [
                'jwt[0].issuer.discoveryURL: Invalid value: "https://a.example.com/": '
                "discoveryURL must be different from URL"
            ],
        ),
        (
            config({"audiences": ["a", "b"]}),
            [
                'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": '
                "audienceMatchPolicy must be MatchAny for multiple audiences"
            ],
        ),
        (
            config({"certificateAuthority": "x"}),
            [
                'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": '
                "data does not contain any valid RSA or ECDSA certificates"
            ],
        ),
        (
            config(mappings={"username": {"claim": "sub"}}),
            [
                "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. "
                "It can be set to an empty string to disable prefixing"
            ],
        ),
        (config(mappings={"username": {"expression": "claims.email"}}), [EMAIL]),
        (
            config(mappings={"extra": [{"key": "k8s.io/a", "valueExpression": "claims.a"}]}),
            [
                'jwt[0].claimMappings.extra[0].key: Invalid value: "k8s.io/a": '
                "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
            ],
        ),
        (
            config(claimValidationRules=[{"claim": "a", "expression": "b"}, {}, {"expression": "1"}]),
            [
                'jwt[0].claimValidationRules[0]: Invalid value: "a": claim and expression can\'t both be set',
                "jwt[0].claimValidationRules[1]: Required value: claim or expression is required",
                'jwt[0].claimValidationRules[2].expression: Invalid value: "1": must evaluate to bool',
            ],
        ),
        (
            {"jwt": config()["jwt"] * 2},
            ['jwt[1].issuer.url: Duplicate value: "https://a.example.com"'],
        ),
        (
            {"jwt": config()["jwt"] * 65},
            ["jwt: Too many: 65: must have at most 64 items"],
        ),
    ],
)
def test_invalid_configurations(invalid: dict[str, Any], expected: list[str]) -> None:
    assert messages(invalid) == expected


def test_unknown_field_of_the_user_is_rejected() -> None:
    (message,) = messages(config(userValidationRules=[{"expression": "user.foo == 'a'"}]))
    assert "undefined field 'foo'" in message
