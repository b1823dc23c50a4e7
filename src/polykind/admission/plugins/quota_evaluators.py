"""The evaluators of resource quotas: they compute the resources that a request uses, and find its quotas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from polykind.admission.attributes import CREATE, UPDATE, Attributes
from polykind.admission.plugins.resource_lists import (
    ResourceList,
    add,
    parse_resources,
    pod_level_resources,
    pod_limits,
    pod_requests,
)
from polykind.admission.plugins.storage_rules import claim_class
from polykind.contract import JsonObject
from polykind.quantity import Quantity

_ONE = Quantity.of(1)
_ZERO = Quantity.of(0)
_CLASS_SUFFIX = ".storageclass.storage.k8s.io/"
_DEVICE_CLASS_SUFFIX = ".deviceclass.resource.k8s.io/devices"
_MAX_DEVICES = 32
"""The number of devices that a quota counts for a claim that requests all devices."""


@dataclass(frozen=True)
class Evaluator:
    """Evaluates requests for one resource. This base class counts objects."""

    names: frozenset[str]
    """The names in a quota's spec.hard that limit this resource, such as `pods` or `requests.cpu`."""

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation == CREATE and not attributes.resource.subresource

    def matching(self, names: set[str]) -> set[str]:
        """Return the names among `names` that limit this resource."""
        return names & self.names

    def in_scope(self, selector: JsonObject, obj: JsonObject) -> bool:
        """True if an object matches a scope selector of a quota."""
        return False

    def missing(self, names: set[str], obj: JsonObject) -> str:
        """Return the fields that an object lacks although a quota limits them, or "" if the object has all of them."""
        return ""

    def usage(self, obj: JsonObject, now: datetime) -> ResourceList:
        return dict.fromkeys(self.names, _ONE)


class ServiceEvaluator(Evaluator):
    """Counts services, load balancers and node ports."""

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation in (CREATE, UPDATE) and not attributes.resource.subresource

    def usage(self, obj: JsonObject, now: datetime) -> ResourceList:
        spec = obj.get("spec") or {}
        ports, balanced = spec.get("ports") or (), spec.get("type") == "LoadBalancer"
        node_ports = len(ports) if balanced or spec.get("type") == "NodePort" else 0
        if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
            node_ports = sum(1 for port in ports if port.get("nodePort"))
        return {
            "count/services": _ONE,
            "services": _ONE,
            "services.nodeports": Quantity.of(node_ports),
            "services.loadbalancers": _ONE if balanced else _ZERO,
        }


class ClaimEvaluator(Evaluator):
    """Counts PersistentVolumeClaims and their storage, in total and for each storage class."""

    def handles(self, attributes: Attributes) -> bool:
        if attributes.resource.subresource != "status":
            return attributes.operation in (CREATE, UPDATE) and not attributes.resource.subresource
        # kube-apiserver compares two pointers here instead of their values. They always differ, so the result is true.
        return True

    def matching(self, names: set[str]) -> set[str]:
        suffixes = tuple(_CLASS_SUFFIX + name for name in ("persistentvolumeclaims", "requests.storage"))
        return (names & self.names) | {name for name in names if name.endswith(suffixes)}

    def in_scope(self, selector: JsonObject, obj: JsonObject) -> bool:
        if selector.get("scopeName") != "VolumeAttributesClass":
            return False
        status = obj.get("status") or {}
        classes = {
            (obj.get("spec") or {}).get("volumeAttributesClassName"),
            status.get("currentVolumeAttributesClassName"),
            (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
        } - {None, ""}
        if selector.get("operator") == "Exists":
            return bool(classes)
        return any(_matches(selector, name) for name in classes or {None})

    def usage(self, obj: JsonObject, now: datetime) -> ResourceList:
        used = {"persistentvolumeclaims": _ONE, "count/persistentvolumeclaims": _ONE}
        storage = _claimed_storage(obj)
        if storage is not None:
            used["requests.storage"] = storage
        storage_class = claim_class(obj)
        if storage_class:
            used[f"{storage_class}{_CLASS_SUFFIX}persistentvolumeclaims"] = _ONE
            if storage is not None:
                used[f"{storage_class}{_CLASS_SUFFIX}requests.storage"] = storage
        return used


def _claimed_storage(claim: JsonObject) -> Quantity | None:
    """Return the larger of a claim's requested and allocated storage, in whole bytes, or None without a request."""
    requested = parse_resources(((claim.get("spec") or {}).get("resources") or {}).get("requests")).get("storage")
    if requested is None:
        return None
    allocated = parse_resources((claim.get("status") or {}).get("allocatedResources")).get("storage")
    if allocated is not None and allocated > requested:
        requested = allocated
    whole = Quantity.of(requested.value(), requested.format)
    return requested if whole == requested else whole


class DeviceClaimEvaluator(Evaluator):
    """Counts ResourceClaims, and the devices that they request for each device class."""

    def handles(self, attributes: Attributes) -> bool:
        return attributes.operation in (CREATE, UPDATE) and not attributes.resource.subresource

    def matching(self, names: set[str]) -> set[str]:
        return (names & self.names) | {name for name in names if name.endswith(_DEVICE_CLASS_SUFFIX)}

    def usage(self, obj: JsonObject, now: datetime) -> ResourceList:
        used = super().usage(obj, now)
        for request in ((obj.get("spec") or {}).get("devices") or {}).get("requests") or ():
            alternatives = request.get("firstAvailable") or [one for one in (request.get("exactly"),) if one]
            needed: dict[str, int] = {}
            for one in alternatives:
                name = f"{one.get('deviceClassName', '')}{_DEVICE_CLASS_SUFFIX}"
                count = _MAX_DEVICES if one.get("allocationMode") == "All" else int(one.get("count", 0))
                needed[name] = max(needed.get(name, 0), count)
            used = add(used, {name: Quantity.of(count) for name, count in needed.items()})
        return used


_MUST_STATE = frozenset(f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in ("cpu", "memory"))


class PodEvaluator(Evaluator):
    """Counts pods that have not ended, and their requests and limits."""

    def handles(self, attributes: Attributes) -> bool:
        if attributes.resource.subresource == "resize":
            return attributes.operation == UPDATE
        if attributes.resource.subresource:
            return False
        if attributes.operation == UPDATE:
            return _has_deadline(attributes.obj or {}) != _has_deadline(attributes.old or {})
        return attributes.operation == CREATE

    def matching(self, names: set[str]) -> set[str]:
        return {
            name
            for name in names
            if name in self.names or name.startswith(("hugepages-", "requests.hugepages-")) or _is_extended(name)
        }

    def in_scope(self, selector: JsonObject, obj: JsonObject) -> bool:
        scope = selector.get("scopeName", "")
        if scope == "PriorityClass":
            name = (obj.get("spec") or {}).get("priorityClassName") or None
            return name is not None if selector.get("operator") == "Exists" else _matches(selector, name)
        check = _POD_SCOPES.get(scope)
        return check is not None and check(obj)

    def missing(self, names: set[str], obj: JsonObject) -> str:
        spec = obj.get("spec") or {}
        if any(pod_level_resources(spec, field) for field in ("requests", "limits")):
            return ""
        lacking: dict[str, set[str]] = {}
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            requests, limits = (parse_resources(resources.get(field)) for field in ("requests", "limits"))
            for name in (names & _MUST_STATE) - _compute_usage(requests, limits).keys():
                lacking.setdefault(name, set()).add(container["name"])
        parts = [f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)]
        return f"must specify {'; '.join(parts)}" if parts else ""

    def usage(self, obj: JsonObject, now: datetime) -> ResourceList:
        used = {"count/pods": _ONE}
        return used if _is_finished(obj, now) else add(used, _compute_usage(pod_requests(obj), pod_limits(obj)))


def _compute_usage(requests: ResourceList, limits: ResourceList) -> ResourceList:
    """Return requests and limits under the names that quotas use."""
    used = {"pods": _ONE}
    for name in ("cpu", "memory", "ephemeral-storage"):
        if name in requests:
            used[name] = used[f"requests.{name}"] = requests[name]
        if name in limits:
            used[f"limits.{name}"] = limits[name]
    for name, quantity in requests.items():
        if name.startswith("hugepages-"):
            used[name] = used[f"requests.{name}"] = quantity
        if _is_extended_resource(name):
            used[f"requests.{name}"] = quantity
    return used


def _is_extended_resource(name: str) -> bool:
    if name.startswith("deviceclass.resource.kubernetes.io/"):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _is_extended(name: str) -> bool:
    """True if a name in a quota limits requests for an extended resource."""
    if not name.startswith("requests."):
        return False
    return ("/" in name and "kubernetes.io/" not in name) or name.startswith(
        "requests.deviceclass.resource.kubernetes.io/"
    )


def _has_deadline(pod: JsonObject) -> bool:
    seconds = (pod.get("spec") or {}).get("activeDeadlineSeconds")
    return seconds is not None and seconds >= 0


def is_best_effort(pod: JsonObject) -> bool:
    """True if no container of a pod requests or limits CPU or memory."""
    spec = pod.get("spec") or {}
    holders = [spec, *(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    if spec.get("resources"):
        holders = [spec]
    return not any(
        quantity.sign > 0
        for one in holders
        for field in ("requests", "limits")
        for name, quantity in parse_resources((one.get("resources") or {}).get(field)).items()
        if name in ("cpu", "memory")
    )


def _crosses_namespaces(pod: JsonObject) -> bool:
    """True if an affinity or anti-affinity term of the pod can select pods in other namespaces."""
    affinity = (pod.get("spec") or {}).get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        terms = list(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [term.get("podAffinityTerm") or {} for term in preferred]
        if any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms):
            return True
    return False


_POD_SCOPES: dict[str, Callable[[JsonObject], bool]] = {
    "Terminating": _has_deadline,
    "NotTerminating": lambda pod: not _has_deadline(pod),
    "BestEffort": is_best_effort,
    "NotBestEffort": lambda pod: not is_best_effort(pod),
    "CrossNamespacePodAffinity": _crosses_namespaces,
}


def _is_finished(pod: JsonObject, now: datetime) -> bool:
    """True if a pod has ended, or if the grace period of its deletion is over."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return True
    meta = pod.get("metadata") or {}
    stamp, grace = meta.get("deletionTimestamp"), meta.get("deletionGracePeriodSeconds")
    if not stamp or grace is None:
        return False
    return now > datetime.fromisoformat(stamp.replace("Z", "+00:00")) + timedelta(seconds=grace)


def _matches(selector: JsonObject, value: str | None) -> bool:
    """True if a value (None: unset) satisfies a scope selector."""
    operator, values = selector.get("operator", ""), selector.get("values") or ()
    return {
        "In": value is not None and value in values,
        "NotIn": value is None or value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }.get(operator, False)


def _counted(group: str, plural: str) -> str:
    return f"count/{plural}.{group}" if group else f"count/{plural}"


_POD_NAMES = frozenset(
    (
        *("count/pods", "pods"),
        *(f"{p}{n}" for p in ("", "requests.", "limits.") for n in ("cpu", "memory", "ephemeral-storage")),
    )
)
_EVALUATORS: dict[tuple[str, str], Evaluator] = {
    ("", "pods"): PodEvaluator(_POD_NAMES),
    ("", "services"): ServiceEvaluator(
        frozenset(("count/services", "services", "services.nodeports", "services.loadbalancers"))
    ),
    ("", "persistentvolumeclaims"): ClaimEvaluator(
        frozenset(("count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"))
    ),
    ("resource.k8s.io", "resourceclaims"): DeviceClaimEvaluator(frozenset(("count/resourceclaims.resource.k8s.io",))),
    **{
        ("", plural): Evaluator(frozenset((plural, f"count/{plural}")))
        for plural in ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")
    },
}

_IGNORED = frozenset(
    (
        *(("", plural) for plural in ("bindings", "componentstatuses", "events")),
        *(("authentication.k8s.io", plural) for plural in ("tokenreviews", "selfsubjectreviews")),
        *(
            ("authorization.k8s.io", f"{kind}reviews")
            for kind in ("subjectaccess", "selfsubjectaccess", "localsubjectaccess", "selfsubjectrules")
        ),
        ("events.k8s.io", "events"),
    )
)


_SIZE = "polykind.dev/bytes"
"""The name in a quota's spec.hard that limits the bytes of all custom objects. kube-apiserver ignores it."""


def size_names(group: str, plural: str) -> set[str]:
    """Return the names in a quota's spec.hard that limit the stored bytes of a custom resource."""
    return {_SIZE, f"{_SIZE}.{plural}.{group}"}


def limits_size(name: str) -> bool:
    """True if a name in a quota's spec.hard limits stored bytes."""
    return name == _SIZE or name.startswith(f"{_SIZE}.")


def limited_resources(names: Iterable[str]) -> tuple[set[tuple[str, str]], bool]:
    """Return the group and plural of each resource that names in a quota's spec.hard limit.

    The second value is true if a name limits all custom resources.
    """
    found: set[tuple[str, str]] = set()
    evaluated: set[str] = set()
    for name in names:
        prefix, slash, rest = name.partition("/")
        if prefix == "count" and slash:
            plural, _, group = rest.partition(".")
            found.add((group, plural))
        elif limits_size(name):
            plural, _, group = rest.removeprefix("bytes").removeprefix(".").partition(".")
            found |= {(group, plural)} if plural else set()
        else:
            evaluated.add(name)
    found |= {key for key, evaluator in _EVALUATORS.items() if evaluator.matching(evaluated)}
    return found - _IGNORED, _SIZE in names


def quota_scopes(quota: JsonObject) -> list[JsonObject]:
    """Return the scopes of a quota as scope selectors."""
    spec = quota.get("spec") or {}
    scopes: list[JsonObject] = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return scopes + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def in_scopes(quota: JsonObject, obj: JsonObject, evaluator: Evaluator) -> bool:
    """True if an object is in all scopes of a quota."""
    return all(evaluator.in_scope(scope, obj) for scope in quota_scopes(quota))


def evaluator_for(group: str, plural: str) -> Evaluator | None:
    """Return the evaluator of a resource. Return None if quotas do not count objects of the resource."""
    if (group, plural) in _IGNORED:
        return None
    return _EVALUATORS.get((group, plural)) or Evaluator(frozenset((_counted(group, plural),)))
