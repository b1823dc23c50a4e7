"""Validation of webhook configurations, and of the rules and match conditions that policies share with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from polykind.contract import JsonObject
from polykind.crd.validation_client_config import validate_webhook_service, validate_webhook_url
from polykind.errors import FieldError, duplicate, invalid, not_supported, required, too_many
from polykind.names import dns1035_label, dns1123_subdomain, path_segment, qualified_name
from polykind.selectors.selector_objects import validate_label_selector

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
REINVOCATION_POLICIES = ("IfNeeded", "Never")
DRY_RUN_SIDE_EFFECTS = ("None", "NoneOnDryRun")
"""The values of sideEffects with which the server may call a webhook in a dry run."""
_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_MAX_TIMEOUT = 30
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_MAX_CONDITIONS = 64

ExpressionErrors = Callable[[str, str], list[FieldError]]
"""A function that compiles a CEL expression and returns the errors. The arguments are the expression and its path."""


class _Ratchet(msgspec.Struct, frozen=True):
    """The rules that an update need not follow, because the old object already violates them."""

    side_effects: bool = False
    review_versions: bool = False
    names: bool = False
    label_values: bool = False
    conditions: bool = False


def validate_webhooks(webhooks: Sequence[JsonObject], old: Sequence[JsonObject] | None = None) -> list[FieldError]:
    """Validate the webhooks of a configuration. `old` are the stored webhooks of an update, None for a create."""
    ratchet = _Ratchet() if old is None else _ratchet(webhooks, old)
    found: list[FieldError] = []
    names: set[str] = set()
    for index, webhook in enumerate(webhooks):
        at, name = f"webhooks[{index}]", webhook["name"]
        found += _validate_webhook(webhook, at, ratchet)
        found += _validate_review_versions(webhook.get("admissionReviewVersions") or [], at, ratchet)
        if name in names and not ratchet.names:
            found.append(duplicate(f"{at}.name", name))
        if name:
            names.add(name)
    return found


def _ratchet(new: Sequence[JsonObject], old: Sequence[JsonObject]) -> _Ratchet:
    versions = [webhook.get("admissionReviewVersions") or [] for webhook in old]
    return _Ratchet(
        side_effects=any(webhook.get("sideEffects") not in DRY_RUN_SIDE_EFFECTS for webhook in old),
        review_versions=any(listed and not _has_supported(listed) for listed in versions),
        names=len({webhook["name"] for webhook in old}) < len(old),
        label_values=any(
            validate_label_selector(webhook.get(selector), "")
            for webhook in old
            for selector in ("namespaceSelector", "objectSelector")
        ),
        conditions=[w.get("matchConditions") for w in new] == [w.get("matchConditions") for w in old],
    )


def _validate_webhook(webhook: JsonObject, at: str, ratchet: _Ratchet) -> list[FieldError]:
    found = _validate_name(webhook["name"], f"{at}.name")
    for index, rule in enumerate(webhook.get("rules") or ()):
        found += validate_rule(rule, f"{at}.rules[{index}]")
    found += _validate_choice(webhook, "failurePolicy", FAILURE_POLICIES, at)
    found += _validate_choice(webhook, "matchPolicy", MATCH_POLICIES, at)
    effects = _SIDE_EFFECTS if ratchet.side_effects else DRY_RUN_SIDE_EFFECTS
    if webhook.get("sideEffects") is None:
        found.append(required(f"{at}.sideEffects", f"must specify one of {', '.join(effects)}"))
    found += _validate_choice(webhook, "sideEffects", effects, at)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= _MAX_TIMEOUT:
        reason = f"the timeout value must be between 1 and {_MAX_TIMEOUT} seconds"
        found.append(invalid(f"{at}.timeoutSeconds", seconds, reason))
    for selector in ("namespaceSelector", "objectSelector"):
        found += validate_label_selector(webhook.get(selector), f"{at}.{selector}", lenient=ratchet.label_values)
    found += _validate_choice(webhook, "reinvocationPolicy", REINVOCATION_POLICIES, at)
    found += _validate_client_config(webhook["clientConfig"], f"{at}.clientConfig")
    conditions = webhook.get("matchConditions")
    if conditions and not ratchet.conditions:
        # The import of CEL takes long and few webhooks have match conditions, so import it only for those.
        from polykind.apis.admissionregistration.expression_validation import validate_match_expressions

        found += validate_match_expressions(conditions, f"{at}.matchConditions")
    return found


def _validate_name(name: str, at: str) -> list[FieldError]:
    if not name:
        return [required(at)]
    if reasons := dns1123_subdomain(name):
        return [invalid(at, name, ",".join(reasons))]
    if name.count(".") < 2:
        return [invalid(at, name, "should be a domain with at least three segments separated by dots")]
    return []


def _validate_choice(webhook: JsonObject, field: str, supported: tuple[str, ...], at: str) -> list[FieldError]:
    value = webhook.get(field)
    return [] if value is None or value in supported else [not_supported(f"{at}.{field}", value, supported)]


def _validate_client_config(config: JsonObject, at: str) -> list[FieldError]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(at, "exactly one of url or service is required")]
    if url is not None:
        return validate_webhook_url(url, f"{at}.url")
    return validate_webhook_service(config["service"], f"{at}.service")


def _validate_review_versions(versions: list[str], at: str, ratchet: _Ratchet) -> list[FieldError]:
    at = f"{at}.admissionReviewVersions"
    if not versions:
        return [required(at, f"must specify one of {', '.join(_REVIEW_VERSIONS)}")]
    found: list[FieldError] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            found.append(invalid(f"{at}[{index}]", version, "duplicate version"))
        else:
            found += [invalid(f"{at}[{index}]", version, reason) for reason in dns1035_label(version)]
    if not ratchet.review_versions and not _has_supported(versions):
        found.append(invalid(at, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"))
    return found


def _has_supported(versions: list[str]) -> bool:
    return any(version in _REVIEW_VERSIONS for version in versions)


def validate_rule(rule: JsonObject, at: str) -> list[FieldError]:
    """Validate a RuleWithOperations."""
    found: list[FieldError] = []
    operations = rule.get("operations") or []
    if not operations:
        found.append(required(f"{at}.operations"))
    if len(operations) > 1 and "*" in operations:
        found.append(invalid(f"{at}.operations", operations, "if '*' is present, must not specify other operations"))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            found.append(not_supported(f"{at}.operations[{index}]", operation, _OPERATIONS))
    found += _validate_wildcard(rule.get("apiGroups") or [], f"{at}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    found += _validate_wildcard(versions, f"{at}.apiVersions", "API versions")
    found += [required(f"{at}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    found += _validate_resources(rule.get("resources") or [], f"{at}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        found.append(not_supported(f"{at}.scope", scope, _SCOPES))
    return found


def validate_named_rule(rule: JsonObject, at: str) -> list[FieldError]:
    """Validate a NamedRuleWithOperations."""
    found: list[FieldError] = []
    names: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        found += [invalid(f"{at}.resourceNames[{index}]", name, reason) for reason in path_segment(name)]
        if name in names:
            found.append(duplicate(f"{at}.resourceNames[{index}]", name))
        names.add(name)
    return found + validate_rule(rule, at)


def validate_match_conditions(
    conditions: Sequence[JsonObject], at: str, expression_errors: ExpressionErrors
) -> list[FieldError]:
    """Validate the match conditions of a webhook or a policy."""
    found: list[FieldError] = []
    names: set[str] = set()
    if len(conditions) > _MAX_CONDITIONS:
        found.append(too_many(at, len(conditions), _MAX_CONDITIONS))
    for index, condition in enumerate(conditions):
        name, expression = condition["name"], condition["expression"].strip()
        here = f"{at}[{index}]"
        path = f"{here}.expression"
        found += expression_errors(expression, path) if expression else [required(path)]
        if not name:
            found.append(required(f"{here}.name"))
            continue
        found += [invalid(f"{here}.name", name, reason) for reason in qualified_name(name)]
        if name in names:
            found.append(duplicate(f"{here}.name", name))
        names.add(name)
    return found


def _validate_wildcard(items: list[str], at: str, what: str) -> list[FieldError]:
    if not items:
        return [required(at)]
    if len(items) > 1 and "*" in items:
        return [invalid(at, items, f"if '*' is present, must not specify other {what}")]
    return []


def _validate_resources(resources: list[str], at: str) -> list[FieldError]:
    if not resources:
        return [required(at)]
    found: list[FieldError] = []
    with_all_subresources: set[str] = set()
    """The resources that an entry such as pods/* combines with all subresources."""
    of_all_resources: set[str] = set()
    """The subresources that an entry such as */scale combines with all resources."""
    has_other = False
    for index, entry in enumerate(resources):
        here = f"{at}[{index}]"
        if not entry:
            found.append(required(here))
            continue
        resource, slash, subresource = entry.partition("/")
        if not slash:
            # As in kube-apiserver, a later entry without a subresource overwrites the result of an earlier one.
            has_other = entry != "*"
            continue
        if resource in with_all_subresources:
            found.append(invalid(here, entry, f"if '{resource}/*' is present, must not specify {entry}"))
        if subresource in of_all_resources:
            found.append(invalid(here, entry, f"if '*/{subresource}' is present, must not specify {entry}"))
        if subresource == "*":
            with_all_subresources.add(resource)
        if resource == "*":
            of_all_resources.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        found.append(invalid(at, resources, "if '*/*' is present, must not specify other resources"))
    if has_other and "*" in resources:
        reason = "if '*' is present, must not specify other resources without subresources"
        found.append(invalid(at, resources, reason))
    return found
