"""Services: here only names, by which a webhook's clientConfig can say where the webhook is."""

from __future__ import annotations

from polykind import errors, names
from polykind.apis.core.types import SERVICE
from polykind.apply.ownership import SPEC_RESET
from polykind.apply.typemodel import SERVICE_MODEL
from polykind.cache.watch_cache import WatchCache
from polykind.codec.table import SERVICES
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy, BuiltinType, builtin_version
from polykind.resources.resource import Resource
from polykind.selectors import field_selectors

EXTERNAL = "ExternalName"
_TYPES = ("ClusterIP", EXTERNAL, "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


class ServiceResource(Resource):
    """The core resource `services`."""

    status_reset = SPEC_RESET
    returns_deleted_object = True

    def __init__(self, cache: WatchCache) -> None:
        super().__init__(
            # Apart from those of a Kubernetes on the same etcd: its services are not ours to serve, nor ours its.
            cache.resource("polykind", "services"),
            group="",
            plural="services",
            singular="service",
            kind="Service",
            list_kind="ServiceList",
            namespaced=True,
            storage="v1",
        )
        self.versions["v1"] = builtin_version(self, _TYPE, ServiceStrategy(namespaced=True), defaults=set_defaults)

    def external_name(self, namespace: str, name: str) -> str | None:
        """The host that a service of type ExternalName stands for."""
        entry = self.cache.get(self.key(namespace, name))
        spec = entry.decode().get("spec") if entry is not None else None
        return spec.get("externalName") if isinstance(spec, dict) and spec.get("type") == EXTERNAL else None


_TYPE = BuiltinType(
    SERVICE,
    SERVICE_MODEL,
    SERVICES,
    "core",
    ("v1",),
    selectable=(".spec.clusterIP", ".spec.type"),
    unknown_field_label=field_selectors.unsupported_field,
    has_status=True,
)


def set_defaults(obj: JsonObject) -> None:
    """Set the defaults of a Service, in place."""
    spec = obj["spec"]
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port", 0))


class ServiceStrategy(BuiltinStrategy):
    """Prepares and validates Services."""

    def prepare_create(self, obj: JsonObject) -> None:
        obj["status"] = {"loadBalancer": {}}

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        found = self._meta_errors(obj, None)
        name = obj["metadata"].get("name", "")
        if name and not any(e.field == "metadata.name" for e in found):
            found += [errors.invalid("metadata.name", name, text) for text in names.dns1035_label(name)]
        return found + _spec_errors(obj["spec"])

    def prepare_update(self, new: JsonObject, old: JsonObject) -> None:
        new["status"] = old.get("status", {"loadBalancer": {}})

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._meta_errors(new, old) + _spec_errors(new["spec"])

    def prepare_status(self, new: JsonObject, old: JsonObject) -> JsonObject:
        return {**new, "spec": old["spec"]}

    def status_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        return self._meta_errors(new, old)


def _spec_errors(spec: JsonObject) -> list[FieldError]:
    kind, found = spec["type"], []
    external = kind == EXTERNAL
    if not spec.get("ports") and not external and spec.get("clusterIP") != "None":
        found.append(errors.required("spec.ports"))
    found += [e for index, port in enumerate(spec.get("ports") or ()) for e in _port_errors(spec, port, index)]
    if external:
        host = (spec.get("externalName") or "").removesuffix(".")
        if spec.get("clusterIP"):
            found.append(errors.forbidden("spec.clusterIPs[0]", "may not be set for ExternalName services"))
        if host:
            found += [errors.invalid("spec.externalName", host, text) for text in names.dns1123_subdomain(host)]
        else:
            found.append(errors.required("spec.externalName"))
    if kind not in _TYPES:
        found.append(errors.not_supported("spec.type", kind, _TYPES))
    return found


def _port_errors(spec: JsonObject, port: JsonObject, index: int) -> list[FieldError]:
    at, found = f"spec.ports[{index}]", []
    name, number, protocol = port.get("name", ""), port.get("port", 0), port["protocol"]
    if not name and len(spec["ports"]) > 1:
        found.append(errors.required(f"{at}.name"))
    elif name:
        found += [errors.invalid(f"{at}.name", name, text) for text in names.dns1123_label(name)]
        if any(other.get("name") == name for other in spec["ports"][:index]):
            found.append(errors.duplicate(f"{at}.name", name))
    if not 0 < number < 65536:
        found.append(errors.invalid(f"{at}.port", number, "must be between 1 and 65535, inclusive"))
    if protocol not in _PROTOCOLS:
        found.append(errors.not_supported(f"{at}.protocol", protocol, _PROTOCOLS))
    return found
