"""Validation of EncryptionConfiguration files, with kube-apiserver's error messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from polykind import errors
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.base64 import Base64Error, decode_base64

_AES_KEY_BYTES, _SECRETBOX_KEY_BYTES = (16, 24, 32), (32,)
KEY_BYTES = {"aesgcm": _AES_KEY_BYTES, "aescbc": _AES_KEY_BYTES, "secretbox": _SECRETBOX_KEY_BYTES}
"""The accepted lengths of keys by provider."""
PROVIDERS = ("kms", *KEY_BYTES, "identity")

_NO_PROVIDER = "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"
_EMPTY_PROVIDER = '{"AESGCM":null,"AESCBC":null,"Secretbox":null,"Identity":null,"KMS":null}'
_SEVERAL_PROVIDERS = "more than one provider specified in a single element, should split into different list elements"
_NO_KMS = (
    "the provider kms is not supported: use aesgcm, aescbc or secretbox, with a key that your key management service "
    "writes into this file"
)
_INTERNAL_RESOURCES = ("apiserveripinfo", "serviceipallocations", "servicenodeportallocations")
_NO_REST_API = "resources which do not have REST API/s cannot be encrypted"
_CAPITALS = "resource name should not contain capital letters"
_STAR = "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
_EVENTS = (
    "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
)
_EXTENSIONS = "'extensions' group has been removed and cannot be used for encryption"
_ACROSS_GROUPS = "encrypting the same resource across groups is not supported"
_DUPLICATE = "the same resource cannot be specified multiple times"
_OVERLAP = (
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be "
    "masked"
)


class GroupResource(NamedTuple):
    """A resource and its API group. Each can be `*`."""

    resource: str
    group: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group or self.resource == "*" else self.resource


ANY = GroupResource("*", "*")


def parse_group_resource(text: str) -> GroupResource:
    """Parse a name such as `secrets`, `*.` or `crontabs.example.com`."""
    resource, _, group = text.partition(".")
    return GroupResource(resource, group)


def validate_encryption_configuration(config: JsonObject) -> list[FieldError]:
    rules: Sequence[JsonObject] = config.get("resources") or ()
    if not rules:
        return [errors.required("resources", "at least one resources is required")]
    problems: list[FieldError] = []
    for index, rule in enumerate(rules):
        resources, providers = f"resources[{index}].resources", f"resources[{index}].providers"
        names: Sequence[str] = rule.get("resources") or ()
        if not names:
            problems.append(errors.required(resources, f"at least one {resources} is required"))
        problems += _overlap_errors(names, resources)
        for number, name in enumerate(names):
            if detail := _name_problem(name):
                problems.append(errors.invalid(f"{resources}[{number}]", name, detail))
        if not rule.get("providers"):
            problems.append(errors.required(providers, f"at least one {providers} is required"))
        for number, provider in enumerate(rule.get("providers") or ()):
            problems += _provider_errors(provider, f"{providers}[{number}]")
    return problems


def _overlap_errors(names: Sequence[str], path: str) -> Iterator[FieldError]:
    parsed = [parse_group_resource(name) for name in names]
    if len(set(parsed)) < len(parsed):
        yield errors.invalid(path, list(names), _DUPLICATE)
    distinct = set(parsed)
    wildcards = {entry.group for entry in distinct if entry.resource == "*"}
    overlaps = len(distinct) > 1 and (
        ANY in distinct or any(entry.resource != "*" and entry.group in wildcards for entry in distinct)
    )
    # kube-apiserver compares a duplicate pair only once, so two equal wildcards also count as an overlap.
    if overlaps or any(entry.resource == "*" and parsed.count(entry) > 1 for entry in distinct):
        yield errors.invalid(path, list(names), _OVERLAP)


def _name_problem(name: str) -> str:
    """Return the reason why the name of a resource is not accepted, or "" if it is."""
    resource, group = parse_group_resource(name)
    if name.lower() != name:
        return _CAPITALS
    if name == "*":
        return _STAR
    if name in _INTERNAL_RESOURCES:
        return _NO_REST_API
    if group == "events.k8s.io":
        return _EVENTS
    if group == "extensions":
        return _EXTENSIONS
    return _ACROSS_GROUPS if group == "*" and resource != "*" else ""


def _provider_errors(provider: JsonObject, path: str) -> Iterator[FieldError]:
    chosen = [name for name in PROVIDERS if provider.get(name) is not None]
    if not chosen:
        yield errors.invalid_struct(path, _EMPTY_PROVIDER, _NO_PROVIDER)
        return
    if len(chosen) > 1:
        # kube-apiserver shows the provider with its keys here.
        yield errors.invalid(path, "REDACTED", _SEVERAL_PROVIDERS)
    if chosen[0] == "kms":
        yield errors.invalid(f"{path}.kms", provider["kms"].get("name") or "", _NO_KMS)
    elif chosen[0] != "identity":
        yield from _key_errors(provider[chosen[0]].get("keys") or (), f"{path}.{chosen[0]}.keys", KEY_BYTES[chosen[0]])


def _key_errors(keys: Sequence[JsonObject], path: str, lengths: tuple[int, ...]) -> Iterator[FieldError]:
    if not keys:
        yield errors.required(path, "at least one keys is required")
    for index, key in enumerate(keys):
        if not key.get("name"):
            yield errors.required(f"{path}[{index}].name", "name is a mandatory field for a key")
        at = f"{path}[{index}].secret"
        if not key.get("secret"):
            yield errors.required(at, "secret is a mandatory field for a key")
            continue
        try:
            length = len(decode_base64(key["secret"]))
        except Base64Error:
            yield errors.invalid(at, "REDACTED", "secrets must be base64 encoded")
            continue
        if length not in lengths:
            expected = " ".join(map(str, lengths))
            detail = f"secret is not of the expected length, got {length}, expected one of [{expected}]"
            yield errors.invalid(at, "REDACTED", detail)


def masked_rule(config: JsonObject) -> str:
    """Return kube-apiserver's error if an earlier wildcard hides a resource of a later rule, otherwise ""."""
    earlier: set[GroupResource] = set()
    for rule in config["resources"]:
        for name in rule["resources"]:
            entry = parse_group_resource(name)
            for wildcard in (GroupResource("*", entry.group), ANY):
                if wildcard in earlier:
                    return f'resource "{entry}" is masked by earlier rule "{wildcard}"'
            earlier.add(entry)
    return ""
