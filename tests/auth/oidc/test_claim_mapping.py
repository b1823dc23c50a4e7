"""The mapping of claims to users."""

from __future__ import annotations

from typing import Any

import pytest

from polykind.auth.oidc.claim_mapping import ClaimError, ClaimMapping
from polykind.auth.user import User

CLAIMS = {
    "sub": "1234",
    "email": "jane@example.com",
    "email_verified": True,
    "roles": ["dev", "", "ops"],
    "org": {"team.name": "blue", "unit": "x"},
    "hd": "example.com",
}


def map_claims(mappings: dict[str, Any], claims: dict[str, Any] | None = None, **rest: Any) -> User:
    defaults: dict[str, Any] = {"username": {"claim": "sub", "prefix": ""}, "groups": {}, "uid": {}}
    return ClaimMapping({"claimMappings": {**defaults, **mappings}, **rest}).user(claims or CLAIMS)


def test_claims_become_attributes_of_the_user() -> None:
    user = map_claims(
        {
            "username": {"expression": "claims.email + ':x'"},
            "groups": {"expression": "claims.roles.map(role, 'team-' + role)"},
            "uid": {"claim": "sub"},
            "extra": [{"key": "example.com/unit", "valueExpression": "claims.org.unit"}],
        }
    )
    groups = ("team-dev", "team-", "team-ops", "system:authenticated")
    assert user == User("jane@example.com:x", "1234", groups, {"example.com/unit": ("x",)})


def test_escaped_name_selects_a_key_with_a_dot() -> None:
    assert map_claims({"username": {"expression": "claims.org.team__dot__name"}}).name == "blue"
    assert map_claims({"username": {"expression": "claims.org['team.name']"}}).name == "blue"


def test_empty_and_missing_values_are_left_out() -> None:
    user = map_claims({"groups": {"expression": "claims.roles"}, "extra": [{"key": "a.b/c", "valueExpression": "''"}]})
    assert user.groups == ("dev", "ops", "system:authenticated")
    assert user.extra == {}


def test_one_string_can_be_the_group() -> None:
    assert map_claims({"groups": {"claim": "hd", "prefix": "g:"}}).groups == ("g:example.com", "system:authenticated")


@pytest.mark.parametrize(
    ("mappings", "message"),
    [
        ({"username": {"expression": "''"}}, "empty username via CEL expression is not allowed"),
        ({"username": {"expression": "claims.roles"}}, "username claim expression must return a string"),
        ({"username": {"expression": "claims.missing"}}, "no such key: missing"),
        ({"uid": {"expression": "claims.roles"}}, "uid claim expression must return a string"),
        ({"groups": {"expression": "[1]"}}, "expression must return a string or a list of strings"),
        ({"groups": {"claim": "org", "prefix": ""}}, "cannot unmarshal object into Go value of type string"),
    ],
)
def test_invalid_values_are_rejected(mappings: dict[str, Any], message: str) -> None:
    with pytest.raises(ClaimError, match=message):
        map_claims(mappings)


def test_unverified_email_is_rejected() -> None:
    with pytest.raises(ClaimError, match="oidc: email not verified"):
        map_claims({"username": {"claim": "email", "prefix": ""}}, {**CLAIMS, "email_verified": False})


def test_claim_rules_must_hold() -> None:
    rules: list[dict[str, Any]] = [{"claim": "hd", "requiredValue": "example.com"}]
    assert map_claims({}, claimValidationRules=rules).name == "1234"
    rules.append({"expression": "claims.hd == 'other.com'", "message": "wrong domain"})
    with pytest.raises(ClaimError, match=r"validation expression 'claims.hd == 'other.com'' failed: wrong domain"):
        map_claims({}, claimValidationRules=rules)
    with pytest.raises(ClaimError, match=r"required claim hd value does not match. Got = example.com, want = x"):
        map_claims({}, claimValidationRules=[{"claim": "hd", "requiredValue": "x"}])
    with pytest.raises(ClaimError, match="required claim tid not present"):
        map_claims({}, claimValidationRules=[{"claim": "tid"}])


def test_user_rules_must_hold() -> None:
    rule = {"expression": "!user.username.startsWith('system:')", "message": "reserved"}
    assert map_claims({}, userValidationRules=[rule]).name == "1234"
    with pytest.raises(ClaimError, match=r"user info validation rule: .* failed: reserved"):
        map_claims({"username": {"claim": "sub", "prefix": "system:"}}, userValidationRules=[rule])
