"""Requests that kube-apiserver forwards to a node, a pod or a service: log, exec, attach, portforward, proxy.

There are no nodes behind this server. It checks such a request as kube-apiserver does, then fails as kube-apiserver
does if nothing listens at the address.
"""

from __future__ import annotations

from polykind import errors
from polykind.addresses import parse_ip
from polykind.apis.core.pod_resources import all_containers
from polykind.auth.authorizer import Access
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.golang.fmt import go_quote
from polykind.golang.query import first_value
from polykind.golang.strconv import parse_int64
from polykind.golang.time import parse_rfc3339
from polykind.names import path_segment
from polykind.operations.operation import Operation
from polykind.operations.options import int_value
from polykind.operations.responses import Response
from polykind.resources.builtin import find_builtin
from polykind.verbs.connect_options import admitted_options

_ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_KUBELET_PORT = 10250
_SCHEMES = ("http", "https")


async def get_log(op: Operation) -> Response:
    """Serve GET pods/<name>/log. The log of a pod without a node is empty."""
    if found := _log_option_errors(op):
        raise errors.InvalidError("PodLogOptions", "", op.name, found)
    pod = await _find(op, "pods", op.name)
    container = _container(op, pod, first_value(op.query, "container"))
    if not pod["spec"].get("nodeName"):
        return Response(204, b"", b"")
    host, port = await _kubelet_address(op, pod)
    url = f"https://{host}:{port}/containerLogs/{op.namespace}/{op.name}/{container}"
    query = f"?{op.parameters}" if op.parameters else ""
    raise errors.UnknownReasonError(f"Get {go_quote(url + query)}: {_refused(host, port)}")


async def open_stream(op: Operation) -> Response:
    """Serve exec, attach and portforward of a pod.

    A WebSocket begins with a GET. A client that may only read must not run commands, so the verb `create` is always
    required, as for a POST.
    """
    options = await admitted_options(op)
    await _require_create(op)
    pod = await _find(op, "pods", op.name)
    if op.subresource != "portforward":
        _container(op, pod, options.get("container") or "")
    if not pod["spec"].get("nodeName"):
        raise errors.BadRequestError(f"pod {op.name} does not have a host assigned")
    host, number = await _kubelet_address(op, pod)
    if not op.transport.upgrades:
        raise errors.BadRequestError("Upgrade request required")
    raise errors.UnknownReasonError(f"error dialing backend: {_refused(host, str(number))}")


async def _require_create(op: Operation) -> None:
    """Raise ForbiddenError if the client may not send this request with POST."""
    user = op.user
    if user is None or op.verb == "create" or op.backend.authorizer.allows_everything:
        return
    group, plural = op.resource.group, op.resource.plural
    version, namespace = op.version.version, op.namespace or ""
    access = Access(user, "create", group, version, plural, op.subresource, namespace, op.name)
    decision = await op.backend.authorizer.decide(access)
    if not decision.allowed and decision.error:
        raise errors.UnknownReasonError(decision.error)
    if not decision.allowed:
        raise errors.ForbiddenError(plural, group, op.name, decision.reason)


async def proxy_pod(op: Operation) -> Response:
    """Serve pods/<name>/proxy."""
    await admitted_options(op)
    _, name, port = _split_target(op, "pod")
    pod = await _find(op, "pods", name)
    if not port:
        ports = [item for _, container in all_containers(pod["spec"]) for item in container.get("ports") or ()]
        port = str(ports[0].get("containerPort", "")) if ports else ""
    raise _unreachable((pod.get("status") or {}).get("podIP") or "", port or "80")


async def proxy_service(op: Operation) -> Response:
    """Serve services/<name>/proxy."""
    await admitted_options(op)
    _, name, port = _split_target(op, "service")
    number = parse_int64(port) if port else None
    if number is not None:
        service = await _find(op, "services", name)
        ports = [item for item in (service.get("spec") or {}).get("ports") or () if item.get("port") == number]
        if not ports:
            raise errors.ServiceUnavailableError(f"no service port {number} found for service {go_quote(name)}")
        port = ports[0].get("name") or ""
    # kube-apiserver reports missing Endpoints as a missing service.
    endpoints = await _find(op, "endpoints", name, shown_as="services")
    subsets = endpoints.get("subsets") or []
    if not subsets:
        raise errors.ServiceUnavailableError(f"no endpoints available for service {go_quote(name)}")
    for subset in subsets:
        for item in subset.get("ports") or ():
            addresses = [address for address in subset.get("addresses") or () if await _is_pod(op, address)]
            if (item.get("name") or "") == port and addresses:
                raise _unreachable(addresses[0].get("ip") or "", str(item.get("port")))
    raise errors.ServiceUnavailableError(f"no endpoints available for service {go_quote(op.name)}")


async def proxy_node(op: Operation) -> Response:
    """Serve nodes/<name>/proxy."""
    await admitted_options(op)
    _, name, port = _split_target(op, "node")
    host, kubelet_port = _preferred_address(await _find(op, "nodes", name))
    raise _unreachable(host, port or str(kubelet_port))


def _log_option_errors(op: Operation) -> list[FieldError]:
    query = op.query
    since = int_value(query, "sinceSeconds")
    since_time = first_value(query, "sinceTime")
    if since_time:
        try:
            parse_rfc3339(since_time)
        except ValueError as error:
            raise errors.BadRequestError(str(error)) from None
    lines, limit = int_value(query, "tailLines"), int_value(query, "limitBytes")
    found = []
    if lines is not None and lines < 0:
        found.append(errors.invalid("tailLines", lines, "must be greater than or equal to 0"))
    if limit is not None and limit < 1:
        found.append(errors.invalid("limitBytes", limit, "must be greater than 0"))
    if since is not None and since_time:
        reason = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        found.append(errors.forbidden("[]", reason))
    elif since is not None and since < 1:
        found.append(errors.invalid("sinceSeconds", since, "must be greater than 0"))
    if query.get("stream"):
        found.append(errors.forbidden("stream", "may not be specified"))
    return found


async def _find(op: Operation, plural: str, name: str, shown_as: str = "") -> JsonObject:
    """Return an object of a core resource, such as a pod.

    If it does not exist, raise NotFoundError. The error names the resource `shown_as` or, if that is empty, `plural`.
    """
    resource = find_builtin(op.backend.registry, "", plural)
    await op.backend.cache.load(resource.cache)
    await op.backend.cache.wait_until_fresh(resource.cache)
    cached = resource.cache.get(resource.key(op.namespace or "", name))
    if cached is None and (reasons := path_segment(name)):
        raise errors.BadRequestError(f"Name parameter invalid: {go_quote(name)}: {';'.join(reasons)}")
    if cached is None:
        raise errors.NotFoundError(shown_as or plural, "", name)
    return resource.shown(cached)


async def _is_pod(op: Operation, address: JsonObject) -> bool:
    """True if an endpoint address refers to a pod that exists. kube-apiserver forwards to no other addresses."""
    reference = address.get("targetRef") or {}
    try:
        pod = await _find(op, "pods", reference.get("name") or "")
    except (errors.NotFoundError, errors.BadRequestError):
        return False
    return any(item.get("ip") == address.get("ip") for item in (pod.get("status") or {}).get("podIPs") or ())


def _container(op: Operation, pod: JsonObject, wanted: str) -> str:
    """Return `wanted`, or the name of the only container of the pod if `wanted` is empty."""
    names = [container.get("name") or "" for _, container in all_containers(pod["spec"])]
    if wanted:
        if wanted not in names:
            raise errors.BadRequestError(f"container {wanted} is not valid for pod {op.name}")
        return wanted
    containers = pod["spec"].get("containers") or []
    if len(containers) == 1:
        return containers[0].get("name") or ""
    listed = " ".join(names)
    raise errors.BadRequestError(f"a container name must be specified for pod {op.name}, choose one of: [{listed}]")


async def _kubelet_address(op: Operation, pod: JsonObject) -> tuple[str, int]:
    # kube-apiserver reports a missing node as a missing pod.
    return _preferred_address(await _find(op, "nodes", pod["spec"]["nodeName"], shown_as="pods"))


def _preferred_address(node: JsonObject) -> tuple[str, int]:
    """Return the address and the port of a node's kubelet. Raise APIError if the node has reported no address."""
    status = node.get("status") or {}
    addresses = status.get("addresses") or []
    for kind in _ADDRESS_TYPES:
        for address in addresses:
            if address.get("type") == kind:
                endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
                return address.get("address") or "", endpoint.get("Port") or _KUBELET_PORT
    known = " ".join(f"{{{address.get('type')} {address.get('address')}}}" for address in addresses)
    raise errors.UnknownReasonError(f"no preferred addresses found; known addresses: [{known}]")


def _split_target(op: Operation, kind: str) -> tuple[str, str, str]:
    """Split [scheme:]name[:port], the name in the path of a proxy request. Raise BadRequestError if it is invalid."""
    parts = op.name.split(":")
    if len(parts) == 1:
        return "", parts[0], ""
    scheme, name, port = ("", *parts) if len(parts) == 2 else (parts if len(parts) == 3 else ("invalid", "", ""))
    if (scheme and scheme not in _SCHEMES) or not name:
        raise errors.BadRequestError(f"invalid {kind} request {go_quote(op.name)}")
    return scheme, name, port


def _unreachable(host: str, port: str) -> errors.APIError:
    """Return the error for a proxy request to this address: not allowed if the address is local, else unreachable."""
    ip = parse_ip(host) if host else None
    if ip is not None and not (ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified):
        return errors.ServiceUnavailableError(f"error trying to reach service: {_refused(host, port)}")
    return errors.BadRequestError("address not allowed")


def _refused(host: str, port: str | int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"dial tcp {shown}:{port}: connect: connection refused"
