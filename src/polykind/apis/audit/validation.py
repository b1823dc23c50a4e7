"""Validation of audit policies, with kube-apiserver's error messages."""

from __future__ import annotations

from collections.abc import Sequence

from polykind import errors, names
from polykind.apis.audit.types import LEVELS, STAGES
from polykind.contract import JsonObject
from polykind.errors import FieldError

_BEGINNING = "non-resource URL rules must begin with a '/' character"
_WILDCARD = "non-resource URL wildcards '*' must be the final character of the rule"
_BOTH = "rules cannot apply to both regular resources and non-resource URLs"


def validate_policy(policy: JsonObject) -> list[FieldError]:
    """Validate a decoded policy."""
    problems = _stage_errors(policy.get("omitStages") or (), "omitStages")
    for index, rule in enumerate(policy.get("rules") or ()):
        problems += _rule_errors(rule, f"rules[{index}]")
    return problems


def _rule_errors(rule: JsonObject, path: str) -> list[FieldError]:
    urls: Sequence[str] = rule.get("nonResourceURLs") or ()
    problems = [
        *_level_errors(rule.get("level") or "", f"{path}.level"),
        *_url_errors(urls, f"{path}.nonResourceURLs"),
        *_resource_errors(rule.get("resources") or (), f"{path}.resources"),
        *_stage_errors(rule.get("omitStages") or (), f"{path}.omitStages"),
    ]
    if urls and (rule.get("resources") or rule.get("namespaces")):
        problems.append(errors.invalid(f"{path}.nonResourceURLs", list(urls), _BOTH))
    return problems


def _level_errors(level: str, path: str) -> list[FieldError]:
    if level in LEVELS:
        return []
    return [errors.not_supported(path, level, LEVELS) if level else errors.required(path)]


def _url_errors(urls: Sequence[str], path: str) -> list[FieldError]:
    problems = []
    for index, url in enumerate(urls):
        if url != "*" and not url.startswith("/"):
            problems.append(errors.invalid(f"{path}[{index}]", url, _BEGINNING))
        if "*" in url[:-1]:
            problems.append(errors.invalid(f"{path}[{index}]", url, _WILDCARD))
    return problems


def _resource_errors(groups: Sequence[JsonObject], path: str) -> list[FieldError]:
    problems = []
    for group in groups:
        name = group.get("group") or ""
        if name not in ("", "*") and (reasons := names.dns1123_subdomain(name)):
            problems.append(errors.invalid(f"{path}.group", name, ",".join(reasons)))
        if group.get("resourceNames") and not group.get("resources"):
            detail = "using resourceNames requires at least one resource"
            problems.append(errors.invalid(f"{path}.resourceNames", group["resourceNames"], detail))
    return problems


def _stage_errors(stages: Sequence[str], path: str) -> list[FieldError]:
    detail = f"allowed stages are {','.join(STAGES)}"
    return [errors.invalid(f"{path}[{i}]", stage, detail) for i, stage in enumerate(stages) if stage not in STAGES]
