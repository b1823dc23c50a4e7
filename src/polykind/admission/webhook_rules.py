"""What configurations of webhooks must obey, and what they mean where they say nothing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polykind.admission import match_rules
from polykind.contract import JsonObject
from polykind.crd.validation_client_config import validate_webhook_service, validate_webhook_url
from polykind.errors import FieldError, duplicate, invalid, not_supported, required
from polykind.names import dns1035_label, dns1123_subdomain
from polykind.selectors.selector_objects import validate_label_selector

_FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_REINVOCATION_POLICIES = ("IfNeeded", "Never")
HARMLESS = ("None", "NoneOnDryRun")
_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_REVIEW_VERSIONS = ("v1", "v1beta1")
_LONGEST = 30


def fill_in(webhooks: Sequence[JsonObject], *, mutating: bool) -> None:
    """Give webhooks, as decoded, what they mean where they say nothing."""
    for webhook in webhooks:
        defaults: JsonObject = {
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "timeoutSeconds": 10,
        }
        if mutating:
            defaults["reinvocationPolicy"] = "Never"
        for field, value in defaults.items():
            webhook.setdefault(field, value)
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = webhook["clientConfig"].get("service")
        if service is not None:
            service.setdefault("port", 443)


@dataclass(frozen=True, slots=True)
class _Leniency:
    """What is let pass because it was there before the rule was."""

    side_effects: bool = False
    review_versions: bool = False
    names: bool = False
    label_values: bool = False
    conditions: bool = False


def problems(webhooks: Sequence[JsonObject], old: Sequence[JsonObject] | None = None) -> list[FieldError]:
    """What is wrong with webhooks; `old` are those that they replace."""
    lenient = _Leniency() if old is None else _leniency(webhooks, old)
    found: list[FieldError] = []
    names: set[str] = set()
    for index, webhook in enumerate(webhooks):
        at, name = f"webhooks[{index}]", webhook["name"]
        found += _webhook_problems(webhook, at, lenient)
        found += _review_problems(webhook.get("admissionReviewVersions") or [], at, lenient)
        if name in names and not lenient.names:
            found.append(duplicate(f"{at}.name", name))
        if name:
            names.add(name)
    return found


def _leniency(new: Sequence[JsonObject], old: Sequence[JsonObject]) -> _Leniency:
    versions = [webhook.get("admissionReviewVersions") or [] for webhook in old]
    return _Leniency(
        side_effects=any(webhook.get("sideEffects") not in HARMLESS for webhook in old),
        review_versions=any(listed and not _accepted(listed) for listed in versions),
        names=len({webhook["name"] for webhook in old}) < len(old),
        label_values=any(
            validate_label_selector(webhook.get(selector), "")
            for webhook in old
            for selector in ("namespaceSelector", "objectSelector")
        ),
        conditions=[w.get("matchConditions") for w in new] == [w.get("matchConditions") for w in old],
    )


def _webhook_problems(webhook: JsonObject, at: str, lenient: _Leniency) -> list[FieldError]:
    found = _name_problems(webhook["name"], f"{at}.name")
    for index, rule in enumerate(webhook.get("rules") or ()):
        found += match_rules.rule_problems(rule, f"{at}.rules[{index}]")
    found += _choice(webhook, "failurePolicy", _FAILURE_POLICIES, at)
    found += _choice(webhook, "matchPolicy", _MATCH_POLICIES, at)
    effects = _SIDE_EFFECTS if lenient.side_effects else HARMLESS
    if webhook.get("sideEffects") is None:
        found.append(required(f"{at}.sideEffects", f"must specify one of {', '.join(effects)}"))
    found += _choice(webhook, "sideEffects", effects, at)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= _LONGEST:
        why = f"the timeout value must be between 1 and {_LONGEST} seconds"
        found.append(invalid(f"{at}.timeoutSeconds", seconds, why))
    for selector in ("namespaceSelector", "objectSelector"):
        found += validate_label_selector(webhook.get(selector), f"{at}.{selector}", lenient=lenient.label_values)
    found += _choice(webhook, "reinvocationPolicy", _REINVOCATION_POLICIES, at)
    found += _client_problems(webhook["clientConfig"], f"{at}.clientConfig")
    conditions = webhook.get("matchConditions")
    if conditions and not lenient.conditions:
        # Few webhooks have any, and expressions take a while to import.
        from polykind.admission.match_conditions import validate_conditions

        found += validate_conditions(conditions, f"{at}.matchConditions")
    return found


def _name_problems(name: str, at: str) -> list[FieldError]:
    if not name:
        return [required(at)]
    if said := dns1123_subdomain(name):
        return [invalid(at, name, ",".join(said))]
    if name.count(".") < 2:
        return [invalid(at, name, "should be a domain with at least three segments separated by dots")]
    return []


def _choice(webhook: JsonObject, field: str, supported: tuple[str, ...], at: str) -> list[FieldError]:
    value = webhook.get(field)
    return [] if value is None or value in supported else [not_supported(f"{at}.{field}", value, supported)]


def _client_problems(config: JsonObject, at: str) -> list[FieldError]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(at, "exactly one of url or service is required")]
    if url is not None:
        return validate_webhook_url(url, f"{at}.url")
    return validate_webhook_service(config["service"], f"{at}.service")


def _review_problems(versions: list[str], at: str, lenient: _Leniency) -> list[FieldError]:
    at = f"{at}.admissionReviewVersions"
    if not versions:
        return [required(at, f"must specify one of {', '.join(_REVIEW_VERSIONS)}")]
    found: list[FieldError] = []
    for index, version in enumerate(versions):
        if version in versions[:index]:
            found.append(invalid(f"{at}[{index}]", version, "duplicate version"))
        else:
            found += [invalid(f"{at}[{index}]", version, why) for why in dns1035_label(version)]
    if not lenient.review_versions and not _accepted(versions):
        found.append(invalid(at, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"))
    return found


def _accepted(versions: list[str]) -> bool:
    return any(version in _REVIEW_VERSIONS for version in versions)
