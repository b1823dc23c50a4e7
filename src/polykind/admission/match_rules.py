"""What rules and match conditions must obey, in webhooks and in policies alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from polykind.contract import JsonObject
from polykind.errors import FieldError, duplicate, invalid, not_supported, required, too_many
from polykind.names import path_segment, qualified_name

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS = 64

Judge = Callable[[str, str], list[FieldError]]
"""What is wrong with an expression at a path."""


def rule_problems(rule: JsonObject, at: str) -> list[FieldError]:
    """What is wrong with a RuleWithOperations."""
    found: list[FieldError] = []
    operations = rule.get("operations") or []
    if not operations:
        found.append(required(f"{at}.operations"))
    if len(operations) > 1 and "*" in operations:
        found.append(invalid(f"{at}.operations", operations, "if '*' is present, must not specify other operations"))
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            found.append(not_supported(f"{at}.operations[{index}]", operation, _OPERATIONS))
    found += _wildcard_problems(rule.get("apiGroups") or [], f"{at}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or []
    found += _wildcard_problems(versions, f"{at}.apiVersions", "API versions")
    found += [required(f"{at}.apiVersions[{index}]") for index, version in enumerate(versions) if not version]
    found += _resource_problems(rule.get("resources") or [], f"{at}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        found.append(not_supported(f"{at}.scope", scope, _SCOPES))
    return found


def named_rule_problems(rule: JsonObject, at: str) -> list[FieldError]:
    """What is wrong with a rule that may name its objects."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        found += [invalid(f"{at}.resourceNames[{index}]", name, why) for why in path_segment(name)]
        if name in seen:
            found.append(duplicate(f"{at}.resourceNames[{index}]", name))
        seen.add(name)
    return found + rule_problems(rule, at)


def condition_problems(conditions: Sequence[JsonObject], at: str, judge: Judge) -> list[FieldError]:
    """What is wrong with match conditions; `judge` compiles an expression."""
    found: list[FieldError] = []
    seen: set[str] = set()
    if len(conditions) > _MOST_CONDITIONS:
        found.append(too_many(at, len(conditions), _MOST_CONDITIONS))
    for index, condition in enumerate(conditions):
        name, expression = condition["name"], condition["expression"].strip()
        here = f"{at}[{index}]"
        found += judge(expression, f"{here}.expression") if expression else [required(f"{here}.expression")]
        if not name:
            found.append(required(f"{here}.name"))
            continue
        found += [invalid(f"{here}.name", name, why) for why in qualified_name(name)]
        if name in seen:
            found.append(duplicate(f"{here}.name", name))
        seen.add(name)
    return found


def _wildcard_problems(items: list[str], at: str, what: str) -> list[FieldError]:
    if not items:
        return [required(at)]
    if len(items) > 1 and "*" in items:
        return [invalid(at, items, f"if '*' is present, must not specify other {what}")]
    return []


def _resource_problems(resources: list[str], at: str) -> list[FieldError]:
    if not resources:
        return [required(at)]
    found: list[FieldError] = []
    whole: set[str] = set()
    """Resources that were named with all their subresources."""
    everywhere: set[str] = set()
    """Subresources that were named of all resources."""
    plain = False
    for index, named in enumerate(resources):
        here = f"{at}[{index}]"
        if not named:
            found.append(required(here))
            continue
        resource, slash, subresource = named.partition("/")
        if not slash:
            # As in the reference, the last of them decides.
            plain = named != "*"
            continue
        if resource in whole:
            found.append(invalid(here, named, f"if '{resource}/*' is present, must not specify {named}"))
        if subresource in everywhere:
            found.append(invalid(here, named, f"if '*/{subresource}' is present, must not specify {named}"))
        if subresource == "*":
            whole.add(resource)
        if resource == "*":
            everywhere.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        found.append(invalid(at, resources, "if '*/*' is present, must not specify other resources"))
    if plain and "*" in resources:
        why = "if '*' is present, must not specify other resources without subresources"
        found.append(invalid(at, resources, why))
    return found
