"""Validation of AuthenticationConfiguration files, with kube-apiserver's error messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from polykind import errors, names
from polykind.apis.machinery.listed import listed
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.pem import pem_blocks
from polykind.golang.url import URLError, parse_url

MATCH_ANY = "MatchAny"
_MAX_AUTHENTICATORS = 64
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_path = re.compile(_PATH).fullmatch
_EGRESS_SELECTORS = ("controlplane", "cluster")
_EMAIL_VERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or "
    "claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in "
    "claimMappings.username.expression"
)


class ExpressionCheck(Protocol):
    """Checks the CEL expressions of a configuration."""

    def claims_errors(self, expression: str, path: str, *, condition: bool = False) -> list[FieldError]:
        """Compile an expression over `claims`. If `condition` is true, its result must be a bool."""

    def user_errors(self, expression: str, path: str) -> list[FieldError]:
        """Compile a condition over `user`."""

    def selects_claim(self, expression: str, claim: str) -> bool:
        """True if a valid expression contains `claims.<claim>`."""


def validate_authentication_configuration(
    config: JsonObject, service_account_issuers: Collection[str], check: ExpressionCheck
) -> list[FieldError]:
    """Validate a configuration. No issuer may be one of the server's own issuers of service account tokens."""
    authenticators: list[JsonObject] = config.get("jwt") or []
    if len(authenticators) > _MAX_AUTHENTICATORS:
        return [errors.too_many("jwt", len(authenticators), _MAX_AUTHENTICATORS)]
    problems: list[FieldError] = []
    seen: dict[str, set[str]] = {"url": set(), "discoveryURL": set()}
    for index, authenticator in enumerate(authenticators):
        path, issuer = f"jwt[{index}]", authenticator["issuer"]
        problems += validate_jwt_authenticator(authenticator, path, service_account_issuers, check)
        for field, values in seen.items():
            value = issuer.get(field, "")
            if value in values:
                problems.append(errors.duplicate(f"{path}.issuer.{field}", value))
            if value or field == "url":
                values.add(value)
    anonymous = config.get("anonymous")
    if anonymous is not None and not anonymous.get("enabled") and anonymous.get("conditions"):
        detail = "enabled should be set to true when conditions are defined"
        problems.append(errors.invalid("anonymous.conditions", anonymous["conditions"], detail))
    return problems


def validate_jwt_authenticator(
    authenticator: JsonObject, path: str, service_account_issuers: Collection[str], check: ExpressionCheck
) -> list[FieldError]:
    """Validate one issuer with its rules and mappings."""
    rules = authenticator.get("claimValidationRules") or []
    mappings = authenticator["claimMappings"]
    return [
        *_issuer_errors(authenticator["issuer"], f"{path}.issuer", service_account_issuers),
        *_claim_rule_errors(rules, f"{path}.claimValidationRules", check),
        *_mapping_errors(mappings, rules, f"{path}.claimMappings", check),
        *_user_rule_errors(authenticator.get("userValidationRules") or [], f"{path}.userValidationRules", check),
    ]


def _issuer_errors(issuer: JsonObject, path: str, service_account_issuers: Collection[str]) -> list[FieldError]:
    url, discovery = issuer["url"], issuer.get("discoveryURL", "")
    problems = _url_errors(url, f"{path}.url", service_account_issuers) if url else [errors.required(f"{path}.url")]
    if discovery:
        if url and url.rstrip("/") == discovery.rstrip("/"):
            detail = "discoveryURL must be different from URL"
            problems.append(errors.invalid(f"{path}.discoveryURL", discovery, detail))
        problems += _url_errors(discovery, f"{path}.discoveryURL", ())
    problems += _audience_errors(issuer.get("audiences") or [], issuer.get("audienceMatchPolicy", ""), path)
    problems += _authority_errors(issuer.get("certificateAuthority", ""), f"{path}.certificateAuthority")
    selector = issuer.get("egressSelectorType", "")
    if selector and selector not in _EGRESS_SELECTORS:
        detail = "egress selector must be either controlplane or cluster"
        problems.append(errors.invalid(f"{path}.egressSelectorType", selector, detail))
    elif selector:
        detail = "egress selectors are not supported: remove the field, the server connects to the issuer directly"
        problems.append(errors.invalid(f"{path}.egressSelectorType", selector, detail))
    return problems


def _url_errors(text: str, path: str, disallowed: Collection[str]) -> list[FieldError]:
    problems = []
    if text in disallowed:
        known = " ".join(sorted(disallowed))
        problems.append(errors.invalid(path, text, f"URL must not overlap with disallowed issuers: [{known}]"))
    try:
        url = parse_url(text)
    except URLError as error:
        return [*problems, errors.invalid(path, text, str(error))]
    if url.scheme != "https":
        problems.append(errors.invalid(path, text, "URL scheme must be https"))
    if url.userinfo is not None:
        problems.append(errors.invalid(path, text, "URL must not contain a username or password"))
    if url.query:
        problems.append(errors.invalid(path, text, "URL must not contain a query"))
    if url.fragment:
        problems.append(errors.invalid(path, text, "URL must not contain a fragment"))
    return problems


def _audience_errors(audiences: Sequence[str], policy: str, path: str) -> list[FieldError]:
    if not audiences:
        return [errors.required(f"{path}.audiences", f"at least one {path}.audiences is required")]
    problems, seen = [], set()
    for index, audience in enumerate(audiences):
        if not audience:
            problems.append(errors.required(f"{path}.audiences[{index}]"))
        if audience in seen:
            problems.append(errors.duplicate(f"{path}.audiences[{index}]", audience))
        seen.add(audience)
    if len(audiences) > 1 and policy != MATCH_ANY:
        detail = "audienceMatchPolicy must be MatchAny for multiple audiences"
        problems.append(errors.invalid(f"{path}.audienceMatchPolicy", policy, detail))
    if len(audiences) == 1 and policy not in ("", MATCH_ANY):
        detail = "audienceMatchPolicy must be empty or MatchAny for single audience"
        problems.append(errors.invalid(f"{path}.audienceMatchPolicy", policy, detail))
    return problems


def _authority_errors(pem: str, path: str) -> list[FieldError]:
    if any(block.type == "CERTIFICATE" and not block.headers for block in pem_blocks(pem.encode())):
        return []
    detail = "data does not contain any valid RSA or ECDSA certificates"
    return [errors.invalid(path, "<omitted>", detail)] if pem else []


def _claim_rule_errors(rules: Sequence[JsonObject], path: str, check: ExpressionCheck) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: dict[str, set[str]] = {"claim": set(), "expression": set()}
    for index, rule in enumerate(rules):
        at, claim, expression = f"{path}[{index}]", rule.get("claim", ""), rule.get("expression", "")
        if claim and expression:
            problems.append(errors.invalid(at, claim, "claim and expression can't both be set"))
        elif not claim and not expression:
            problems.append(errors.required(at, "claim or expression is required"))
        elif claim:
            if rule.get("message"):
                problems.append(
                    errors.invalid(f"{at}.message", rule["message"], "may not be specified when claim is set")
                )
            if claim in seen["claim"]:
                problems.append(errors.duplicate(f"{at}.claim", claim))
            seen["claim"].add(claim)
        else:
            if required := rule.get("requiredValue"):
                detail = "may not be specified when expression is set"
                problems.append(errors.invalid(f"{at}.requiredValue", required, detail))
            if expression in seen["expression"]:
                problems.append(errors.duplicate(f"{at}.expression", expression))
                continue
            seen["expression"].add(expression)
            problems += check.claims_errors(expression, f"{at}.expression", condition=True)
    return problems


def _mapping_errors(
    mappings: JsonObject, rules: Sequence[JsonObject], path: str, check: ExpressionCheck
) -> list[FieldError]:
    username, groups, uid = mappings["username"], mappings["groups"], mappings["uid"]
    problems = _source_errors(username, f"{path}.username", check, required=True)
    username_is_valid = not problems
    problems += _source_errors(groups, f"{path}.groups", check, required=False)
    if uid.get("claim") and uid.get("expression"):
        problems.append(errors.invalid(f"{path}.uid", "", "claim and expression can't both be set"))
    elif uid.get("expression"):
        problems += check.claims_errors(uid["expression"], f"{path}.uid.expression")
    extra_errors, expressions = _check_extra(mappings, path, check)
    problems += extra_errors
    expression = username.get("expression", "")
    if username_is_valid and expression and check.selects_claim(expression, "email"):
        sources = [expression, *(rule["expression"] for rule in rules if rule.get("expression")), *expressions]
        if not any(check.selects_claim(source, "email_verified") for source in sources):
            problems.append(errors.invalid(f"{path}.username.expression", expression, _EMAIL_VERIFIED))
    return problems


def _check_extra(mappings: JsonObject, path: str, check: ExpressionCheck) -> tuple[list[FieldError], list[str]]:
    """Return the errors of the extra attributes of users, and their valid expressions."""
    problems: list[FieldError] = []
    expressions: list[str] = []
    seen: set[str] = set()
    for at, mapping in listed(mappings, "extra", path):
        key, expression = mapping["key"], mapping["valueExpression"]
        problems += _extra_key_errors(key, f"{at}.key")
        if key in seen:
            problems.append(errors.duplicate(f"{at}.key", key))
            continue
        seen.add(key)
        if not expression:
            problems.append(errors.required(f"{at}.valueExpression"))
            continue
        expression_errors = check.claims_errors(expression, f"{at}.valueExpression")
        problems += expression_errors
        expressions += [] if expression_errors else [expression]
    return problems, expressions


def _source_errors(source: JsonObject, path: str, check: ExpressionCheck, *, required: bool) -> list[FieldError]:
    """Validate the source of the user name or of the groups."""
    claim, expression, prefix = source.get("claim", ""), source.get("expression", ""), source.get("prefix")
    if claim and expression:
        return [errors.invalid(path, "", "claim and expression can't both be set")]
    if expression:
        problems = []
        if prefix is not None:
            problems.append(errors.invalid(f"{path}.prefix", prefix, "may not be specified when expression is set"))
        return problems + check.claims_errors(expression, f"{path}.expression")
    if claim and prefix is None:
        detail = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
        return [errors.required(f"{path}.prefix", detail)]
    if not claim and required:
        return [errors.required(path, "claim or expression is required")]
    return []


def _extra_key_errors(key: str, path: str) -> list[FieldError]:
    if not key:
        return [errors.required(path)]
    problems: list[FieldError] = []
    domain, slash, rest = key.partition("/")
    if not (domain and slash and rest):
        problems.append(errors.invalid(path, key, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else:
        problems += errors.all_invalid(path, domain, names.dns1123_subdomain(domain))
        if not _is_path(rest):
            problems.append(errors.invalid(path, rest, names.regex_error("Invalid path", _PATH)))
    if key != key.lower():
        problems.append(errors.invalid(path, key, "must be lowercase"))
    reserved = ("kubernetes.io", "k8s.io")
    if slash and (domain in reserved or domain.endswith(tuple(f".{name}" for name in reserved))):
        detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
        problems.append(errors.invalid(path, key, detail))
    return problems


def _user_rule_errors(rules: Sequence[JsonObject], path: str, check: ExpressionCheck) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[Any] = set()
    for index, rule in enumerate(rules):
        at, expression = f"{path}[{index}].expression", rule["expression"]
        if not expression:
            problems.append(errors.required(at))
        elif expression in seen:
            problems.append(errors.duplicate(at, expression))
        else:
            seen.add(expression)
            problems += check.user_errors(expression, at)
    return problems
