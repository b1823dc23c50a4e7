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
    return GroupVersion(
        GROUP, version, models, publishes_defaults=False, group_priority=16700, version_priority=priority
    )


APIEXTENSIONS_V1 = _group_version("v1", 15)
APIEXTENSIONS_V1BETA1 = _group_version("v1beta1", 9)


def _names(api: GroupVersion) -> Struct:
    return api.struct(
        "CustomResourceDefinitionNames",
        (
            Field("plural", 1, STRING, omitempty=False, doc="The name in URL paths, in lower case. Cannot be changed."),
            Field("singular", 2, STRING, doc="The singular name; by default the kind in lower case."),
            Field("shortNames", 3, STRINGS, doc="Short names for the command line."),
            Field("kind", 4, STRING, omitempty=False, doc="The kind, in CamelCase."),
            Field("listKind", 5, STRING, doc="The kind of lists; by default <kind>List."),
            Field("categories", 6, STRINGS, doc="Groups of resources that clients list together, such as all."),
        ),
        doc="The names of a resource and its kind.",
    )


def _client_config(api: GroupVersion) -> Struct:
    service = api.struct(
        "ServiceReference",
        (
            Field("namespace", 1, STRING, omitempty=False, doc="The namespace of the service."),
            Field("name", 2, STRING, omitempty=False, doc="The name of the service."),
            Field("path", 3, STRING, pointer=True, doc="The URL path of the webhook."),
            Field("port", 4, INT32, pointer=True, doc="The port of the webhook, 443 by default."),
        ),
        doc="A reference to a service.",
    )
    return api.struct(
        "WebhookClientConfig",
        (
            Field("url", 3, STRING, pointer=True, doc="The HTTPS URL of the webhook."),
            Field("service", 1, service, pointer=True, doc="The service of the webhook."),
            Field("caBundle", 2, BYTES, doc="The CA certificates that verify the webhook's certificate, in PEM."),
        ),
        doc="The address of a webhook: a URL or a service.",
    )


def _validation(api: GroupVersion) -> Struct:
    return api.struct(
        "CustomResourceValidation",
        (
            Field(
                "openAPIV3Schema",
                1,
                json_schema_props(api),
                pointer=True,
                doc="The OpenAPI v3 schema by which objects are pruned, defaulted and validated.",
            ),
        ),
        doc="The schema of objects.",
    )


def _subresources(api: GroupVersion) -> Struct:
    scale = api.struct(
        "CustomResourceSubresourceScale",
        (
            Field(
                "specReplicasPath",
                1,
                STRING,
                omitempty=False,
                doc="The JSON path of the desired number of replicas, under .spec.",
            ),
            Field(
                "statusReplicasPath",
                2,
                STRING,
                omitempty=False,
                doc="The JSON path of the observed number of replicas, under .status.",
            ),
            Field(
                "labelSelectorPath",
                3,
                STRING,
                pointer=True,
                doc="The JSON path of the label selector, under .spec or .status.",
            ),
        ),
        doc="The settings of the scale subresource.",
    )
    return api.struct(
        "CustomResourceSubresources",
        (
            Field(
                "status",
                1,
                api.struct("CustomResourceSubresourceStatus", doc="The settings of the status subresource."),
                pointer=True,
                doc="Enables /status. All other requests then ignore .status.",
            ),
            Field("scale", 2, scale, pointer=True, doc="Enables /scale."),
        ),
        doc="The subresources of a version.",
    )


def _columns(api: GroupVersion, path: str) -> ListOf:
    column = api.struct(
        "CustomResourceColumnDefinition",
        (
            Field("name", 1, STRING, omitempty=False, doc="The heading."),
            Field("type", 2, STRING, omitempty=False, doc="The OpenAPI type of the values, or date."),
            Field("format", 3, STRING, doc="The OpenAPI format of the values; name marks the column of names."),
            Field("description", 4, STRING, doc="A readable description."),
            Field("priority", 5, INT32, doc="0: always shown. Above 0: shown only in wide tables."),
            Field(path, 6, STRING, omitempty=False, doc="The JSON path of the value."),
        ),
        doc="A column of tables.",
    )
    return ListOf(column)


def _status(api: GroupVersion, names: Struct) -> Struct:
    condition = api.struct(
        "CustomResourceDefinitionCondition",
        (
            Field(
                "type",
                1,
                String(f"{api.version}.CustomResourceDefinitionConditionType"),
                omitempty=False,
                doc="The aspect of the state, such as Established or NamesAccepted.",
            ),
            Field(
                "status", 2, String(f"{api.version}.ConditionStatus"), omitempty=False, doc="True, False or Unknown."
            ),
            Field("lastTransitionTime", 3, TIME, doc="The time of the last change of the status."),
            Field("reason", 4, STRING, doc="The reason for the last change, in CamelCase."),
            Field("message", 5, STRING, doc="A readable explanation."),
            Field("observedGeneration", 6, INT64, doc="The generation for which the condition was set."),
        ),
        doc="One aspect of the state of a CustomResourceDefinition.",
    )
    return api.struct(
        "CustomResourceDefinitionStatus",
        (
            Field(
                "conditions",
                1,
                ListOf(condition),
                omitempty=False,
                required=False,
                list_type="map",
                keys=("type",),
                doc="Aspects of the state, such as whether the resource is served.",
            ),
            Field("acceptedNames", 2, names, omitempty=False, required=False, doc="The names that are served."),
            Field(
                "storedVersions",
                3,
                STRINGS,
                omitempty=False,
                required=False,
                doc="All versions at which objects may be stored.",
            ),
            Field("observedGeneration", 4, INT64, doc="The generation that the status describes."),
        ),
        doc="The observed state of a CustomResourceDefinition.",
    )


class _Parts(NamedTuple):
    """The types that both versions declare in the same way."""

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
            (Field("jsonPath", 1, STRING, omitempty=False, doc="The JSON path, such as .spec.color."),),
            doc="A field by which objects can be selected.",
        )
    )
    version = api.struct(
        "CustomResourceDefinitionVersion",
        (
            Field("name", 1, STRING, omitempty=False, doc="The name, such as v1 or v2beta1."),
            Field("served", 2, BOOL, omitempty=False, doc="True if the version is served."),
            Field("storage", 3, BOOL, omitempty=False, doc="True for the one version at which objects are stored."),
            Field("deprecated", 7, BOOL, doc="True if clients get a warning."),
            Field("deprecationWarning", 8, STRING, pointer=True, doc="The warning; by default a generated text."),
            Field("schema", 4, validation, pointer=True, doc="The schema of this version."),
            Field("subresources", 5, subresources, pointer=True, doc="The subresources of this version."),
            Field("additionalPrinterColumns", 6, columns, keep_empty=True, doc="The columns of tables."),
            Field("selectableFields", 9, selectable, keep_empty=True, doc="Fields for field selectors, at most eight."),
        ),
        doc="One version of the API.",
    )
    return _Parts(validation, subresources, columns, selectable, ListOf(version), _names(api))


def _kind(api: GroupVersion, names: Struct, spec: tuple[Field, ...], deprecation: str = "") -> Kind:
    return Kind(
        api,
        "CustomResourceDefinition",
        fields=(
            Field(
                "spec",
                2,
                api.struct(
                    "CustomResourceDefinitionSpec", spec, doc="The desired state of a CustomResourceDefinition."
                ),
                omitempty=False,
                doc="The resource, its versions and their conversion.",
            ),
            Field("status", 3, _status(api, names), doc="The observed state."),
        ),
        doc="A resource that is served at /apis/<group>/<version>/.../<plural>. Its name must be <plural>.<group>.",
        short_names=("crd", "crds"),
        categories=("api-extensions",),
        subresources=(Subresource("status"),),
        known_versions=("v1", "v1beta1"),
        # kube-apiserver publishes the hash of the version at which it once stored CRDs, and clients compare it.
        stored_version="v1beta1",
        opaque=api.version == "v1beta1",
        deprecation=deprecation,
    )


def _group(number: int = 1) -> Field:
    return Field("group", number, STRING, omitempty=False, doc="The API group. Cannot be changed.")


def _scope(api: GroupVersion) -> Field:
    scope = String(f"{api.version}.ResourceScope")
    return Field("scope", 4, scope, omitempty=False, doc="Namespaced or Cluster. Cannot be changed.")


_NAMES_DOC = "The names of the resource and its kind."
_REVIEW_VERSIONS_DOC = "The ConversionReview versions that the webhook understands, in order of preference."


def _v1() -> Kind:
    api = APIEXTENSIONS_V1
    parts = _parts(api, "jsonPath")
    webhook = api.struct(
        "WebhookConversion",
        (
            Field("clientConfig", 2, _client_config(api), pointer=True, doc="The address of the webhook."),
            Field("conversionReviewVersions", 3, STRINGS, omitempty=False, doc=_REVIEW_VERSIONS_DOC),
        ),
        doc="A conversion webhook.",
    )
    conversion = api.struct(
        "CustomResourceConversion",
        (
            Field(
                "strategy",
                1,
                String("v1.ConversionStrategyType"),
                omitempty=False,
                doc="None: change only the apiVersion. Webhook: call a webhook.",
            ),
            Field("webhook", 2, webhook, pointer=True, doc="The webhook."),
        ),
        doc="The conversion of objects between versions.",
    )
    return _kind(
        api,
        parts.names,
        (
            _group(),
            Field("names", 3, parts.names, omitempty=False, doc=_NAMES_DOC),
            _scope(api),
            Field("versions", 7, parts.versions, omitempty=False, doc="The versions, one of which is stored."),
            Field("conversion", 9, conversion, pointer=True, doc="The conversion of objects between versions."),
            Field("preserveUnknownFields", 10, BOOL, doc="Deprecated: keep fields that no schema declares."),
        ),
    )


def _v1beta1() -> Kind:
    api = APIEXTENSIONS_V1BETA1
    parts = _parts(api, "JSONPath")
    conversion = api.struct(
        "CustomResourceConversion",
        (
            Field("strategy", 1, String("v1beta1.ConversionStrategyType"), omitempty=False),
            Field("webhookClientConfig", 2, _client_config(api), pointer=True),
            Field("conversionReviewVersions", 3, STRINGS),
        ),
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
