"""Defaults of pods and pod templates."""

from __future__ import annotations

from polykind.apis.core.container_defaults import default_container
from polykind.apis.core.pod_resources import aggregate_resources, all_containers
from polykind.apis.core.resource_defaults import round_quantities, round_resources
from polykind.apis.core.resource_names import is_huge_pages, is_overcommit_allowed, is_pod_level
from polykind.apis.core.volume_defaults import default_volume
from polykind.contract import JsonObject

_STATUS_LISTS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_SPEC_DEFAULTS = {"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler"}
_GRACE_PERIOD = 30
_OLD_INIT_CONTAINER_ANNOTATIONS = tuple(
    f"pod.{stage}.kubernetes.io/init-container{suffix}" for stage in ("beta", "alpha") for suffix in ("s", "-statuses")
)


def default_pod(pod: JsonObject) -> None:
    """Set the defaults of a Pod, in place."""
    spec = pod.setdefault("spec", {})
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            _request_the_limits(container)
    if spec.get("resources") is not None:
        _default_huge_page_limits(spec)
        _default_pod_requests(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    drop_init_container_annotations(pod["metadata"])
    _default_status(pod.setdefault("status", {}))


def default_pod_template(template: JsonObject) -> None:
    """Set the defaults of the pod template of a workload, in place."""
    default_pod_spec(template.setdefault("spec", {}))
    drop_init_container_annotations(template.setdefault("metadata", {}))


def default_pod_spec(spec: JsonObject) -> None:
    """Set the defaults that apply both to the spec of a Pod and to the spec in a pod template, in place."""
    for field, value in _SPEC_DEFAULTS.items():
        if not spec.get(field):
            spec[field] = value
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", _GRACE_PERIOD)
    _copy_service_account_name(spec)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    for _, container in all_containers(spec):
        default_container(container)
    round_quantities(spec.get("overhead"))
    round_resources(spec.get("resources"))


def drop_init_container_annotations(metadata: JsonObject) -> None:
    """Remove the annotations that declared init containers before Kubernetes 1.8, in place."""
    annotations = metadata.get("annotations")
    if annotations and not annotations.keys().isdisjoint(_OLD_INIT_CONTAINER_ANNOTATIONS):
        for key in _OLD_INIT_CONTAINER_ANNOTATIONS:
            annotations.pop(key, None)
        if not annotations:
            del metadata["annotations"]


def _copy_service_account_name(spec: JsonObject) -> None:
    """Give `serviceAccountName` and its deprecated alias `serviceAccount` the same value."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _request_the_limits(container: JsonObject) -> None:
    """Set missing requests of a container to the limits of the same resources."""
    resources = container.get("resources") or {}
    if limits := resources.get("limits"):
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _default_huge_page_limits(spec: JsonObject) -> None:
    """Set missing limits of the pod for huge pages to the sum over its containers. Skip sizes that the pod requests."""
    resources = spec["resources"]
    requests, limits = resources.get("requests") or {}, dict(resources.get("limits") or {})
    if not limits and not requests:
        return
    for name, quantity in aggregate_resources(spec, "limits").items():
        if is_huge_pages(name) and name not in requests:
            limits.setdefault(name, quantity.canonical())
    if limits:
        resources["limits"] = limits


def _default_pod_requests(spec: JsonObject) -> None:
    """Set the missing requests in pod-level resources, if the pod has pod-level limits.

    A request defaults to the aggregate of the containers or, if no container requests the resource, to the limit.
    """
    resources = spec["resources"]
    limits, requests = resources.get("limits") or {}, dict(resources.get("requests") or {})
    if not limits:
        return
    for name, quantity in aggregate_resources(spec, "requests").items():
        if is_pod_level(name) and is_overcommit_allowed(name):
            requests.setdefault(name, quantity.canonical())
    for name, limit in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, limit)
    if requests:
        resources["requests"] = requests


def _default_host_ports(spec: JsonObject) -> None:
    """Set missing host ports to the container ports. The caller does this for pods in the network of their node."""
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


def _default_status(status: JsonObject) -> None:
    pod_ip, pod_ips = status.get("podIP"), status.get("podIPs")
    if pod_ip and (not pod_ips or pod_ips[0].get("ip") != pod_ip):
        status["podIPs"] = [{"ip": pod_ip}]
    elif pod_ips and pod_ips[0].get("ip"):
        status["podIP"] = pod_ips[0]["ip"]
    for name in _STATUS_LISTS:
        for container in status.get(name) or ():
            round_quantities(container.get("allocatedResources"))
            round_resources(container.get("resources"))
    round_quantities(status.get("allocatedResources"))
    round_resources(status.get("resources"))
