"""Kinds of admission control: webhook configurations, and admission policies with their bindings."""

from __future__ import annotations

from polykind.apis.machinery.columns import AGE, count, value_at
from polykind.apis.machinery.kinds import Kind, Subresource
from polykind.apis.machinery.structs import Field, GroupVersion, Struct
from polykind.apis.machinery.value_types import BYTES, INT32, INT64, STRING, STRINGS, ListOf, String
from polykind.apis.meta.types import CONDITION, LABEL_SELECTOR
from polykind.codec.table import Column
from polykind.contract import JsonObject

GROUP = "admissionregistration.k8s.io"
_STRATEGIES = "polykind.strategies.admissionregistration.strategy"
ADMISSIONREGISTRATION_V1 = GroupVersion(
    GROUP,
    "v1",
    "io.k8s.api.admissionregistration.v1",
    group_priority=16700,
    version_priority=15,
)
_struct = ADMISSIONREGISTRATION_V1.struct

_FAILURE_POLICY = String("v1.FailurePolicyType", ("Fail", "Ignore"))
_MATCH_POLICY = String("v1.MatchPolicyType", ("Equivalent", "Exact"))
_REINVOCATION_POLICY = String("v1.ReinvocationPolicyType", ("IfNeeded", "Never"))


_RULE_WITH_OPERATIONS = _struct(
    "RuleWithOperations",
    "Operations on resources. * stands for all.",
    Field(
        "operations",
        1,
        ListOf(String("v1.OperationType")),
        "The operations: CREATE, UPDATE, DELETE, CONNECT.",
        enum=("*", "CONNECT", "CREATE", "DELETE", "UPDATE"),
    ),
    Field(
        "",
        2,
        _struct(
            "Rule",
            "",
            Field("apiGroups", 1, STRINGS, "The API groups of the resources."),
            Field("apiVersions", 2, STRINGS, "The API versions of the resources."),
            Field("resources", 3, STRINGS, "The resources, such as pods, pods/status, pods/*."),
            Field(
                "scope",
                4,
                String("v1.ScopeType"),
                "Cluster, Namespaced or *, which is the default.",
                pointer=True,
                enum=("*", "Cluster", "Namespaced"),
            ),
        ),
    ),
)
_NAMED_RULE = _struct(
    "NamedRuleWithOperations",
    "Operations on resources, possibly limited to named objects. * stands for all.",
    Field("resourceNames", 1, STRINGS, "The names of the objects; empty: all.", keep_empty=True),
    Field("", 2, _RULE_WITH_OPERATIONS),
    atomic=True,
)

_CLIENT_CONFIG = _struct(
    "WebhookClientConfig",
    "The address of a webhook: a URL or a service.",
    Field("url", 3, STRING, "The HTTPS URL of the webhook.", pointer=True),
    Field(
        "service",
        1,
        _struct(
            "ServiceReference",
            "A reference to a service.",
            Field("namespace", 1, STRING, "The namespace of the service.", omitempty=False),
            Field("name", 2, STRING, "The name of the service.", omitempty=False),
            Field("path", 3, STRING, "The URL path of the webhook.", pointer=True),
            Field("port", 4, INT32, "The port of the webhook, 443 by default.", pointer=True),
        ),
        "The service of the webhook.",
        pointer=True,
    ),
    Field("caBundle", 2, BYTES, "The CA certificates that verify the webhook's certificate, in PEM."),
)


def _by_name(name: str, number: int, item: Struct, doc: str) -> Field:
    """Declare a field with a list in which each item is identified by its `name`."""
    return Field(name, number, ListOf(item), doc, list_type="map", keys=("name",), merge_key="name")


_MATCH_CONDITION = _struct(
    "MatchCondition",
    "A condition that a request must meet before the webhook or policy is evaluated.",
    Field("name", 1, STRING, "The name of the condition.", omitempty=False),
    Field("expression", 2, STRING, "A CEL expression that returns a bool.", omitempty=False),
)


def _webhook(name: str, doc: str, object_selector: int, match_conditions: int, *more: Field) -> Struct:
    """Declare the type of a webhook.

    `object_selector` and `match_conditions` are protobuf numbers, which differ between validating and mutating
    webhooks.
    """
    return _struct(
        name,
        doc,
        Field("name", 1, STRING, "The fully qualified name, such as check.example.com.", omitempty=False),
        Field("clientConfig", 2, _CLIENT_CONFIG, "The address of the webhook.", omitempty=False),
        Field("rules", 3, ListOf(_RULE_WITH_OPERATIONS), "The requests that are sent to the webhook."),
        Field(
            "failurePolicy",
            4,
            _FAILURE_POLICY,
            "The treatment of requests if the webhook fails: Fail (the default) or Ignore.",
            pointer=True,
        ),
        Field(
            "matchPolicy",
            9,
            _MATCH_POLICY,
            "Exact: match only the versions in the rules. Equivalent (the default): match other versions too.",
            pointer=True,
        ),
        Field(
            "namespaceSelector",
            5,
            LABEL_SELECTOR,
            "The namespaces whose objects are sent to the webhook.",
            pointer=True,
        ),
        Field(
            "objectSelector",
            object_selector,
            LABEL_SELECTOR,
            "The objects that are sent to the webhook, by their old or new labels.",
            pointer=True,
        ),
        Field(
            "sideEffects",
            6,
            String("v1.SideEffectClass", ("None", "NoneOnDryRun", "Some", "Unknown")),
            "The side effects of a call: None or NoneOnDryRun.",
            pointer=True,
            required=True,
        ),
        Field("timeoutSeconds", 7, INT32, "The timeout of a call, 1 to 30 seconds; 10 by default.", pointer=True),
        Field(
            "admissionReviewVersions",
            8,
            STRINGS,
            "The AdmissionReview versions that the webhook understands, in order of preference.",
            omitempty=False,
        ),
        *more,
        _by_name(
            "matchConditions", match_conditions, _MATCH_CONDITION, "Conditions for sending a request to the webhook."
        ),
    )


def _configuration(name: str, webhook: Struct, doc: str) -> Kind:
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        doc,
        _by_name("webhooks", 2, webhook, "The webhooks, and the requests that are sent to them."),
        categories=("api-extensions",),
        columns=(Column("Webhooks", "integer", "The number of webhooks", count("webhooks")), AGE),
        known_versions=("v1", "v1beta1"),
        strategy=f"{_STRATEGIES}:WebhookConfigurationStrategy",
    )


VALIDATING_WEBHOOK_CONFIGURATION = _configuration(
    "ValidatingWebhookConfiguration",
    _webhook("ValidatingWebhook", "A webhook that can reject requests.", 10, 11),
    "Webhooks that can reject requests.",
)
MUTATING_WEBHOOK_CONFIGURATION = _configuration(
    "MutatingWebhookConfiguration",
    _webhook(
        "MutatingWebhook",
        "A webhook that can change the object of a request.",
        11,
        12,
        Field(
            "reinvocationPolicy",
            10,
            _REINVOCATION_POLICY,
            "IfNeeded: call the webhook again if the object changes after the first call. Never: call it once.",
            pointer=True,
        ),
    ),
    "Webhooks that can change the objects of requests before they are stored.",
)

_MATCH_RESOURCES = _struct(
    "MatchResources",
    "The requests that a policy or a binding matches.",
    Field("namespaceSelector", 1, LABEL_SELECTOR, "The namespaces of matching requests.", pointer=True),
    Field("objectSelector", 2, LABEL_SELECTOR, "The labels of matching objects.", pointer=True),
    Field("resourceRules", 3, ListOf(_NAMED_RULE), "The operations and resources that match."),
    Field("excludeResourceRules", 4, ListOf(_NAMED_RULE), "The operations and resources that do not match."),
    Field(
        "matchPolicy",
        7,
        _MATCH_POLICY,
        "Exact: match only the versions in the rules. Equivalent: match other versions too.",
        pointer=True,
    ),
    atomic=True,
)

_VALIDATION = _struct(
    "Validation",
    "A condition that a request must meet.",
    Field("expression", 1, STRING, "A CEL expression that returns a bool.", omitempty=False),
    Field("message", 2, STRING, "The message of a rejection."),
    Field("reason", 3, String("v1.StatusReason"), "The reason of a rejection.", pointer=True),
    Field("messageExpression", 4, STRING, "A CEL expression that returns the message of a rejection."),
)

_AUDIT_ANNOTATION = _struct(
    "AuditAnnotation",
    "An annotation of the audit event of a request.",
    Field("key", 1, STRING, "The key of the annotation.", omitempty=False),
    Field("valueExpression", 2, STRING, "A CEL expression that returns a string or null.", omitempty=False),
)

_VARIABLE = _struct(
    "Variable",
    "A value that several expressions use.",
    Field("name", 1, STRING, "The name; expressions use it as variables.<name>.", omitempty=False),
    Field("expression", 2, STRING, "A CEL expression, evaluated at its first use.", omitempty=False),
    atomic=True,
)

_PARAM_KIND = Field(
    "paramKind",
    1,
    _struct(
        "ParamKind",
        "The kind of parameter objects.",
        Field("apiVersion", 1, STRING, "The API group and version."),
        Field("kind", 2, STRING, "The kind."),
        atomic=True,
    ),
    "The kind of the parameter objects that bindings refer to.",
    pointer=True,
)
_MATCH_CONSTRAINTS = Field(
    "matchConstraints", 2, _MATCH_RESOURCES, "The requests that the policy applies to.", pointer=True
)
_MATCH_CONDITIONS = _by_name(
    "matchConditions", 6, _MATCH_CONDITION, "Conditions that a request must meet before the policy is evaluated."
)


def _policy_failure(number: int) -> Field:
    doc = "The treatment of requests if an expression fails: Fail or Ignore."
    return Field("failurePolicy", number, _FAILURE_POLICY, doc, pointer=True)


def _param_kind(obj: JsonObject) -> str:
    kind = (obj.get("spec") or {}).get("paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _policy(
    name: str,
    plural: str,
    doc: str,
    items: Column,
    *spec: Field,
    status: Struct | None = None,
    stored_version: str = "",
) -> Kind:
    """Declare a kind of admission policy. `spec` are the fields after paramKind and matchConstraints."""
    spec_struct = _struct(f"{name}Spec", "The desired behaviour of a policy.", _PARAM_KIND, _MATCH_CONSTRAINTS, *spec)
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        doc,
        Field("spec", 2, spec_struct, "The desired behaviour of the policy."),
        *((Field("status", 3, status, "The observed state of the policy."),) if status is not None else ()),
        plural=plural,
        categories=("api-extensions",),
        subresources=(Subresource("status"),) if status is not None else (),
        columns=(items, Column("ParamKind", "string", "The kind of the policy's parameter objects", _param_kind), AGE),
        known_versions=("v1", "v1beta1", "v1alpha1"),
        stored_version=stored_version,
        strategy=f"{_STRATEGIES}:{'ValidatingPolicyStrategy' if status is not None else 'PolicyStrategy'}",
    )


_TYPE_CHECKING = _struct(
    "TypeChecking",
    "The results of type checking a policy's expressions.",
    Field(
        "expressionWarnings",
        1,
        ListOf(
            _struct(
                "ExpressionWarning",
                "A warning about one expression.",
                Field("fieldRef", 2, STRING, "The path of the expression.", omitempty=False),
                Field("warning", 3, STRING, "The result of type checking.", omitempty=False),
            )
        ),
        "The warnings.",
    ),
)

VALIDATING_ADMISSION_POLICY = _policy(
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    "Expressions that reject requests, where a binding enables them.",
    Column("Validations", "integer", "The number of validations", count("spec.validations")),
    Field("validations", 3, ListOf(_VALIDATION), "The conditions that a request must meet."),
    _policy_failure(4),
    Field("auditAnnotations", 5, ListOf(_AUDIT_ANNOTATION), "Annotations of audit events."),
    _MATCH_CONDITIONS,
    _by_name("variables", 7, _VARIABLE, "Values that several expressions use."),
    status=_struct(
        "ValidatingAdmissionPolicyStatus",
        "The observed state of a policy.",
        Field("observedGeneration", 1, INT64, "The generation that the status describes."),
        Field("typeChecking", 2, _TYPE_CHECKING, "The results of type checking.", pointer=True),
        Field(
            "conditions", 3, ListOf(CONDITION), "Aspects of the state of the policy.", list_type="map", keys=("type",)
        ),
    ),
)

_PARAM_REF = _struct(
    "ParamRef",
    "The parameter objects of a binding.",
    Field("name", 1, STRING, "The name of the parameter object."),
    Field("namespace", 2, STRING, "The namespace of the parameter objects; by default that of the request."),
    Field("selector", 3, LABEL_SELECTOR, "The labels of the parameter objects.", pointer=True),
    Field(
        "parameterNotFoundAction",
        4,
        String("v1.ParameterNotFoundActionType"),
        "The treatment of requests if there is no parameter object: Allow or Deny.",
        pointer=True,
    ),
    atomic=True,
)


def _param_ref(obj: JsonObject) -> str:
    ref = (obj.get("spec") or {}).get("paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    selector = ref.get("selector")
    return "<unset>" if selector is None else _selector_text(selector)


def _selector_text(selector: JsonObject) -> str:
    """Return a label selector as Go prints the struct, because kube-apiserver shows this text in tables."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    terms = "".join(
        "LabelSelectorRequirement{"
        f"Key:{term['key']},Operator:{term['operator']},Values:[{' '.join(term.get('values') or ())}],}},"
        for term in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"
    )


def _binding(name: str, *fields: Field, required: bool | None = None, stored_version: str = "") -> Kind:
    """Declare a kind of binding. `fields` are the fields that the other kind of binding does not have."""
    spec = (
        Field("policyName", 1, STRING, "The name of the policy.", required=bool(fields)),
        Field("paramRef", 2, _PARAM_REF, "The parameter objects for the policy.", pointer=True),
        Field(
            "matchResources",
            3,
            _MATCH_RESOURCES,
            "Further limits of the requests that the policy applies to.",
            pointer=True,
        ),
        *fields,
    )
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        "Enables a policy for some requests.",
        Field(
            "spec",
            2,
            _struct(f"{name}Spec", "The policy to enable, and its parameters.", *spec),
            "The policy to enable, and its parameters.",
            required=required,
        ),
        categories=("api-extensions",),
        columns=(
            Column("PolicyName", "string", "The policy of the binding", value_at("spec", "policyName", default="")),
            Column("ParamRef", "string", "The parameter objects of the binding", _param_ref),
            AGE,
        ),
        known_versions=("v1", "v1beta1", "v1alpha1"),
        stored_version=stored_version,
        strategy=f"{_STRATEGIES}:PolicyBindingStrategy",
    )


VALIDATING_ADMISSION_POLICY_BINDING = _binding(
    "ValidatingAdmissionPolicyBinding",
    Field(
        "validationActions",
        4,
        ListOf(String("v1.ValidationAction")),
        "The consequences of a failed validation.",
        list_type="set",
        enum=("Audit", "Deny", "Warn"),
        required=True,
    ),
    required=True,
)


def _expression(name: str, doc: str) -> Struct:
    return _struct(name, "A CEL expression that returns a patch.", Field("expression", 1, STRING, doc))


_MUTATION = _struct(
    "Mutation",
    "A change of the object of a request.",
    Field(
        "patchType",
        2,
        String("v1.PatchType"),
        "The field that contains the patch.",
        omitempty=False,
        enum=("ApplyConfiguration", "JSONPatch"),
    ),
    Field(
        "applyConfiguration",
        3,
        _expression("ApplyConfiguration", "A CEL expression that returns an Object."),
        "An object that is merged into the object of the request, as server-side apply does.",
        pointer=True,
    ),
    Field(
        "jsonPatch",
        4,
        _expression("JSONPatch", "A CEL expression that returns a list of JSONPatch operations."),
        "A JSON patch of the object of the request.",
        pointer=True,
    ),
)

# kube-apiserver stores both mutating kinds at v1beta1. The hash in discovery depends on the stored version.
MUTATING_ADMISSION_POLICY = _policy(
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    "Expressions that change the objects of requests, where a binding enables them.",
    Column("Mutations", "integer", "The number of mutations", count("spec.mutations")),
    Field("variables", 3, ListOf(_VARIABLE), "Values that several expressions use."),
    Field("mutations", 4, ListOf(_MUTATION), "The changes, in the order of their application."),
    _policy_failure(5),
    _MATCH_CONDITIONS,
    Field(
        "reinvocationPolicy",
        7,
        _REINVOCATION_POLICY,
        "IfNeeded: evaluate the policy again if the object changes later. Never: evaluate it once.",
    ),
    stored_version="v1beta1",
)
MUTATING_ADMISSION_POLICY_BINDING = _binding("MutatingAdmissionPolicyBinding", stored_version="v1beta1")

KINDS = (
    MUTATING_ADMISSION_POLICY,
    MUTATING_ADMISSION_POLICY_BINDING,
    MUTATING_WEBHOOK_CONFIGURATION,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    VALIDATING_WEBHOOK_CONFIGURATION,
)
