"""CustomResourceDefinition, in both versions of its API."""

from __future__ import annotations

from polykind.apis.apiextensions.json_schema_props import json_schema_props
from polykind.apis.machinery.fields import (
    BOOL,
    BYTES,
    INT32,
    INT64,
    STRING,
    STRINGS,
    TIME,
    Field,
    ListOf,
    String,
    Struct,
)
from polykind.apis.meta.types import OBJECT_META, TYPE_META


def _names(version: str) -> Struct:
    return Struct(
        f"{version}.CustomResourceDefinitionNames",
        (
            Field("plural", STRING, 1, omitempty=False),
            Field("singular", STRING, 2),
            Field("shortNames", STRINGS, 3),
            Field("kind", STRING, 4, omitempty=False),
            Field("listKind", STRING, 5),
            Field("categories", STRINGS, 6),
        ),
    )


def _client_config(version: str) -> Struct:
    service = Struct(
        f"{version}.ServiceReference",
        (
            Field("namespace", STRING, 1, omitempty=False),
            Field("name", STRING, 2, omitempty=False),
            Field("path", STRING, 3, pointer=True),
            Field("port", INT32, 4, pointer=True),
        ),
    )
    return Struct(
        f"{version}.WebhookClientConfig",
        (
            Field("url", STRING, 3, pointer=True),
            Field("service", service, 1, pointer=True),
            Field("caBundle", BYTES, 2),
        ),
    )


def _validation(version: str) -> Struct:
    schema = json_schema_props(version)
    return Struct(f"{version}.CustomResourceValidation", (Field("openAPIV3Schema", schema, 1, pointer=True),))


def _subresources(version: str) -> Struct:
    scale = Struct(
        f"{version}.CustomResourceSubresourceScale",
        (
            Field("specReplicasPath", STRING, 1, omitempty=False),
            Field("statusReplicasPath", STRING, 2, omitempty=False),
            Field("labelSelectorPath", STRING, 3, pointer=True),
        ),
    )
    return Struct(
        f"{version}.CustomResourceSubresources",
        (
            Field("status", Struct(f"{version}.CustomResourceSubresourceStatus"), 1, pointer=True),
            Field("scale", scale, 2, pointer=True),
        ),
    )


def _column(version: str, path: str) -> Struct:
    return Struct(
        f"{version}.CustomResourceColumnDefinition",
        (
            Field("name", STRING, 1, omitempty=False),
            Field("type", STRING, 2, omitempty=False),
            Field("format", STRING, 3),
            Field("description", STRING, 4),
            Field("priority", INT32, 5),
            Field(path, STRING, 6, omitempty=False),
        ),
    )


def _status(version: str) -> Struct:
    condition = Struct(
        f"{version}.CustomResourceDefinitionCondition",
        (
            Field("type", String(f"{version}.CustomResourceDefinitionConditionType"), 1, omitempty=False),
            Field("status", String(f"{version}.ConditionStatus"), 2, omitempty=False),
            Field("lastTransitionTime", TIME, 3),
            Field("reason", STRING, 4),
            Field("message", STRING, 5),
            Field("observedGeneration", INT64, 6),
        ),
    )
    return Struct(
        f"{version}.CustomResourceDefinitionStatus",
        (
            Field("conditions", ListOf(condition), 1, omitempty=False),
            Field("acceptedNames", _names(version), 2, omitempty=False),
            Field("storedVersions", STRINGS, 3, omitempty=False),
            Field("observedGeneration", INT64, 4),
        ),
    )


def _definition(version: str, spec: Struct) -> Struct:
    return Struct(
        f"{version}.CustomResourceDefinition",
        (
            *TYPE_META,
            Field("metadata", OBJECT_META, 1),
            Field("spec", spec, 2, omitempty=False),
            Field("status", _status(version), 3),
        ),
        kind="CustomResourceDefinition",
        version=version,
    )


def _version(version: str, validation: Struct, subresources: Struct, columns: ListOf, selectable: ListOf) -> Struct:
    return Struct(
        f"{version}.CustomResourceDefinitionVersion",
        (
            Field("name", STRING, 1, omitempty=False),
            Field("served", BOOL, 2, omitempty=False),
            Field("storage", BOOL, 3, omitempty=False),
            Field("deprecated", BOOL, 7),
            Field("deprecationWarning", STRING, 8, pointer=True),
            Field("schema", validation, 4, pointer=True),
            Field("subresources", subresources, 5, pointer=True),
            Field("additionalPrinterColumns", columns, 6, seen=True),
            Field("selectableFields", selectable, 9, seen=True),
        ),
    )


def _selectable(version: str) -> ListOf:
    return ListOf(Struct(f"{version}.SelectableField", (Field("jsonPath", STRING, 1, omitempty=False),)))


def _v1() -> Struct:
    columns, selectable = ListOf(_column("v1", "jsonPath")), _selectable("v1")
    webhook = Struct(
        "v1.WebhookConversion",
        (
            Field("clientConfig", _client_config("v1"), 2, pointer=True),
            Field("conversionReviewVersions", STRINGS, 3, omitempty=False),
        ),
    )
    conversion = Struct(
        "v1.CustomResourceConversion",
        (
            Field("strategy", String("v1.ConversionStrategyType"), 1, omitempty=False),
            Field("webhook", webhook, 2, pointer=True),
        ),
    )
    version = _version("v1", _validation("v1"), _subresources("v1"), columns, selectable)
    spec = Struct(
        "v1.CustomResourceDefinitionSpec",
        (
            Field("group", STRING, 1, omitempty=False),
            Field("names", _names("v1"), 3, omitempty=False),
            Field("scope", String("v1.ResourceScope"), 4, omitempty=False),
            Field("versions", ListOf(version), 7, omitempty=False),
            Field("conversion", conversion, 9, pointer=True),
            Field("preserveUnknownFields", BOOL, 10),
        ),
    )
    return _definition("v1", spec)


def _v1beta1() -> Struct:
    columns, selectable = ListOf(_column("v1beta1", "JSONPath")), _selectable("v1beta1")
    validation, subresources = _validation("v1beta1"), _subresources("v1beta1")
    conversion = Struct(
        "v1beta1.CustomResourceConversion",
        (
            Field("strategy", String("v1beta1.ConversionStrategyType"), 1, omitempty=False),
            Field("webhookClientConfig", _client_config("v1beta1"), 2, pointer=True),
            Field("conversionReviewVersions", STRINGS, 3),
        ),
    )
    version = _version("v1beta1", validation, subresources, columns, selectable)
    spec = Struct(
        "v1beta1.CustomResourceDefinitionSpec",
        (
            Field("group", STRING, 1, omitempty=False),
            Field("version", STRING, 2),
            Field("names", _names("v1beta1"), 3, omitempty=False),
            Field("scope", String("v1beta1.ResourceScope"), 4, omitempty=False),
            Field("validation", validation, 5, pointer=True),
            Field("subresources", subresources, 6, pointer=True),
            Field("versions", ListOf(version), 7),
            Field("additionalPrinterColumns", columns, 8),
            Field("selectableFields", selectable, 11),
            Field("conversion", conversion, 9, pointer=True),
            Field("preserveUnknownFields", BOOL, 10, pointer=True),
        ),
    )
    return _definition("v1beta1", spec)


CUSTOM_RESOURCE_DEFINITION_V1 = _v1()
CUSTOM_RESOURCE_DEFINITION_V1BETA1 = _v1beta1()
