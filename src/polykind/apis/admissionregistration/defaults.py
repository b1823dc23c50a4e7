"""Defaults of webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from typing import Any

from polykind.contract import JsonObject


def default_validating_webhooks(configuration: JsonObject) -> None:
    """Set the defaults of a validating webhook configuration, in place."""
    for webhook in configuration.get("webhooks") or ():
        for field, value in _webhook_defaults().items():
            webhook.setdefault(field, value)
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = webhook["clientConfig"].get("service")
        if service is not None:
            service.setdefault("port", 443)


def default_mutating_webhooks(configuration: JsonObject) -> None:
    """Set the defaults of a mutating webhook configuration, in place."""
    default_validating_webhooks(configuration)
    for webhook in configuration.get("webhooks") or ():
        webhook.setdefault("reinvocationPolicy", "Never")


def _webhook_defaults() -> JsonObject:
    return {
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "timeoutSeconds": 10,
    }


def default_policy(policy: JsonObject) -> None:
    """Set the defaults of an admission policy, in place."""
    policy["spec"].setdefault("failurePolicy", "Fail")
    _default_match_resources(policy["spec"].get("matchConstraints"))


def default_binding(binding: JsonObject) -> None:
    """Set the defaults of an admission policy binding, in place."""
    _default_match_resources(binding["spec"].get("matchResources"))


def _default_match_resources(match: Any) -> None:
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    for name in ("namespaceSelector", "objectSelector"):
        match.setdefault(name, {})
    for name in ("resourceRules", "excludeResourceRules"):
        for rule in match.get(name) or ():
            rule.setdefault("scope", "*")
