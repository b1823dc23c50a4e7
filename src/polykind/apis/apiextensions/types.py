"""CustomResourceDefinition, at v1 and v1beta1."""

from __future__ import annotations

from typing import NamedTuple

from polykind.apis.apiextensions.json_schema_props import json_schema_props
from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import Field, GroupVersion, Struct
from polykind.apis.machinery.value_types import BOOL, BYTES, INT32, INT64, STRING, STRINGS, TIME, ListOf, String

GROUP = "apiextensions.k8s.io"


def _group_version(version: str, priority: int) -> GroupVersion:
    models = f"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.{version}"
    return GroupVersion(GROUP, version, models, group_priority=16700, version_priority=priority)


APIEXTENSIONS_V1 = _group_version("v1", 15)
APIEXTENSIONS_V1BETA1 = _group_version("v1beta1", 9)


def _names(api: GroupVersion) -> Struct:
    return api.struct(
        "CustomResourceDefinitionNames",
        "The names of a resource and its kind.",
        Field("plural", 1, STRING, "The name in URL paths, in lower case. Cannot be changed.", omitempty=False),
        Field("singular", 2, STRING, "The singular name; by default the kind in lower case."),
        Field("shortNames", 3, STRINGS, "Short names for the command line."),
        Field("kind", 4, STRING, "The kind, in CamelCase.", omitempty=False),
        Field("listKind", 5, STRING, "The kind of lists; by default <kind>List."),
        Field("categories", 6, STRINGS, "Groups of resources that clients list together, such as all."),
    )


def _client_config(api: GroupVersion) -> Struct:
    service = api.struct(
        "ServiceReference",
        "A reference to a service.",
        Field("namespace", 1, STRING, "The namespace of the service.", omitempty=False),
        Field("name", 2, STRING, "The name of the service.", omitempty=False),
        Field("path", 3, STRING, "The URL path of the webhook.", pointer=True),
        Field("port", 4, INT32, "The port of the webhook, 443 by default.", pointer=True),
    )
    return api.struct(
        "WebhookClientConfig",
        "The address of a webhook: a URL or a service.",
        Field("url", 3, STRING, "The HTTPS URL of the webhook.", pointer=True),
        Field("service", 1, service, "The service of the webhook.", pointer=True),
        Field("caBundle", 2, BYTES, "The CA certificates that verify the webhook's certificate, in PEM."),
    )


def _validation(api: GroupVersion) -> Struct:
    return api.struct(
        "CustomResourceValidation",
        "The schema of objects.",
        Field(
            "openAPIV3Schema",
            1,
            json_schema_props(api),
            "The OpenAPI v3 schema by which objects are pruned, defaulted and validated.",
            pointer=True,
        ),
    )


def _subresources(api: GroupVersion) -> Struct:
    scale = api.struct(
        "CustomResourceSubresourceScale",
        "The settings of the scale subresource.",
        Field(
            "specReplicasPath",
            1,
            STRING,
            "The JSON path of the desired number of replicas, under .spec.",
            omitempty=False,
        ),
        Field(
            "statusReplicasPath",
            2,
            STRING,
            "The JSON path of the observed number of replicas, under .status.",
            omitempty=False,
        ),
        Field(
            "labelSelectorPath", 3, STRING, "The JSON path of the label selector, under .spec or .status.", pointer=True
        ),
    )
    return api.struct(
        "CustomResourceSubresources",
        "The subresources of a version.",
        Field(
            "status",
            1,
            api.struct("CustomResourceSubresourceStatus", "The settings of the status subresource."),
            "Enables /status. All other requests then ignore .status.",
            pointer=True,
        ),
        Field("scale", 2, scale, "Enables /scale.", pointer=True),
    )


def _columns(api: GroupVersion, path: str) -> ListOf:
    column = api.struct(
        "CustomResourceColumnDefinition",
        "A column of tables.",
        Field("name", 1, STRING, "The heading.", omitempty=False),
        Field("type", 2, STRING, "The OpenAPI type of the values, or date.", omitempty=False),
        Field("format", 3, STRING, "The OpenAPI format of the values; name marks the column of names."),
        Field("description", 4, STRING, "A readable description."),
        Field("priority", 5, INT32, "0: always shown. Above 0: shown only in wide tables."),
        Field(path, 6, STRING, "The JSON path of the value.", omitempty=False),
    )
    return ListOf(column)


def _status(api: GroupVersion, names: Struct) -> Struct:
    condition = api.struct(
        "CustomResourceDefinitionCondition",
        "One aspect of the state of a CustomResourceDefinition.",
        Field(
            "type",
            1,
            String(f"{api.version}.CustomResourceDefinitionConditionType"),
            "The aspect of the state, such as Established or NamesAccepted.",
            omitempty=False,
        ),
        Field("status", 2, String(f"{api.version}.ConditionStatus"), "True, False or Unknown.", omitempty=False),
        Field("lastTransitionTime", 3, TIME, "The time of the last change of the status."),
        Field("reason", 4, STRING, "The reason for the last change, in CamelCase."),
        Field("message", 5, STRING, "A readable explanation."),
        Field("observedGeneration", 6, INT64, "The generation for which the condition was set."),
    )
    return api.struct(
        "CustomResourceDefinitionStatus",
        "The observed state of a CustomResourceDefinition.",
        Field(
            "conditions",
            1,
            ListOf(condition),
            "Aspects of the state, such as whether the resource is served.",
            omitempty=False,
            required=False,
            list_type="map",
            keys=("type",),
        ),
        Field("acceptedNames", 2, names, "The names that are served.", omitempty=False, required=False),
        Field(
            "storedVersions",
            3,
            STRINGS,
            "All versions at which objects may be stored.",
            omitempty=False,
            required=False,
        ),
        Field("observedGeneration", 4, INT64, "The generation that the status describes."),
    )


class _Parts(NamedTuple):
    """Types that v1 and v1beta1 declare in the same way."""

    validation: Struct
    subresources: Struct
    columns: ListOf
    selectable: ListOf
    versions: ListOf
    names: Struct


def _parts(api: GroupVersion, path: str) -> _Parts:
    validation, subresources, columns = _validation(api), _subresources(api), _columns(api, path)
    selectable = ListOf(
        api.struct(
            "SelectableField",
            "A field by which objects can be selected.",
            Field("jsonPath", 1, STRING, "The JSON path, such as .spec.color.", omitempty=False),
        )
    )
    version = api.struct(
        "CustomResourceDefinitionVersion",
        "One version of the API.",
        Field("name", 1, STRING, "The name, such as v1 or v2beta1.", omitempty=False),
        Field("served", 2, BOOL, "True if the version is served.", omitempty=False),
        Field("storage", 3, BOOL, "True for the one version at which objects are stored.", omitempty=False),
        Field("deprecated", 7, BOOL, "True if clients get a warning."),
        Field("deprecationWarning", 8, STRING, "The warning; by default a generated text.", pointer=True),
        Field("schema", 4, validation, "The schema of this version.", pointer=True),
        Field("subresources", 5, subresources, "The subresources of this version.", pointer=True),
        Field("additionalPrinterColumns", 6, columns, "The columns of tables.", keep_empty=True),
        Field("selectableFields", 9, selectable, "Fields for field selectors, at most eight.", keep_empty=True),
    )
    return _Parts(validation, subresources, columns, selectable, ListOf(version), _names(api))


def _kind(api: GroupVersion, names: Struct, spec: tuple[Field, ...], deprecation: str = "") -> Kind:
    return Kind(
        api,
        "CustomResourceDefinition",
        "A resource that is served at /apis/<group>/<version>/.../<plural>. Its name must be <plural>.<group>.",
        Field(
            "spec",
            2,
            api.struct("CustomResourceDefinitionSpec", "The desired state of a CustomResourceDefinition.", *spec),
            "The resource, its versions and their conversion.",
            omitempty=False,
        ),
        Field("status", 3, _status(api, names), "The observed state."),
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=(Subresource("status"),),
        known_versions=("v1", "v1beta1"),
        # kube-apiserver publishes the hash of v1beta1, at which it used to store CRDs. Clients compare this hash.
        stored_version="v1beta1",
        opaque=api.version == "v1beta1",
        deprecation=deprecation,
    )


def _group(number: int = 1) -> Field:
    return Field("group", number, STRING, "The API group. Cannot be changed.", omitempty=False)


def _scope(api: GroupVersion) -> Field:
    scope = String(f"{api.version}.ResourceScope")
    return Field("scope", 4, scope, "Namespaced or Cluster. Cannot be changed.", omitempty=False)


_NAMES_DOC = "The names of the resource and its kind."
_REVIEW_VERSIONS_DOC = "The ConversionReview versions that the webhook understands, in order of preference."


def _v1() -> Kind:
    api = APIEXTENSIONS_V1
    parts = _parts(api, "jsonPath")
    webhook = api.struct(
        "WebhookConversion",
        "A conversion webhook.",
        Field("clientConfig", 2, _client_config(api), "The address of the webhook.", pointer=True),
        Field("conversionReviewVersions", 3, STRINGS, _REVIEW_VERSIONS_DOC, omitempty=False),
    )
    conversion = api.struct(
        "CustomResourceConversion",
        "The conversion of objects between versions.",
        Field(
            "strategy",
            1,
            String("v1.ConversionStrategyType"),
            "None: change only the apiVersion. Webhook: call a webhook.",
            omitempty=False,
        ),
        Field("webhook", 2, webhook, "The webhook.", pointer=True),
    )
    return _kind(
        api,
        parts.names,
        (
            _group(),
            Field("names", 3, parts.names, _NAMES_DOC, omitempty=False),
            _scope(api),
            Field("versions", 7, parts.versions, "The versions, one of which is stored.", omitempty=False),
            Field("conversion", 9, conversion, "The conversion of objects between versions.", pointer=True),
            Field("preserveUnknownFields", 10, BOOL, "Deprecated: keep fields that no schema declares."),
        ),
    )


def _v1beta1() -> Kind:
    api = APIEXTENSIONS_V1BETA1
    parts = _parts(api, "JSONPath")
    conversion = api.struct(
        "CustomResourceConversion",
        "",
        Field("strategy", 1, String("v1beta1.ConversionStrategyType"), omitempty=False),
        Field("webhookClientConfig", 2, _client_config(api), pointer=True),
        Field("conversionReviewVersions", 3, STRINGS),
    )
    return _kind(
        api,
        parts.names,
        (
            _group(),
            Field("version", 2, STRING),
            Field("names", 3, parts.names, omitempty=False),
            _scope(api),
            Field("validation", 5, parts.validation, pointer=True),
            Field("subresources", 6, parts.subresources, pointer=True),
            Field("versions", 7, parts.versions),
            Field("additionalPrinterColumns", 8, parts.columns),
            Field("selectableFields", 11, parts.selectable),
            Field("conversion", 9, conversion, pointer=True),
            Field("preserveUnknownFields", 10, BOOL, pointer=True),
        ),
        "apiextensions.k8s.io/v1beta1 CustomResourceDefinition is deprecated in v1.16+, unavailable in v1.22+; "
        "use apiextensions.k8s.io/v1 CustomResourceDefinition",
    )


CUSTOM_RESOURCE_DEFINITION_V1 = _v1()
CUSTOM_RESOURCE_DEFINITION_V1BETA1 = _v1beta1()

KINDS = (CUSTOM_RESOURCE_DEFINITION_V1, CUSTOM_RESOURCE_DEFINITION_V1BETA1)
