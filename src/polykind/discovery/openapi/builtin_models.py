"""Models of the built-in kinds, as far as clients need them to explain fields and to apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from polykind.discovery.openapi.migration_models import MIGRATION_MODELS
from polykind.discovery.openapi.models import (
    Model,
    flag,
    integer,
    listed,
    many,
    mapping,
    number,
    record,
    ref,
    stored,
    text,
)
from polykind.discovery.openapi.policy_models import POLICY_MODELS
from polykind.discovery.openapi.rbac_models import RBAC_MODELS
from polykind.discovery.openapi.review_models import REVIEW_MODELS
from polykind.discovery.openapi.schemas import META
from polykind.discovery.openapi.webhook_models import WEBHOOK_MODELS

_CORE: Final = "io.k8s.api.core.v1."
_CRD: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
_TIME: Final = f"{META}Time"


def _keyed(items: Model, description: str, key: str) -> Model:
    return {
        **many(items, description, "map", (key,)),
        "x-kubernetes-patch-merge-key": key,
        "x-kubernetes-patch-strategy": "merge",
    }


_NAMESPACES: Final = {
    f"{_CORE}Namespace": stored(
        "A namespace gives names a scope.",
        "",
        "v1",
        "Namespace",
        spec=ref(f"{_CORE}NamespaceSpec", "What is wanted of it."),
        status=ref(f"{_CORE}NamespaceStatus", "What has become of it."),
    ),
    f"{_CORE}NamespaceList": listed(f"{_CORE}Namespace", "", "v1", "Namespace"),
    f"{_CORE}NamespaceSpec": record(
        "What is wanted of a namespace.",
        finalizers=many(text(), "What must be emptied before the namespace goes."),
    ),
    f"{_CORE}NamespaceStatus": record(
        "What has become of a namespace.",
        conditions=_keyed(ref(f"{_CORE}NamespaceCondition"), "How its deletion is going.", "type"),
        phase=text("Where it is in its life.", enum=["Active", "Terminating"]),
    ),
    f"{_CORE}NamespaceCondition": record(
        "One thing known about a namespace.",
        ("type", "status"),
        lastTransitionTime=ref(_TIME, "When that last changed."),
        message=text("What it means, for people."),
        reason=text("Why, in one word."),
        status=text("True, False or Unknown."),
        type=text("What it is about."),
    ),
}

_SERVICES: Final = {
    f"{_CORE}Service": stored(
        "A service names what can be called, here: where a webhook is.",
        "",
        "v1",
        "Service",
        spec=ref(f"{_CORE}ServiceSpec", "What is wanted of it."),
        status=ref(f"{_CORE}ServiceStatus", "What has become of it."),
    ),
    f"{_CORE}ServiceList": listed(f"{_CORE}Service", "", "v1", "Service"),
    f"{_CORE}ServiceSpec": record(
        "What is wanted of a service.",
        **dict.fromkeys(("clusterIP", "externalTrafficPolicy", "internalTrafficPolicy", "ipFamilyPolicy"), text()),
        **dict.fromkeys(("loadBalancerClass", "loadBalancerIP", "sessionAffinity", "trafficDistribution"), text()),
        **dict.fromkeys(("clusterIPs", "externalIPs", "ipFamilies", "loadBalancerSourceRanges"), many(text())),
        **dict.fromkeys(("allocateLoadBalancerNodePorts", "publishNotReadyAddresses"), flag()),
        externalName=text("The host that a service of type ExternalName leads to."),
        healthCheckNodePort=integer("", 32),
        ports={
            **many(ref(f"{_CORE}ServicePort"), "The ports it has.", "map", ("port", "protocol")),
            "x-kubernetes-patch-merge-key": "port",
            "x-kubernetes-patch-strategy": "merge",
        },
        selector={**mapping(text(), "Which pods are behind it."), "x-kubernetes-map-type": "atomic"},
        type=text("What it is.", enum=["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
    ),
    f"{_CORE}ServicePort": record(
        "One port of a service.",
        ("port",),
        appProtocol=text("What is spoken there."),
        name=text("What it is called."),
        nodePort=integer("", 32),
        port=integer("Its number.", 32),
        protocol=text("TCP, UDP or SCTP.", default="TCP"),
        targetPort={"description": "The port behind it.", "type": "string", "format": "int-or-string"},
    ),
    f"{_CORE}ServiceStatus": record("What has become of a service.", loadBalancer={"type": "object"}),
}

_SCHEMA: Final = ref(f"{_CRD}JSONSchemaProps")
_SCHEMAS: Final = many(_SCHEMA)
_NAMED_SCHEMAS: Final = mapping(_SCHEMA)
_VALUE: Final = ref(f"{_CRD}JSON")
_SCHEMA_OR_BOOL: Final = ref(f"{_CRD}JSONSchemaPropsOrBool")

_SCHEMA_PROPERTIES: Final[Mapping[str, Model]] = {
    **dict.fromkeys(("$ref", "$schema", "description", "id", "pattern", "title", "type"), text()),
    **dict.fromkeys(("exclusiveMaximum", "exclusiveMinimum", "nullable", "uniqueItems"), flag()),
    **dict.fromkeys(("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"), integer()),
    **dict.fromkeys(("maximum", "minimum", "multipleOf"), number()),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _SCHEMAS),
    **dict.fromkeys(("definitions", "patternProperties", "properties"), _NAMED_SCHEMAS),
    **dict.fromkeys(("additionalItems", "additionalProperties"), _SCHEMA_OR_BOOL),
    "default": ref(f"{_CRD}JSON", "The value of the field where it is not given."),
    "dependencies": mapping(ref(f"{_CRD}JSONSchemaPropsOrStringArray")),
    "enum": many(_VALUE),
    "example": _VALUE,
    "externalDocs": ref(f"{_CRD}ExternalDocumentation"),
    "format": text("What a string or number must look like; unknown formats are ignored."),
    "items": ref(f"{_CRD}JSONSchemaPropsOrArray"),
    "not": _SCHEMA,
    "required": many(text()),
    "x-kubernetes-embedded-resource": flag("The value is an object with apiVersion, kind and metadata."),
    "x-kubernetes-int-or-string": flag("The value is an integer or a string."),
    "x-kubernetes-list-map-keys": many(text(), "The fields by which items of a list of type map are told apart."),
    "x-kubernetes-list-type": text("How a list is merged: atomic, set or map."),
    "x-kubernetes-map-type": text("How an object is merged: granular or atomic."),
    "x-kubernetes-preserve-unknown-fields": flag("Fields that the schema does not name are kept."),
    "x-kubernetes-validations": _keyed(ref(f"{_CRD}ValidationRule"), "Rules in CEL.", "rule"),
}

_DEFINITIONS: Final = {
    f"{_CRD}CustomResourceDefinition": stored(
        "A resource that is served at /apis/<group>/<version>/.../<plural>; its name is <plural>.<group>.",
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "spec",
        spec=ref(f"{_CRD}CustomResourceDefinitionSpec", "The resource, its versions and how they convert."),
        status=ref(f"{_CRD}CustomResourceDefinitionStatus", "What has come of it."),
    ),
    f"{_CRD}CustomResourceDefinitionList": listed(
        f"{_CRD}CustomResourceDefinition", "apiextensions.k8s.io", "v1", "CustomResourceDefinition"
    ),
    f"{_CRD}CustomResourceDefinitionSpec": record(
        "What is to be served.",
        ("group", "names", "scope", "versions"),
        conversion=ref(f"{_CRD}CustomResourceConversion", "How objects get from version to version."),
        group=text("The API group; never changes."),
        names=ref(f"{_CRD}CustomResourceDefinitionNames", "What the resource and its kind are called."),
        preserveUnknownFields=flag("Deprecated: keep fields that no schema names. Must be false."),
        scope=text("Namespaced or Cluster; never changes."),
        versions=many(ref(f"{_CRD}CustomResourceDefinitionVersion"), "The versions of the API; one of them is stored."),
    ),
    f"{_CRD}CustomResourceDefinitionNames": record(
        "What a resource and its kind are called.",
        ("plural", "kind"),
        categories=many(text(), "Groups of resources to get at once, such as all."),
        kind=text("The kind, in CamelCase."),
        listKind=text("The kind of lists; by default <kind>List."),
        plural=text("The resource, as in paths; lower case, never changes."),
        shortNames=many(text(), "Short names for command lines."),
        singular=text("One of them; by default the kind in lower case."),
    ),
    f"{_CRD}CustomResourceDefinitionVersion": record(
        "One version of the API.",
        ("name", "served", "storage"),
        additionalPrinterColumns=many(ref(f"{_CRD}CustomResourceColumnDefinition"), "Columns of tables."),
        deprecated=flag("Whether clients are warned off it."),
        deprecationWarning=text("The warning; by default one that names what to use instead."),
        name=text("The name, such as v1 or v2beta1."),
        schema=ref(f"{_CRD}CustomResourceValidation", "The schema of this version."),
        selectableFields=many(ref(f"{_CRD}SelectableField"), "Fields to select by; eight at most."),
        served=flag("Whether it is served."),
        storage=flag("Whether objects are stored at it; true for exactly one version."),
        subresources=ref(f"{_CRD}CustomResourceSubresources", "Which subresources it has."),
    ),
    f"{_CRD}CustomResourceValidation": record(
        "What objects look like.",
        openAPIV3Schema=ref(f"{_CRD}JSONSchemaProps", "An OpenAPI v3 schema to prune, default and validate by."),
    ),
    f"{_CRD}CustomResourceColumnDefinition": record(
        "A column of tables.",
        ("name", "type", "jsonPath"),
        description=text("What it tells."),
        format=text("The OpenAPI format of its values; name marks the column of names."),
        jsonPath=text("Where in an object its value is."),
        name=text("The heading."),
        priority=integer("0: always shown; above: only in wide tables.", 32),
        type=text("The OpenAPI type of its values, or date."),
    ),
    f"{_CRD}SelectableField": record(
        "A field to select by.", ("jsonPath",), jsonPath=text("Where it is, such as .spec.color.")
    ),
    f"{_CRD}CustomResourceSubresources": record(
        "The subresources of a version.",
        scale=ref(f"{_CRD}CustomResourceSubresourceScale", "Serves /scale."),
        status=ref(f"{_CRD}CustomResourceSubresourceStatus", "Serves /status, the only way to write .status then."),
    ),
    f"{_CRD}CustomResourceSubresourceStatus": record("How to serve /status."),
    f"{_CRD}CustomResourceSubresourceScale": record(
        "How to serve /scale.",
        ("specReplicasPath", "statusReplicasPath"),
        labelSelectorPath=text("Where the label selector is, under .spec or .status."),
        specReplicasPath=text("Where the wanted number of replicas is, under .spec."),
        statusReplicasPath=text("Where the actual number of replicas is, under .status."),
    ),
    f"{_CRD}CustomResourceConversion": record(
        "How objects get from version to version.",
        ("strategy",),
        strategy=text("None: only apiVersion changes. Webhook: a webhook converts."),
        webhook=ref(f"{_CRD}WebhookConversion", "The webhook."),
    ),
    f"{_CRD}WebhookConversion": record(
        "A webhook that converts.",
        ("conversionReviewVersions",),
        clientConfig=ref(f"{_CRD}WebhookClientConfig", "How to call it."),
        conversionReviewVersions=many(text(), "The versions of ConversionReview it understands, the best first."),
    ),
    f"{_CRD}WebhookClientConfig": record(
        "How to call a webhook: by url or by service.",
        caBundle=text("The CA certificates that vouch for it, in PEM.", format="byte"),
        service=ref(f"{_CRD}ServiceReference", "A service to call."),
        url=text("An https address to call."),
    ),
    f"{_CRD}ServiceReference": record(
        "A service.",
        ("namespace", "name"),
        name=text("Its name."),
        namespace=text("Its namespace."),
        path=text("The path to call."),
        port=integer("The port to call, 443 by default.", 32),
    ),
    f"{_CRD}CustomResourceDefinitionStatus": record(
        "What has come of a definition.",
        acceptedNames=ref(f"{_CRD}CustomResourceDefinitionNames", "The names that are served."),
        conditions=many(
            ref(f"{_CRD}CustomResourceDefinitionCondition"), "Whether it is served, and why not.", "map", ("type",)
        ),
        observedGeneration=integer("The generation this is about."),
        storedVersions=many(text(), "Every version that objects may still be stored at."),
    ),
    f"{_CRD}CustomResourceDefinitionCondition": record(
        "One thing known about a definition.",
        ("type", "status"),
        lastTransitionTime=ref(_TIME, "When that last changed."),
        message=text("What it means, for people."),
        observedGeneration=integer("The generation this is about."),
        reason=text("Why, in one word."),
        status=text("True, False or Unknown."),
        type=text("What it is about, such as Established or NamesAccepted."),
    ),
    f"{_CRD}JSONSchemaProps": record("A JSON schema, by the rules for structural schemas.", **_SCHEMA_PROPERTIES),
    f"{_CRD}JSON": {"description": "Any JSON value."},
    f"{_CRD}JSONSchemaPropsOrArray": {"description": "A schema, or a list of them."},
    f"{_CRD}JSONSchemaPropsOrBool": {"description": "A schema, or true or false."},
    f"{_CRD}JSONSchemaPropsOrStringArray": {"description": "A schema, or a list of names."},
    f"{_CRD}ExternalDocumentation": record(
        "Where to read more.", description=text("What is there."), url=text("Its address.")
    ),
    f"{_CRD}ValidationRule": record(
        "A rule in CEL.",
        ("rule",),
        fieldPath=text("The field a failure is reported at, relative to the rule."),
        message=text("What a failure says."),
        messageExpression=text("A CEL expression for what a failure says."),
        optionalOldSelf=flag("Run the rule also where there is no old value."),
        reason=text(
            "The reason of a failure.",
            enum=["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"],
        ),
        rule=text("The expression; it is bound to the value as self."),
    ),
}

BUILTIN_MODELS: Final[Mapping[str, Model]] = {
    **_NAMESPACES,
    **_SERVICES,
    **_DEFINITIONS,
    **MIGRATION_MODELS,
    **POLICY_MODELS,
    **RBAC_MODELS,
    **REVIEW_MODELS,
    **WEBHOOK_MODELS,
}

_PACKAGES: Final = {
    "": "io.k8s.api.core",
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
}


def builtin_model_name(group: str, version: str, kind: str) -> str:
    """What the model of a built-in kind is called."""
    package = _PACKAGES.get(group) or f"io.k8s.api.{group.partition('.')[0]}"
    return f"{package}.{version}.{kind}"


def builtin_models(group: str, version: str, kind: str, *, kept: bool = True) -> Mapping[str, Model]:
    """The models of a built-in kind and, if it is kept, its list, without what they refer to.

    A kind of which none is written down here may hold anything.
    """
    model = builtin_model_name(group, version, kind)
    found = BUILTIN_MODELS.get(model)
    if found is None:
        anything = stored(f"A {kind}.", group, version, kind)
        found = {**anything, "x-kubernetes-preserve-unknown-fields": True}
    return {model: found, f"{model}List": listed(model, group, version, kind)} if kept else {model: found}
