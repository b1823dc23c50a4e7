"""OpenAPI descriptions of endpoints that are not resources: the discovery endpoints and /version."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from polykind.apis.machinery.structs import Struct
from polykind.apis.meta.discovery_types import API_GROUP, API_GROUP_LIST, API_RESOURCE_LIST, API_VERSIONS, VERSION_INFO
from polykind.contract import JsonObject
from polykind.discovery.openapi.operations import BUILTIN_MEDIA_TYPES, camel_case, short_group
from polykind.discovery.openapi.schemas import V2, V3, Dialect

_JSON_ONLY: Final = ("application/json",)


class Endpoint(NamedTuple):
    """An endpoint that is not a resource and supports only GET, such as /apis/."""

    document: str
    """The path of the endpoint's v3 document below /openapi/v3/."""
    path: str
    tag: str
    operation_id: str
    description: str
    response: Struct | None
    """The type of the response, or None for a text."""
    media_types: tuple[str, ...] = BUILTIN_MEDIA_TYPES

    @property
    def responses(self) -> list[Struct]:
        """The type of the response, in a list that is empty for a text."""
        return [] if self.response is None else [self.response]

    def schema(self, models: Dialect) -> JsonObject:
        """Return the schema of the response in a version of OpenAPI."""
        return {"type": "string"} if self.response is None else models.reference(self.response.model)


def root_endpoints(groups: Iterable[str]) -> list[Endpoint]:
    """Return the endpoints with their own v3 document, such as /api/, /version/, and /apis/<group>/ for `groups`."""
    return [
        Endpoint("api", "/api/", "core", "getCoreAPIVersions", "get available API versions", API_VERSIONS),
        Endpoint("apis", "/apis/", "apis", "getAPIVersions", "get available API versions", API_GROUP_LIST),
        Endpoint(
            *("version", "/version/", "version", "getCodeVersion", "get the version information for this server"),
            *(VERSION_INFO, _JSON_ONLY),
        ),
        *_OPENID_ENDPOINTS,
        *(_group_endpoint(group) for group in groups if group),
    ]


_OPENID_ENDPOINTS: Final = (
    Endpoint(
        ".well-known/openid-configuration",
        "/.well-known/openid-configuration/",
        "WellKnown",
        "getServiceAccountIssuerOpenIDConfiguration",
        "get the OpenID configuration of the issuer of service account tokens",
        None,
        _JSON_ONLY,
    ),
    Endpoint(
        "openid/v1/jwks",
        "/openid/v1/jwks/",
        "openid",
        "getServiceAccountIssuerOpenIDKeyset",
        "get the public keys that verify service account tokens",
        None,
        ("application/jwk-set+json",),
    ),
)


def _group_endpoint(group: str) -> Endpoint:
    name = short_group(group)
    operation_id = f"get{camel_case(name, capitalize=True)}APIGroup"
    tag = camel_case(name, capitalize=False)
    return Endpoint(f"apis/{group}", f"/apis/{group}/", tag, operation_id, "get information of a group", API_GROUP)


def resource_list_endpoint(group: str, version: str) -> Endpoint:
    """Return the endpoint that lists the resources of a built-in group version."""
    root = f"apis/{group}/{version}" if group else f"api/{version}"
    name = short_group(group)
    operation_id = f"get{camel_case(name, capitalize=True)}{camel_case(version, capitalize=True)}APIResources"
    tag = f"{camel_case(name, capitalize=False)}_{camel_case(version, capitalize=False)}"
    return Endpoint(root, f"/{root}/", tag, operation_id, "get available resources", API_RESOURCE_LIST)


def path_item_v3(endpoint: Endpoint) -> JsonObject:
    """Return the OpenAPI path item of an endpoint for a v3 document."""
    content = {media_type: {"schema": endpoint.schema(V3)} for media_type in sorted(endpoint.media_types)}
    return {
        "get": {
            "tags": [endpoint.tag],
            "description": endpoint.description,
            "operationId": endpoint.operation_id,
            "responses": {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}},
        }
    }


def path_item_v2(endpoint: Endpoint) -> JsonObject:
    """Return the OpenAPI path item of an endpoint for a v2 document."""
    schema = endpoint.schema(V2)
    consumes = {"consumes": list(endpoint.media_types)} if endpoint.response is not None else {}
    return {
        "get": {
            "description": endpoint.description,
            **consumes,
            "produces": list(endpoint.media_types),
            "schemes": ["https"],
            "tags": [endpoint.tag],
            "operationId": endpoint.operation_id,
            "responses": {
                "200": {"description": "OK", "schema": schema},
                "401": {"description": "Unauthorized"},
            },
        }
    }
