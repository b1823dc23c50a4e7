"""The types of a kind at one version: read from its schema, or written down for the kinds that are built in."""

from __future__ import annotations

from typing import Any

from polykind.apply.model import BOOLEAN, DEDUCED, NUMERIC, SCALAR, STRING, UNTYPED, Field, ListType, MapType, Type
from polykind.apply.record import ANY, TEXTS, atomic, keyed, many, mapping, struct
from polykind.apply.versiontypes import SPEC_V1BETA1, VERSIONS
from polykind.contract import JsonObject


class TypeModel:
    """The types of one version of a kind; its schema is read at the first use.

    `zero` is what an object is before it is created: a kind that is built in has its required fields from the outset.
    `ordered` keeps the keys of field sets in the reference's order, for objects whose keys are not sorted on the wire.
    """

    def __init__(
        self,
        openapi: JsonObject | None,
        preserve_unknown: bool = False,
        *,
        root: Type | None = None,
        zero: JsonObject | None = None,
        ordered: bool = False,
    ) -> None:
        self._openapi = openapi
        self._preserve_unknown = preserve_unknown
        self._root = root
        self.zero: JsonObject = zero or {}
        self.ordered = ordered

    @property
    def root(self) -> Type:
        if self._root is None:
            try:
                self._root = _kind(self._openapi, preserve=self._preserve_unknown)
            except RecursionError:
                self._root = DEDUCED
            self._openapi = None
        return self._root


def _kind(openapi: JsonObject | None, *, preserve: bool) -> Type:
    if not openapi:
        return Type(map_type=MapType({}, DEDUCED, atomic=False))
    properties = _dict(openapi.get("properties"))
    root = _type({**openapi, "type": "object", "properties": {**properties, **_EMBEDDED}}, preserve)
    if root.map is not None:
        root.map.fields.update(_embedded_fields())
    return root


def _type(schema: Any, preserve: bool) -> Type:
    if not isinstance(schema, dict):
        return UNTYPED
    preserve = preserve or schema.get("x-kubernetes-preserve-unknown-fields") is True
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return NUMERIC
    if kind == "boolean":
        return BOOLEAN
    if kind == "string":
        return STRING if schema.get("format") in (None, "", "byte") else SCALAR
    if kind == "object":
        return Type(map_type=_map(schema, preserve))
    if kind == "array":
        return Type(list_type=_list(schema, preserve))
    if schema.keys().isdisjoint(_CONTAINED):
        return ANY
    return Type("untyped", _map(schema, preserve), _list(schema, preserve))


def _map(schema: JsonObject, preserve: bool) -> MapType:
    properties = _dict(schema.get("properties"))
    fields = {}
    for name, below in properties.items():
        default = below.get("default") if isinstance(below, dict) else None
        fields[name] = Field(f"f:{name}", _type(below, preserve), default)
    if schema.get("x-kubernetes-embedded-resource") is True:
        fields.update(_embedded_fields())
    return MapType(
        fields,
        _element(schema.get("additionalProperties"), preserve or not properties, preserve),
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
    )


def _element(additional: Any, free: bool, preserve: bool) -> Type | None:
    """The type of fields without a name: by `additionalProperties`, or, without that, anything or none at all."""
    if additional is None:
        return DEDUCED if free else None
    if isinstance(additional, dict):
        return _type(additional, preserve)
    return DEDUCED if additional else None


def _list(schema: JsonObject, preserve: bool) -> ListType:
    items = schema.get("items")
    element = UNTYPED if items is None else _type(items, preserve)
    kind = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys")
    if kind == "map" and isinstance(keys, list):
        return ListType(element, atomic=False, keys=tuple(key for key in keys if isinstance(key, str)))
    return ListType(element, atomic=kind != "set")


def _dict(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}


_CONTAINED = {
    "properties",
    "additionalProperties",
    "items",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-map-type",
    "x-kubernetes-list-type",
    "x-kubernetes-embedded-resource",
}
_STRINGS = mapping(STRING)

_OWNER = atomic(
    apiVersion=STRING,
    blockOwnerDeletion=BOOLEAN,
    controller=BOOLEAN,
    kind=STRING,
    name=STRING,
    uid=STRING,
)
_MANAGER = struct(
    **dict.fromkeys(("apiVersion", "fieldsType", "manager", "operation", "subresource"), STRING),
    fieldsV1=mapping(DEDUCED),
    time=SCALAR,
)
META = struct(
    annotations=_STRINGS,
    creationTimestamp=SCALAR,
    deletionGracePeriodSeconds=NUMERIC,
    deletionTimestamp=SCALAR,
    finalizers=Type(list_type=ListType(STRING, atomic=False)),
    generateName=STRING,
    generation=NUMERIC,
    labels=_STRINGS,
    managedFields=many(_MANAGER),
    name=STRING,
    namespace=STRING,
    ownerReferences=keyed(_OWNER, "uid"),
    resourceVersion=STRING,
    selfLink=STRING,
    uid=STRING,
)
_EMBEDDED: JsonObject = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {}}


def _embedded_fields() -> dict[str, Field]:
    kinds = {"apiVersion": STRING, "kind": STRING, "metadata": META}
    return {name: Field(f"f:{name}", kind, None) for name, kind in kinds.items()}


def _stored(zero: JsonObject, **fields: Type) -> TypeModel:
    root = struct(apiVersion=STRING, kind=STRING, metadata=META, **fields)
    return TypeModel(None, root=root, zero={"metadata": {}, **zero}, ordered=True)


def _object(spec: Type, status: Type, zero: JsonObject) -> TypeModel:
    return _stored(zero, spec=spec, status=status)


def _condition(*more: str) -> Type:
    names = ("type", "status", "reason", "message")
    fields = {**dict.fromkeys(names, STRING), **dict.fromkeys(more, NUMERIC), "lastTransitionTime": SCALAR}
    return keyed(struct(**fields), "type")


_NAMES = struct(categories=TEXTS, kind=STRING, listKind=STRING, plural=STRING, shortNames=TEXTS, singular=STRING)
_SERVICE = struct(name=STRING, namespace=STRING, path=STRING, port=NUMERIC)
_CLIENT_CONFIG = struct(caBundle=STRING, service=_SERVICE, url=STRING)
_WEBHOOK = struct(clientConfig=_CLIENT_CONFIG, conversionReviewVersions=TEXTS)
_NO_NAMES: JsonObject = {"plural": "", "kind": ""}


def _definitions(conversion: Type, **spec: Type) -> TypeModel:
    return _object(
        struct(conversion=conversion, group=STRING, names=_NAMES, preserveUnknownFields=BOOLEAN, scope=STRING, **spec),
        struct(
            acceptedNames=_NAMES,
            conditions=_condition("observedGeneration"),
            observedGeneration=NUMERIC,
            storedVersions=TEXTS,
        ),
        {
            "spec": {"group": "", "names": _NO_NAMES, "scope": "", "versions": None},
            "status": {"conditions": None, "acceptedNames": _NO_NAMES, "storedVersions": None},
        },
    )


CRD_MODEL = _definitions(struct(strategy=STRING, webhook=_WEBHOOK), versions=VERSIONS)
CRD_V1BETA1_MODEL = _definitions(
    struct(conversionReviewVersions=TEXTS, strategy=STRING, webhookClientConfig=_CLIENT_CONFIG), **SPEC_V1BETA1
)
NAMESPACE_MODEL = _object(
    struct(finalizers=TEXTS), struct(conditions=_condition(), phase=STRING), {"spec": {}, "status": {}}
)
_PORT = struct(appProtocol=STRING, name=STRING, nodePort=NUMERIC, port=NUMERIC, protocol=STRING, targetPort=SCALAR)
if _PORT.map is not None:
    _PORT.map.fields["protocol"] = _PORT.map.fields["protocol"]._replace(default="TCP")
_SELECTOR = Type(map_type=MapType({}, STRING, atomic=True))
SERVICE_MODEL = _object(
    struct(
        **dict.fromkeys(("clusterIP", "externalName", "externalTrafficPolicy", "internalTrafficPolicy"), STRING),
        **dict.fromkeys(("ipFamilyPolicy", "loadBalancerClass", "loadBalancerIP", "sessionAffinity", "type"), STRING),
        **dict.fromkeys(("clusterIPs", "externalIPs", "ipFamilies", "loadBalancerSourceRanges"), TEXTS),
        **dict.fromkeys(("allocateLoadBalancerNodePorts", "publishNotReadyAddresses"), BOOLEAN),
        healthCheckNodePort=NUMERIC,
        ports=Type(list_type=ListType(_PORT, atomic=False, keys=("port", "protocol"))),
        selector=_SELECTOR,
        trafficDistribution=STRING,
    ),
    struct(loadBalancer=struct()),
    {"spec": {}, "status": {"loadBalancer": {}}},
)
SCALE_MODEL = _object(
    struct(replicas=NUMERIC), struct(replicas=NUMERIC, selector=STRING), {"spec": {}, "status": {"replicas": 0}}
)

_TERM = struct(key=STRING, operator=STRING, values=TEXTS)
_LABEL_SELECTOR = atomic(matchExpressions=many(_TERM), matchLabels=_STRINGS)
_RULE = {"scope": STRING, **dict.fromkeys(("apiGroups", "apiVersions", "operations", "resources"), TEXTS)}
_RULES = Type(list_type=ListType(struct(**_RULE), atomic=True))
_NAMED_RULES = Type(list_type=ListType(atomic(**_RULE, resourceNames=TEXTS), atomic=True))
_MATCH_CONDITIONS = keyed(struct(expression=STRING, name=STRING), "name")


def _webhooks(**more: Type) -> TypeModel:
    webhook = struct(
        **dict.fromkeys(("failurePolicy", "matchPolicy", "name", "sideEffects"), STRING),
        admissionReviewVersions=TEXTS,
        clientConfig=_CLIENT_CONFIG,
        matchConditions=_MATCH_CONDITIONS,
        namespaceSelector=_LABEL_SELECTOR,
        objectSelector=_LABEL_SELECTOR,
        rules=_RULES,
        timeoutSeconds=NUMERIC,
        **more,
    )
    return _stored({}, webhooks=keyed(webhook, "name"))


VALIDATING_WEBHOOK_CONFIGURATION_MODEL = _webhooks()
MUTATING_WEBHOOK_CONFIGURATION_MODEL = _webhooks(reinvocationPolicy=STRING)

_MATCH_RESOURCES = atomic(
    excludeResourceRules=_NAMED_RULES,
    matchPolicy=STRING,
    namespaceSelector=_LABEL_SELECTOR,
    objectSelector=_LABEL_SELECTOR,
    resourceRules=_NAMED_RULES,
)
VALIDATING_ADMISSION_POLICY_MODEL = _object(
    struct(
        auditAnnotations=many(struct(key=STRING, valueExpression=STRING)),
        failurePolicy=STRING,
        matchConditions=_MATCH_CONDITIONS,
        matchConstraints=_MATCH_RESOURCES,
        paramKind=atomic(apiVersion=STRING, kind=STRING),
        validations=many(struct(**dict.fromkeys(("expression", "message", "messageExpression", "reason"), STRING))),
        variables=keyed(atomic(expression=STRING, name=STRING), "name"),
    ),
    struct(
        conditions=_condition("observedGeneration"),
        observedGeneration=NUMERIC,
        typeChecking=struct(expressionWarnings=many(struct(fieldRef=STRING, warning=STRING))),
    ),
    {"spec": {}, "status": {}},
)
_PARAM_REF = atomic(name=STRING, namespace=STRING, parameterNotFoundAction=STRING, selector=_LABEL_SELECTOR)
VALIDATING_ADMISSION_POLICY_BINDING_MODEL = _stored(
    {"spec": {}},
    spec=struct(
        matchResources=_MATCH_RESOURCES,
        paramRef=_PARAM_REF,
        policyName=STRING,
        validationActions=Type(list_type=ListType(STRING, atomic=False)),
    ),
)
MUTATING_ADMISSION_POLICY_MODEL = _stored(
    {"spec": {}},
    spec=struct(
        failurePolicy=STRING,
        matchConditions=_MATCH_CONDITIONS,
        matchConstraints=_MATCH_RESOURCES,
        mutations=many(
            struct(applyConfiguration=struct(expression=STRING), jsonPatch=struct(expression=STRING), patchType=STRING)
        ),
        paramKind=atomic(apiVersion=STRING, kind=STRING),
        reinvocationPolicy=STRING,
        variables=many(struct(expression=STRING, name=STRING)),
    ),
)
MUTATING_ADMISSION_POLICY_BINDING_MODEL = _stored(
    {"spec": {}},
    spec=struct(matchResources=_MATCH_RESOURCES, paramRef=_PARAM_REF, policyName=STRING),
)

_POLICY_RULES = Type(
    list_type=ListType(
        struct(**dict.fromkeys(("apiGroups", "nonResourceURLs", "resourceNames", "resources", "verbs"), TEXTS)),
        atomic=True,
    )
)
_SUBJECT = atomic(**dict.fromkeys(("apiGroup", "kind", "name", "namespace"), STRING))
ROLE_MODEL = _stored({"rules": None}, rules=_POLICY_RULES)
CLUSTER_ROLE_MODEL = _stored(
    {"rules": None},
    aggregationRule=struct(clusterRoleSelectors=many(_LABEL_SELECTOR)),
    rules=_POLICY_RULES,
)
ROLE_BINDING_MODEL = _stored(
    {"roleRef": {"apiGroup": "", "kind": "", "name": ""}},
    roleRef=atomic(apiGroup=STRING, kind=STRING, name=STRING),
    subjects=many(_SUBJECT),
)

STORAGE_VERSION_MIGRATION_MODEL = _object(
    struct(resource=struct(group=STRING, resource=STRING)),
    struct(conditions=_condition("observedGeneration"), resourceVersion=STRING),
    {"spec": {"resource": {"group": "", "resource": ""}}, "status": {}},
)
