"""The names of resources, such as cpu and example.com/gpu, in pods, quotas, limit ranges and nodes."""

from __future__ import annotations

from polykind import names

HUGE_PAGES = "hugepages-"
REQUESTS = "requests."
_NATIVE_PREFIX = "kubernetes.io/"

POD_RESOURCES = ("cpu", "memory")
CONTAINER_RESOURCES = frozenset(("cpu", "memory", "ephemeral-storage"))
_INTEGER_RESOURCES = frozenset(
    (
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    )
)
_QUOTA_RESOURCES = _INTEGER_RESOURCES | {
    *CONTAINER_RESOURCES,
    *("requests.cpu", "requests.memory", "requests.storage", "requests.ephemeral-storage"),
    *("limits.cpu", "limits.memory", "limits.ephemeral-storage"),
}


def is_huge_pages(name: str) -> bool:
    """True for a resource such as hugepages-2Mi."""
    return name.startswith(HUGE_PAGES)


def is_native(name: str) -> bool:
    """True if the name has no domain or a domain that ends with kubernetes.io."""
    return "/" not in name or _NATIVE_PREFIX in name


def is_extended(name: str) -> bool:
    """True for a resource that a cluster defines itself, such as example.com/gpu."""
    if is_native(name) or name.startswith(REQUESTS):
        return False
    return not names.qualified_name(REQUESTS + name)


def is_integer(name: str) -> bool:
    """True if only whole numbers of the resource can be requested."""
    return name in _INTEGER_RESOURCES or is_extended(name)


def is_overcommit_allowed(name: str) -> bool:
    """True if the limit of the resource may be higher than the request."""
    return is_native(name) and not is_huge_pages(name)


def is_standard(name: str) -> bool:
    """True if the resource is one of Kubernetes' own resources, such as cpu. Their names have no domain."""
    return name == "storage" or is_standard_for_quota(name)


def is_standard_for_container(name: str) -> bool:
    """True if the resource is one of Kubernetes' own that a container can request, such as cpu or hugepages-2Mi."""
    return name in CONTAINER_RESOURCES or is_huge_pages(name)


def is_pod_level(name: str) -> bool:
    """True if the resource can be requested for a whole pod."""
    return name in POD_RESOURCES or is_huge_pages(name)


def is_standard_for_quota(name: str) -> bool:
    """True if the resource is one of Kubernetes' own that a quota can limit, such as pods or requests.cpu."""
    return name in _QUOTA_RESOURCES or name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES))
