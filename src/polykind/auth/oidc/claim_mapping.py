"""The mapping of a token's claims to a user, as an AuthenticationConfiguration declares it."""

from __future__ import annotations

from typing import Any

from polykind.auth.oidc.claim_expressions import USER, ClaimExpression, ClaimExpressionError, user_value
from polykind.auth.user import User, authenticated_groups
from polykind.contract import JsonObject
from polykind.golang.fmt import go_quote
from polykind.golang.json import json_type_name

_CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class ClaimError(Exception):
    """The claims of a token do not satisfy the configuration. The message is kube-apiserver's."""


class ClaimMapping:
    """The rules of one issuer. All expressions are compiled at construction."""

    def __init__(self, authenticator: JsonObject) -> None:
        mappings = authenticator["claimMappings"]
        self._username, self._groups, self._uid = (
            _Source(mappings[name], name) for name in ("username", "groups", "uid")
        )
        self._extra = [
            (mapping["key"], ClaimExpression(mapping["valueExpression"])) for mapping in mappings.get("extra") or []
        ]
        rules = authenticator.get("claimValidationRules") or []
        self._required = {rule["claim"]: rule.get("requiredValue", "") for rule in rules if rule.get("claim")}
        self._claim_rules = _conditions([rule for rule in rules if rule.get("expression")])
        self._user_rules = _conditions(authenticator.get("userValidationRules") or [], USER)

    @property
    def groups_claim(self) -> str:
        """The claim with the groups, or "" if an expression or nothing provides them."""
        return self._groups.claim

    def user(self, claims: JsonObject) -> User:
        """Return the user of a verified token. Raise ClaimError if the claims do not satisfy the rules."""
        claims = _as_go_values(claims)
        name, groups = self._name(claims), self._group_names(claims)
        uid = self._uid.text(claims, optional=True)
        user = User(name, uid, tuple(groups), self._extra_values(claims))
        for claim, required in self._required.items():
            if claim not in claims:
                raise ClaimError(f"oidc: required claim {claim} not present in ID token")
            actual = _string_claim(claims[claim], f"oidc: parse claim {claim}")
            if actual != required:
                wanted = f"Got = {actual}, want = {required}"
                raise ClaimError(f"oidc: required claim {claim} value does not match. {wanted}")
        _check(self._claim_rules, claims, "claim validation expression")
        _check(self._user_rules, user_value(user), "user info validation rule")
        return User(name, uid, authenticated_groups(name, groups), user.extra)

    def _name(self, claims: JsonObject) -> str:
        if self._username.expression is not None:
            name = self._username.text(claims)
            if not name:
                raise ClaimError("oidc: empty username via CEL expression is not allowed")
            return name
        if self._username.claim not in claims:
            raise ClaimError(f"oidc: parse username claims {go_quote(self._username.claim)}: claim not present")
        claim = self._username.claim
        name = _string_claim(claims[claim], f"oidc: parse username claims {go_quote(claim)}")
        if claim == "email" and "email_verified" in claims:
            verified = claims["email_verified"]
            if not isinstance(verified, bool):
                raise ClaimError(f"oidc: parse 'email_verified' claim: {unmarshal_error(verified, 'bool')}")
            if not verified:
                raise ClaimError("oidc: email not verified")
        return f"{self._username.prefix}{name}"

    def _group_names(self, claims: JsonObject) -> list[str]:
        source = self._groups
        if source.expression is not None:
            return _strings(source.expression, claims, "group claim expression")
        if not source.claim or source.claim not in claims:
            return []
        value = claims[source.claim]
        groups = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
            raise ClaimError(f"oidc: parse groups claim {go_quote(source.claim)}: {unmarshal_error(value, 'string')}")
        return [f"{source.prefix}{group}" for group in groups]

    def _extra_values(self, claims: JsonObject) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        if isinstance(claims.get("jti"), str) and claims["jti"]:
            extra[_CREDENTIAL_ID] = (f"JTI={claims['jti']}",)
        for key, expression in self._extra:
            if values := _strings(expression, claims, f"extra claim expression: {expression.text}"):
                extra[key] = tuple(values)
        return extra


class _Source:
    """The source of one attribute of the user: a claim or an expression."""

    def __init__(self, source: JsonObject, name: str) -> None:
        self._name = name
        self.claim: str = source.get("claim", "")
        self.prefix: str = source.get("prefix") or ""
        text = source.get("expression", "")
        self.expression = ClaimExpression(text) if text else None

    def text(self, claims: JsonObject, *, optional: bool = False) -> str:
        """Return a value that must be a string. With `optional`, return "" if no source is configured."""
        if self.expression is not None:
            try:
                value = self.expression.evaluate(claims)
            except ClaimExpressionError as error:
                raise ClaimError(f"oidc: error evaluating {self._name} claim expression: {error}") from None
            if not isinstance(value, str):
                detail = f"{self._name} claim expression must return a string"
                raise ClaimError(f"oidc: error evaluating {self._name} claim expression: {detail}")
            return value
        if optional and not self.claim:
            return ""
        if self.claim not in claims:
            raise ClaimError(f"oidc: parse {self._name} claim {go_quote(self.claim)}: claim not present")
        return _string_claim(claims[self.claim], f"oidc: parse {self._name} claim {go_quote(self.claim)}")


def _conditions(rules: list[JsonObject], variable: str = "claims") -> list[tuple[ClaimExpression, str]]:
    return [(ClaimExpression(rule["expression"], variable), rule.get("message", "")) for rule in rules]


def _check(conditions: list[tuple[ClaimExpression, str]], value: JsonObject, what: str) -> None:
    for expression, message in conditions:
        try:
            expression.check(value, message)
        except ClaimExpressionError as error:
            raise ClaimError(f"oidc: error evaluating {what}: {error}") from None


def _strings(expression: ClaimExpression, claims: JsonObject, what: str) -> list[str]:
    try:
        return expression.strings(claims)
    except ClaimExpressionError as error:
        raise ClaimError(f"oidc: error evaluating {what}: {error}") from None


def _string_claim(value: Any, what: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ClaimError(f"{what}: {unmarshal_error(value, 'string')}")
    return value


def unmarshal_error(value: Any, go_type: str, target: str = "value") -> str:
    """Return the error of Go's JSON decoder for a value of the wrong type."""
    return f"json: cannot unmarshal {json_type_name(value)} into Go {target} of type {go_type}"


def _as_go_values(value: Any) -> Any:
    """Return a claim as expressions see it: Go decodes every number of a token as a double."""
    if isinstance(value, dict):
        return {key: _as_go_values(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_go_values(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
