"""The PodSecurity plugin: enforces the Pod Security Standards that a namespace's labels choose."""

from __future__ import annotations

import asyncio
import re
from typing import NamedTuple

from polykind import errors
from polykind.admission.attributes import CREATE, UPDATE, Attributes
from polykind.admission.plugins.builtin_plugin import BuiltinPlugin, PluginServices
from polykind.admission.plugins.pod_security_checks import LATEST, evaluate
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote

_PREFIX = "pod-security.kubernetes.io/"
_LEVELS = ("privileged", "baseline", "restricted")
_VERSION = re.compile(r"v1\.([0-9]|[1-9][0-9]*)", re.ASCII)
_MAX_INT = 2**63 - 1
_MAX_PODS = 3000
"""The maximum number of existing pods that are checked when a namespace gets a stricter level."""
_BATCH = 100
"""The number of pods that are checked before other requests can run."""
_CONNECT_SUBRESOURCES = frozenset(("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"))


class LevelVersion(NamedTuple):
    """A level of the Pod Security Standards at a minor version of Kubernetes."""

    level: str = "privileged"
    minor: int = LATEST

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor == LATEST else f'v1.{self.minor}'}"


class Policy(NamedTuple):
    """The enforce, audit and warn levels of a namespace."""

    enforce: LevelVersion = LevelVersion()
    audit: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()


PRIVILEGED = Policy()


class PodSecurityDefaults:
    """A PodSecurityConfiguration: the policy of namespaces without labels, and what no policy applies to."""

    def __init__(self, configuration: JsonObject | None = None) -> None:
        """Raise ValueError if the configuration is invalid."""
        configuration = configuration or {}
        modes: JsonObject = configuration.get("defaults") or {}
        labels = {f"{_PREFIX}{field}": text for field, text in modes.items() if text}
        problems: list[FieldError] = []
        self.policy = Policy(*(_mode_of(labels, mode, PRIVILEGED, problems) for mode in Policy._fields))
        exemptions: JsonObject = configuration.get("exemptions") or {}
        self.users, self.namespaces, self.runtime_classes = (
            frozenset[str](exemptions.get(field) or ()) for field in ("usernames", "namespaces", "runtimeClasses")
        )
        texts = [f"defaults.{p.field.partition(_PREFIX)[2][:-1]}: {p.value!r} {p.detail}" for p in problems]
        texts += [
            f"exemptions.{field}: Duplicate value"
            for field, values in exemptions.items()
            if len(set(values or ())) < len(values or ())
        ]
        if texts:
            raise ValueError("; ".join(texts))


def namespace_policy(labels: JsonObject | None, defaults: Policy = PRIVILEGED) -> tuple[Policy, list[FieldError]]:
    """Return the policy that a namespace's labels choose, and the errors of invalid labels.

    `defaults` is the policy without labels. An invalid `enforce` level is treated as restricted, other invalid levels
    as privileged. If there is no `warn` label, violations of an enforced level also cause warnings.
    """
    labels = labels or {}
    problems: list[FieldError] = []
    modes = {mode: _mode_of(labels, mode, defaults, problems) for mode in ("enforce", "audit", "warn")}
    enforce, warn = modes["enforce"], modes["warn"]
    if f"{_PREFIX}warn" not in labels and labels.get(f"{_PREFIX}enforce") in _LEVELS and _stricter(enforce, warn):
        version_label = f"{_PREFIX}warn-version" in labels
        modes["warn"] = LevelVersion(enforce.level, warn.minor if version_label else enforce.minor)
    return Policy(**modes), problems


def _mode_of(labels: JsonObject, mode: str, defaults: Policy, problems: list[FieldError]) -> LevelVersion:
    default: LevelVersion = getattr(defaults, mode)
    level = labels.get(_PREFIX + mode, default.level)
    if level not in _LEVELS:
        problems.append(_invalid_label(mode, level, f"must be one of {', '.join(_LEVELS)}"))
        level = "restricted" if mode == "enforce" else "privileged"
    version_label, minor = labels.get(f"{_PREFIX}{mode}-version"), default.minor
    if version_label is not None:
        match = _VERSION.fullmatch(version_label)
        minor = LATEST
        if match is not None and int(match[1]) <= _MAX_INT:
            minor = int(match[1])
        elif version_label != "latest":
            problems.append(_invalid_label(f"{mode}-version", version_label, 'must be "latest" or "v1.x"'))
    return LevelVersion(level, minor)


def _invalid_label(name: str, value: str, reason: str) -> FieldError:
    return errors.invalid(f"metadata.labels[{_PREFIX}{name}]", value, reason)


def _stricter(one: LevelVersion, other: LevelVersion) -> bool:
    return _LEVELS.index(one.level) > _LEVELS.index(other.level)


def _tightens(old: LevelVersion, new: LevelVersion) -> bool:
    """True if pods that satisfy the old level may violate the new one."""
    if new == old or new.level == "privileged":
        return False
    return new.minor != old.minor or _stricter(new, old)


class PodSecurity(BuiltinPlugin):
    """Rejects pods that violate the enforced level, and warns about pods and workloads that violate the warn level."""

    def __init__(self, services: PluginServices) -> None:
        super().__init__(services)
        self._defaults = PodSecurityDefaults(services.configurations.get("PodSecurity"))

    def handles(self, attributes: Attributes) -> bool:
        resource = attributes.resource
        if attributes.operation not in (CREATE, UPDATE):
            return False
        if (resource.group, resource.plural) == ("", "pods"):
            return resource.subresource not in _CONNECT_SUBRESOURCES
        return not resource.subresource

    async def validate(self, attributes: Attributes, obj: JsonObject) -> None:
        resource = attributes.resource
        if (resource.group, resource.plural) == ("", "namespaces"):
            await self._validate_namespace(attributes, obj)
            return
        exempt = self._exemption(attributes)
        if exempt:
            attributes.notes.annotate_admission(f"{_PREFIX}exempt", exempt)
            return
        namespace = attributes.namespace_object() or {}
        policy, problems = namespace_policy((namespace.get("metadata") or {}).get("labels"), self._defaults.policy)
        if resource.plural == "pods":
            self._validate_pod(attributes, obj, policy, valid=not problems)
            return
        template = _template(obj)
        if not self._is_exempt_class(attributes, template[1]):
            _audit(attributes, policy.audit, *template)
            _warn(attributes, policy.warn, *template)

    def _exemption(self, attributes: Attributes) -> str:
        """Return why no policy applies to the request: "namespace", "user", or "" if one does."""
        if attributes.namespace in self._defaults.namespaces:
            return "namespace"
        return "user" if attributes.user.name in self._defaults.users else ""

    def _is_exempt_class(self, attributes: Attributes, spec: JsonObject) -> bool:
        """True if the runtime class of a pod is exempt."""
        exempt = spec.get("runtimeClassName") in self._defaults.runtime_classes
        if exempt:
            attributes.notes.annotate_admission(f"{_PREFIX}exempt", "runtimeClass")
        return exempt

    async def _validate_namespace(self, attributes: Attributes, namespace: JsonObject) -> None:
        labels, defaults = namespace["metadata"].get("labels"), self._defaults.policy
        new, problems = namespace_policy(labels, defaults)
        old, old_problems = defaults, list[FieldError]()
        if attributes.old is not None:
            old, old_problems = namespace_policy(attributes.old["metadata"].get("labels"), defaults)
        if problems and problems != old_problems:
            raise errors.InvalidError("Namespace", "", attributes.name, problems)
        tightens = attributes.operation == UPDATE and _tightens(old.enforce, new.enforce)
        if attributes.name in self._defaults.namespaces:
            if tightens or attributes.operation == CREATE:
                _warn_of_exemption(attributes, labels or {}, new, defaults)
        elif tightens:
            await self._check_existing_pods(attributes, new.enforce)

    async def _check_existing_pods(self, attributes: Attributes, enforce: LevelVersion) -> None:
        """Warn about the pods of a namespace that violate its new level."""
        pods = [
            pod
            for pod in await self.services.objects.list("", "pods", attributes.name)
            if (pod.get("spec") or {}).get("runtimeClassName") not in self._defaults.runtime_classes
        ]
        for warning in await existing_pod_warnings(attributes.name, enforce, pods):
            attributes.notes.warn(warning)

    def _validate_pod(self, attributes: Attributes, pod: JsonObject, policy: Policy, *, valid: bool) -> None:
        if valid and {mode.level for mode in policy} == {"privileged"}:
            attributes.notes.annotate_admission(f"{_PREFIX}enforce-policy", "privileged:latest")
            return
        if attributes.old is not None and not _is_significant(pod, attributes.old):
            return
        if self._is_exempt_class(attributes, pod.get("spec") or {}):
            return
        attributes.notes.annotate_admission(f"{_PREFIX}enforce-policy", str(policy.enforce))
        _audit(attributes, policy.audit, pod["metadata"], pod.get("spec") or {})
        violations = evaluate(*policy.enforce, pod["metadata"], pod.get("spec") or {})
        if violations:
            reason = f"violates PodSecurity {go_quote(str(policy.enforce))}: {', '.join(map(str, violations))}"
            raise errors.ForbiddenError("pods", "", attributes.name, reason)
        _warn(attributes, policy.warn, pod["metadata"], pod.get("spec") or {})


def _warn_of_exemption(attributes: Attributes, labels: JsonObject, policy: Policy, defaults: Policy) -> None:
    """Warn that the labels of an exempt namespace have no effect."""
    if {mode.level for mode in policy} == {"privileged"} or policy == defaults:
        return
    chosen = [
        f"{mode}={getattr(policy, mode)}"
        for mode in Policy._fields
        if getattr(policy, mode).level != "privileged"
        and (f"{_PREFIX}{mode}" in labels or f"{_PREFIX}{mode}-version" in labels)
    ]
    name = go_quote(attributes.name)
    attributes.notes.warn(
        f"namespace {name} is exempt from Pod Security, and the policy ({', '.join(chosen)}) will be ignored"
    )


def _audit(attributes: Attributes, level: LevelVersion, metadata: JsonObject, spec: JsonObject) -> None:
    if text := _violation(level, metadata, spec):
        attributes.notes.annotate_admission(f"{_PREFIX}audit-violations", text)


def _warn(attributes: Attributes, level: LevelVersion, metadata: JsonObject, spec: JsonObject) -> None:
    if text := _violation(level, metadata, spec):
        attributes.notes.warn(text)


def _violation(level: LevelVersion, metadata: JsonObject, spec: JsonObject) -> str:
    """Return how a pod violates a level, or "" if it does not."""
    violations = evaluate(*level, metadata, spec)
    if not violations:
        return ""
    return f"would violate PodSecurity {go_quote(str(level))}: {', '.join(map(str, violations))}"


def _template(obj: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return the metadata and the spec of the pod template of a workload."""
    if obj.get("kind") == "PodTemplate":
        template = obj.get("template")
    else:
        spec = obj.get("spec") or {}
        if "jobTemplate" in spec:
            spec = spec["jobTemplate"].get("spec") or {}
        template = spec.get("template")
    template = template or {}
    return template.get("metadata") or {}, template.get("spec") or {}


def _is_significant(pod: JsonObject, old: JsonObject) -> bool:
    """True if an update changes the image of a container, or the number of containers."""
    new_spec, old_spec = pod.get("spec") or {}, old.get("spec") or {}
    for field in ("containers", "initContainers"):
        images, old_images = (
            [container.get("image") for container in spec.get(field) or ()] for spec in (new_spec, old_spec)
        )
        if images != old_images:
            return True
    previous = {c["name"]: c.get("image") for c in reversed(old_spec.get("ephemeralContainers") or ())}
    added = new_spec.get("ephemeralContainers") or ()
    return any(c["name"] not in previous or previous[c["name"]] != c.get("image") for c in added)


async def existing_pod_warnings(namespace: str, enforce: LevelVersion, pods: list[JsonObject]) -> list[str]:
    """Return the warnings about existing pods that violate a namespace's new level.

    Pods that violate the level for the same reason share one warning, which contains their number.
    """
    by_reason: dict[str, list[str]] = {}
    checked = _prioritized(pods)[:_MAX_PODS]
    for number, pod in enumerate(checked, 1):
        violations = evaluate(*enforce, pod["metadata"], pod.get("spec") or {})
        if violations:
            reason = ", ".join(violation.reason for violation in violations)
            by_reason.setdefault(reason, []).append(pod["metadata"]["name"])
        if number % _BATCH == 0:
            await asyncio.sleep(0)
    warnings = []
    if len(checked) < len(pods):
        scope = f"the first {len(checked)} of {len(pods)} existing pods"
        warnings.append(f"new PodSecurity enforce level only checked against {scope}")
    if by_reason:
        level = go_quote(str(enforce))
        place = go_quote(namespace)
        warnings.append(f"existing pods in namespace {place} violate the new PodSecurity enforce level {level}")
    return warnings + sorted(f"{_counted(names)}: {reason}" for reason, names in by_reason.items())


def _counted(names: list[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{min(names)} (and {others} other pod{'s' if others > 1 else ''})"


def _prioritized(pods: list[JsonObject]) -> list[JsonObject]:
    """Return the pods in another order: the first pod of each controller comes before all further pods."""
    first, repeated, seen = list[JsonObject](), list[JsonObject](), set[str]()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        uid = next((owner.get("uid") for owner in owners if owner.get("controller")), None)
        (repeated if uid in seen else first).append(pod)
        if uid is not None:
            seen.add(uid)
    return first + repeated
