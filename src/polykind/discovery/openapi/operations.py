"""The paths and operations of one resource, for OpenAPI v3 and v2."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from polykind.contract import JsonObject
from polykind.discovery.openapi.parameters import Parameter, parameters, shared_parameters
from polykind.discovery.openapi.schemas import META, V2, V3

_MEDIA_TYPES: Final = ("application/json", "application/yaml")
_PATCHES: Final = ("application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml")
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_STATUSES: Final = {"200": "OK", "201": "Created", "202": "Accepted"}
_SHARED: Final = frozenset(shared_parameters())


@dataclass(frozen=True)
class OpenAPIResource:
    """A resource at one version. `model` and `list_model` name its schemas."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    model: str
    list_model: str
    subresources: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Name, model and actions of each subresource."""
    builtin: bool = False
    has_deletecollection: bool = True
    """True if the resource supports the deletecollection verb."""
    stored: bool = True
    """True if the resource's objects are stored. False for reviews, which can only be created."""

    @property
    def root(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


@dataclass(frozen=True)
class Operation:
    """One method on one path."""

    resource: OpenAPIResource
    path: str
    method: str
    action: str
    verb: str
    name: str
    response: str
    body: str = ""
    statuses: tuple[str, ...] = ("200",)
    subresource: str = ""

    @property
    def parameters(self) -> list[Parameter]:
        return parameters(self.action, self.path, self.resource.kind, builtin=self.resource.builtin)

    @property
    def id(self) -> str:
        """The operationId: the verb, the group version and the object of the operation."""
        return f"{self.verb}{group_version_name(self.resource)}{_word(self.name, True)}"

    @property
    def description(self) -> str:
        kind, of = self.resource.kind, f" {self.subresource} of" if self.subresource else ""
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
            return ("*/*",) if self.resource.builtin else _MEDIA_TYPES
        return (*_PATCHES, _STRATEGIC) if self.resource.builtin else _PATCHES

    @property
    def produces(self) -> tuple[str, ...]:
        watched = self.resource.builtin and self.action == "list"
        return (_MEDIA_TYPES[0], f"{_MEDIA_TYPES[0]};stream=watch", *_MEDIA_TYPES[1:]) if watched else _MEDIA_TYPES


def operations(resource: OpenAPIResource) -> Iterator[Operation]:
    """Yield every operation on a resource and its subresources."""
    kind, model, status = resource.kind, resource.model, f"{META}Status"
    name = f"Namespaced{kind}" if resource.namespaced else kind
    root = f"{resource.root}/{resource.plural}"
    if resource.namespaced:
        if resource.stored:
            all_namespaces = f"{kind}ForAllNamespaces"
            yield Operation(resource, root, "get", "list", "list", all_namespaces, resource.list_model)
        root = f"{resource.root}/namespaces/{{namespace}}/{resource.plural}"
    if resource.stored:
        yield Operation(resource, root, "get", "list", "list", name, resource.list_model)
    yield Operation(resource, root, "post", "post", "create", name, model, model, ("200", "201", "202"))
    if not resource.stored:
        return
    if resource.has_deletecollection:
        body = f"{META}DeleteOptions" if resource.builtin else ""
        yield Operation(resource, root, "delete", "deletecollection", "delete", f"Collection{name}", status, body)
    item_path = f"{root}/{{name}}"
    for action in ("get", "put", "delete", "patch"):
        yield _item_operation(resource, item_path, action, name, model, "")
    for sub, sub_model, actions in resource.subresources:
        for action in actions:
            yield _item_operation(resource, f"{item_path}/{sub}", action, f"{name}{sub.title()}", sub_model, sub)


def _item_operation(resource: OpenAPIResource, path: str, action: str, name: str, model: str, sub: str) -> Operation:
    if action == "get":
        return Operation(resource, path, "get", "get", "read", name, model, subresource=sub)
    if action == "put":
        return Operation(resource, path, "put", "put", "replace", name, model, model, ("200", "201"), sub)
    if action == "patch":
        codes = ("200", "201") if resource.builtin else ("200",)
        return Operation(resource, path, "patch", "patch", "patch", name, model, f"{META}Patch", codes, sub)
    options = f"{META}DeleteOptions"
    return Operation(resource, path, "delete", "delete", "delete", name, f"{META}Status", options, ("200", "202"), sub)


def paths_v3(resource: OpenAPIResource) -> dict[str, JsonObject]:
    """Return the path items of a resource for a v3 document."""
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
        schema = {"schema": V3.reference(operation.body)}
        result["requestBody"] = {"content": dict.fromkeys(sorted(operation.consumes), schema)}
        if not _optional_body(operation):
            result["requestBody"]["required"] = True
    response = {media_type: {"schema": V3.reference(operation.response)} for media_type in operation.produces}
    result["responses"] = {
        **{code: {"description": _STATUSES[code], "content": response} for code in operation.statuses},
        "401": {"description": "Unauthorized"},
    }
    resource = operation.resource
    gvk = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return {**result, "x-kubernetes-action": operation.action, "x-kubernetes-group-version-kind": gvk}


def paths_v2(resource: OpenAPIResource) -> dict[str, JsonObject]:
    """Return the path items of a resource for a v2 document."""
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
    response = V2.reference(operation.response)
    result["responses"] = {
        **{code: {"description": _STATUSES[code], "schema": response} for code in operation.statuses},
        "401": {"description": "Unauthorized"},
    }
    resource = operation.resource
    gvk = {"group": resource.group, "kind": resource.kind, "version": resource.version}
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


_METHODS: Final = ("get", "put", "post", "delete", "patch")


def _common(methods: list[Operation]) -> list[Parameter]:
    """Return the parameters that all operations on a path have."""
    first, *others = (operation.parameters for operation in methods)
    return [parameter for parameter in first if all(parameter in other for other in others)]


def _optional_body(operation: Operation) -> bool:
    return operation.body == f"{META}DeleteOptions"


def group_version_name(resource: OpenAPIResource) -> str:
    """Return the group version in CamelCase, as part of an operationId."""
    return _word(_group(resource), True) + _word(resource.version, True)


def tag(resource: OpenAPIResource) -> str:
    """Return the tag of all operations of a group version."""
    return f"{_word(_group(resource), False)}_{_word(resource.version, False)}"


def _group(resource: OpenAPIResource) -> str:
    return (resource.group or "core").removesuffix(".k8s.io")


def article(kind: str) -> str:
    """Return the article before a kind in a description, with spaces."""
    if kind.endswith("s") and not kind.endswith("ss"):
        return " "
    return " an " if kind[:1].lower() in tuple("aeiou") else " a "


def _word(text: str, capitalize: bool) -> str:
    """Return text in CamelCase. Characters other than letters, digits and _ separate words; so does a leading digit."""
    if text[:1].isdigit():
        text, capitalize = text[1:], True
    parts = [part for part in re.split(r"[^0-9A-Za-z_]+", text) if part]
    words = [part[:1].upper() + part[1:] for part in parts]
    if not capitalize and parts:
        words[0] = parts[0]
    return "".join(words)
