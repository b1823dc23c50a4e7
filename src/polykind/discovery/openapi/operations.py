"""The paths and operations of one resource, for OpenAPI v3 and v2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from polykind.contract import JsonObject
from polykind.discovery.openapi.parameters import Parameter, parameters, shared_parameters
from polykind.discovery.openapi.schemas import META, V2, V3

_JSON, _PROTOBUF, _YAML = "application/json", "application/vnd.kubernetes.protobuf", "application/yaml"
_MEDIA_TYPES: Final = (_JSON, _YAML)
BUILTIN_MEDIA_TYPES: Final = (_JSON, _YAML, _PROTOBUF)
_STREAMED_MEDIA_TYPES: Final = (*BUILTIN_MEDIA_TYPES, f"{_JSON};stream=watch", f"{_PROTOBUF};stream=watch")
_ANY_MEDIA_TYPE: Final = ("*/*",)
_PATCHES: Final = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_ALL_VERBS: Final = frozenset(("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"))
_STATUSES: Final = {"200": "OK", "201": "Created", "202": "Accepted"}
_SHARED: Final = frozenset(shared_parameters())


class OpenAPISubresource(msgspec.Struct, frozen=True):
    """A subresource of a resource.

    `model` is the name of the schema of its objects. It is empty if the subresource returns a text, such as log, or
    connects the client to a pod or node, such as exec.
    """

    name: str
    model: str
    methods: tuple[str, ...]
    gvk: tuple[str, str, str] | None = None
    """Group, version and kind of the subresource's objects, or None if they are those of the resource."""

    @property
    def connects(self) -> bool:
        """True if the subresource connects the client to a pod or node, such as proxy, exec, attach or portforward."""
        return self.gvk is not None and self.gvk[2].endswith("Options")


class OpenAPIResource(msgspec.Struct, frozen=True):
    """A resource at one version. `model` and `list_model` are the names of the schemas of its objects and lists."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    model: str
    list_model: str
    subresources: tuple[OpenAPISubresource, ...] = ()
    builtin: bool = False
    verbs: frozenset[str] = _ALL_VERBS
    delete_returns_object: bool = False
    """True if a delete returns the deleted object instead of a Status."""

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


class Operation(msgspec.Struct, frozen=True):
    """One OpenAPI operation: an HTTP method on a path of a resource."""

    resource: OpenAPIResource
    path: str
    method: str
    action: str
    verb: str
    name: str
    response: str
    body: str = ""
    statuses: tuple[str, ...] = ("200",)
    subresource: OpenAPISubresource | None = None

    @property
    def parameters(self) -> list[Parameter]:
        kind, sub = self.resource.kind, self.subresource
        options = sub.gvk[2] if sub is not None and sub.gvk is not None else sub.name if sub is not None else ""
        return parameters(self.action, self.path, kind, builtin=self.resource.builtin, options=options)

    @property
    def id(self) -> str:
        """The operationId, such as `readCoreV1NamespacedPod`: the verb, the group version and the kind in CamelCase."""
        method = self.method.title() if self.action == "connect" else ""
        return f"{self.verb}{group_version_name(self.resource)}{method}{camel_case(self.name, capitalize=True)}"

    @property
    def gvk(self) -> tuple[str, str, str]:
        """Group, version and kind of the objects of the operation."""
        if self.subresource is not None and self.subresource.gvk is not None:
            return self.subresource.gvk
        return self.resource.group, self.resource.version, self.resource.kind

    @property
    def description(self) -> str:
        kind, of = self.resource.kind, f" {self.subresource.name} of" if self.subresource is not None else ""
        if self.action == "connect":
            return f"connect {self.method.upper()} requests to{of.removesuffix(' of')} of {kind}"
        if self.verb == "watch":
            return f"watch objects of kind {kind}. Deprecated: use the watch parameter of a list instead."
        if self.action == "deletecollection":
            return f"delete collection of {kind}"
        if self.verb == "list":
            return f"list objects of kind {kind}"
        if self.verb == "patch":
            return f"partially update{of} the specified {kind}"
        if self.verb in ("create", "delete"):
            return f"{self.verb}{of}{article(kind)}{kind}"
        return f"{self.verb}{of} the specified {kind}"

    @property
    def consumes(self) -> tuple[str, ...]:
        if self.action != "patch":
            return _ANY_MEDIA_TYPE if self.resource.builtin else _MEDIA_TYPES
        return (*_PATCHES[:2], _STRATEGIC, *_PATCHES[2:]) if self.resource.builtin else _PATCHES

    @property
    def produces(self) -> tuple[str, ...]:
        if not self.resource.builtin:
            return _MEDIA_TYPES
        if self.action == "connect":
            return _ANY_MEDIA_TYPE
        if self.action in ("list", "watch", "watchlist"):
            return _STREAMED_MEDIA_TYPES
        return BUILTIN_MEDIA_TYPES if self.response else ("text/plain", *BUILTIN_MEDIA_TYPES)


def operations(resource: OpenAPIResource) -> Iterator[Operation]:
    """Yield every operation on a resource and its subresources."""
    name = f"Namespaced{resource.kind}" if resource.namespaced else resource.kind
    root = f"{resource.root}/{resource.plural}"
    if resource.namespaced:
        if "list" in resource.verbs:
            yield from _collection_reads(resource, root, f"{resource.kind}ForAllNamespaces")
        root = f"{resource.root}/namespaces/{{namespace}}/{resource.plural}"
    if "list" in resource.verbs:
        yield from _collection_reads(resource, root, name)
    if "create" in resource.verbs:
        yield _create(resource, root, name, None)
    if "deletecollection" in resource.verbs:
        body, status = f"{META}DeleteOptions" if resource.builtin else "", f"{META}Status"
        yield Operation(resource, root, "delete", "deletecollection", "delete", f"Collection{name}", status, body)
    item_path = f"{root}/{{name}}"
    for verb, action in (("get", "get"), ("update", "put"), ("delete", "delete"), ("patch", "patch")):
        if verb in resource.verbs:
            yield _item_operation(resource, item_path, action, name, None)
    if resource.builtin and "watch" in resource.verbs:
        yield _watch(resource, item_path, "watch", name)
    for sub in resource.subresources:
        yield from _subresource_operations(resource, f"{item_path}/{sub.name}", f"{name}{sub.name.title()}", sub)


def _collection_reads(resource: OpenAPIResource, path: str, name: str) -> Iterator[Operation]:
    """Yield the list operation of a collection and, for built-in kinds, its deprecated watch operation."""
    yield Operation(resource, path, "get", "list", "list", name, resource.list_model)
    if resource.builtin and "watch" in resource.verbs:
        namespaces = "ForAllNamespaces"
        listed = f"{name.removesuffix(namespaces)}List{namespaces if name.endswith(namespaces) else ''}"
        yield _watch(resource, path, "watchlist", listed)


def _watch(resource: OpenAPIResource, path: str, action: str, name: str) -> Operation:
    watch_path = f"{resource.root}/watch{path.removeprefix(resource.root)}"
    return Operation(resource, watch_path, "get", action, "watch", name, f"{META}WatchEvent")


def _create(resource: OpenAPIResource, path: str, name: str, sub: OpenAPISubresource | None) -> Operation:
    model = sub.model if sub is not None else resource.model
    return Operation(resource, path, "post", "post", "create", name, model, model, ("200", "201", "202"), sub)


def _subresource_operations(
    resource: OpenAPIResource, path: str, name: str, sub: OpenAPISubresource
) -> Iterator[Operation]:
    if sub.connects:
        for method in sub.methods:
            yield Operation(resource, path, method, "connect", "connect", name, "", subresource=sub)
            if sub.name == "proxy":
                with_path = f"{name}WithPath"
                yield Operation(
                    resource, f"{path}/{{path}}", method, "connect", "connect", with_path, "", subresource=sub
                )
        return
    for method in sub.methods:
        if method == "post":
            yield _create(resource, path, name, sub)
        else:
            yield _item_operation(resource, path, method, name, sub)


def _item_operation(
    resource: OpenAPIResource, path: str, action: str, name: str, sub: OpenAPISubresource | None
) -> Operation:
    model = sub.model if sub is not None else resource.model
    if action == "get":
        return Operation(resource, path, "get", "get", "read", name, model, subresource=sub)
    if action == "put":
        return Operation(resource, path, "put", "put", "replace", name, model, model, ("200", "201"), sub)
    if action == "patch":
        codes = ("200", "201") if resource.builtin else ("200",)
        return Operation(resource, path, "patch", "patch", "patch", name, model, f"{META}Patch", codes, sub)
    options, deleted = f"{META}DeleteOptions", model if resource.delete_returns_object else f"{META}Status"
    return Operation(resource, path, "delete", "delete", "delete", name, deleted, options, ("200", "202"), sub)


def paths_v3(resource: OpenAPIResource) -> dict[str, JsonObject]:
    """Return the OpenAPI path items of a resource for a v3 document, by path."""
    result = {}
    for path, methods in _by_path(resource).items():
        common = _common(methods)
        item: JsonObject = {operation.method: _operation_v3(operation, common) for operation in methods}
        item["parameters"] = [parameter.v3() for parameter in common]
        result[path] = item
    return result


def _operation_v3(operation: Operation, common: list[Parameter]) -> JsonObject:
    result: JsonObject = {
        "tags": [tag(operation.resource)],
        "description": operation.description,
        "operationId": operation.id,
    }
    own_parameters = [parameter.v3() for parameter in operation.parameters if parameter not in common]
    if own_parameters:
        result["parameters"] = own_parameters
    if operation.body:
        body = {"schema": V3.reference(operation.body)}
        result["requestBody"] = {"content": dict.fromkeys(sorted(operation.consumes), body)}
        if not _optional_body(operation):
            result["requestBody"]["required"] = True
    schema = V3.reference(operation.response) if operation.response else {"type": "string"}
    response = {media_type: {"schema": schema} for media_type in sorted(operation.produces)}
    result["responses"] = {
        **{code: {"description": _STATUSES[code], "content": response} for code in operation.statuses},
        "401": {"description": "Unauthorized"},
    }
    group, version, kind = operation.gvk
    gvk = {"group": group, "version": version, "kind": kind}
    return {**result, "x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": gvk}


def paths_v2(resource: OpenAPIResource) -> dict[str, JsonObject]:
    """Return the OpenAPI path items of a resource for a v2 document, by path."""
    result = {}
    for path, methods in _by_path(resource).items():
        common = _common(methods)
        item: JsonObject = {operation.method: _operation_v2(operation, common) for operation in methods}
        item["parameters"] = [_parameter_v2(parameter) for parameter in common]
        result[path] = item
    return result


def _operation_v2(operation: Operation, common: list[Parameter]) -> JsonObject:
    result: JsonObject = {
        "description": operation.description,
        "consumes": list(operation.consumes),
        "produces": list(operation.produces),
        "schemes": ["https"],
        "tags": [tag(operation.resource)],
        "operationId": operation.id,
    }
    own_parameters = [_parameter_v2(parameter) for parameter in operation.parameters if parameter not in common]
    if operation.body:
        required = {} if _optional_body(operation) else {"required": True}
        own_parameters.insert(0, {"name": "body", "in": "body", **required, "schema": V2.reference(operation.body)})
    if own_parameters:
        result["parameters"] = own_parameters
    response = V2.reference(operation.response) if operation.response else {"type": "string"}
    result["responses"] = {
        **{code: {"description": _STATUSES[code], "schema": response} for code in operation.statuses},
        "401": {"description": "Unauthorized"},
    }
    group, version, kind = operation.gvk
    gvk = {"group": group, "kind": kind, "version": version}
    return {**result, "x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": gvk}


def _parameter_v2(parameter: Parameter) -> JsonObject:
    shared = parameter.location == "query" and parameter.name in _SHARED
    return {"$ref": f"#/parameters/{parameter.name}"} if shared else parameter.v2()


def _by_path(resource: OpenAPIResource) -> dict[str, list[Operation]]:
    result: dict[str, list[Operation]] = {}
    for operation in operations(resource):
        result.setdefault(operation.path, []).append(operation)
    return {
        path: sorted(methods, key=lambda operation: _METHODS.index(operation.method))
        for path, methods in result.items()
    }


_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch")


def _common(methods: list[Operation]) -> list[Parameter]:
    """Return the parameters that all operations on one path have in common."""
    first, *others = (operation.parameters for operation in methods)
    return [parameter for parameter in first if all(parameter in other for other in others)]


def _optional_body(operation: Operation) -> bool:
    return operation.body == f"{META}DeleteOptions"


def group_version_name(resource: OpenAPIResource) -> str:
    """Return a resource's group and version in CamelCase, such as `CoreV1`, for operationIds."""
    return camel_case(short_group(resource.group), capitalize=True) + camel_case(resource.version, capitalize=True)


def tag(resource: OpenAPIResource) -> str:
    """Return the OpenAPI tag of all operations of a resource's group version, such as `core_v1`."""
    return (
        f"{camel_case(short_group(resource.group), capitalize=False)}_{camel_case(resource.version, capitalize=False)}"
    )


def short_group(group: str) -> str:
    """Return the short name of a group for tags and operationIds: without `.k8s.io`, or `core` for the core group."""
    return (group or "core").removesuffix(".k8s.io")


def article(kind: str) -> str:
    """Return " a " or " an " to put before a kind in a description, or a space before a plural kind."""
    if kind.endswith("s") and not kind.endswith("ss"):
        return " "
    return " an " if kind[:1].lower() in tuple("aeiou") else " a "


def camel_case(text: str, *, capitalize: bool) -> str:
    """Return a text in CamelCase. If `capitalize` is false, the first letter stays as it is.

    Words are separated by all characters except letters, digits and underscores. A leading digit is removed, and the
    text after it is capitalized.
    """
    if text[:1].isdigit():
        text, capitalize = text[1:], True
    parts = [part for part in re.split(r"[^0-9A-Za-z_]+", text) if part]
    words = [part[:1].upper() + part[1:] for part in parts]
    if not capitalize and parts:
        words[0] = parts[0]
    return "".join(words)
