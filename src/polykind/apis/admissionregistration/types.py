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
ADMISSIONREGISTRATION_V1 = GroupVersion(
    GROUP,
    "v1",
    "io.k8s.api.admissionregistration.v1",
    publishes_defaults=False,
    group_priority=16700,
    version_priority=15,
)
_struct = ADMISSIONREGISTRATION_V1.struct

_FAILURE_POLICY = String("v1.FailurePolicyType")
_MATCH_POLICY = String("v1.MatchPolicyType")
_REINVOCATION_POLICY = String("v1.ReinvocationPolicyType")


def _rule_with_operations(*, enums: bool) -> Struct:
    """Declare RuleWithOperations; kube-apiserver publishes its enums only where policies embed it."""
    return _struct(
        "RuleWithOperations",
        (
            Field(
                "operations",
                1,
                ListOf(String("v1.OperationType")),
                enum=("*", "CONNECT", "CREATE", "DELETE", "UPDATE") if enums else (),
                doc="The operations: CREATE, UPDATE, DELETE, CONNECT.",
            ),
            Field(
                "",
                2,
                _struct(
                    "Rule",
                    (
                        Field("apiGroups", 1, STRINGS, doc="The API groups of the resources."),
                        Field("apiVersions", 2, STRINGS, doc="The API versions of the resources."),
                        Field("resources", 3, STRINGS, doc="The resources, such as pods, pods/status, pods/*."),
                        Field(
                            "scope",
                            4,
                            String("v1.ScopeType"),
                            pointer=True,
                            enum=("*", "Cluster", "Namespaced") if enums else (),
                            doc="Cluster, Namespaced or *, which is the default.",
                        ),
                    ),
                ),
            ),
        ),
        doc="Operations on resources. * stands for all.",
    )


_RULE_WITH_OPERATIONS = _rule_with_operations(enums=False)
_NAMED_RULE = _struct(
    "NamedRuleWithOperations",
    (
        Field("resourceNames", 1, STRINGS, keep_empty=True, doc="The names of the objects; empty: all."),
        Field("", 2, _rule_with_operations(enums=True)),
    ),
    doc="Operations on resources, possibly limited to named objects. * stands for all.",
    atomic=True,
)

_CLIENT_CONFIG = _struct(
    "WebhookClientConfig",
    (
        Field("url", 3, STRING, pointer=True, doc="The HTTPS URL of the webhook."),
        Field(
            "service",
            1,
            _struct(
                "ServiceReference",
                (
                    Field("namespace", 1, STRING, omitempty=False, doc="The namespace of the service."),
                    Field("name", 2, STRING, omitempty=False, doc="The name of the service."),
                    Field("path", 3, STRING, pointer=True, doc="The URL path of the webhook."),
                    Field("port", 4, INT32, pointer=True, doc="The port of the webhook, 443 by default."),
                ),
                doc="A reference to a service.",
            ),
            pointer=True,
            doc="The service of the webhook.",
        ),
        Field("caBundle", 2, BYTES, doc="The CA certificates that verify the webhook's certificate, in PEM."),
    ),
    doc="The address of a webhook: a URL or a service.",
)


def _by_name(name: str, number: int, item: Struct, doc: str) -> Field:
    """Declare a list whose items are identified by their names."""
    return Field(name, number, ListOf(item), list_type="map", keys=("name",), merge_key="name", doc=doc)


_MATCH_CONDITION = _struct(
    "MatchCondition",
    (
        Field("name", 1, STRING, omitempty=False, doc="The name of the condition."),
        Field("expression", 2, STRING, omitempty=False, doc="A CEL expression that returns a bool."),
    ),
    doc="A condition that a request must meet before the webhook or policy is evaluated.",
)


def _webhook(name: str, doc: str, object_selector: int, match_conditions: int, *more: Field) -> Struct:
    """Declare a webhook; the two kinds of webhook number their later fields differently."""
    return _struct(
        name,
        (
            Field("name", 1, STRING, omitempty=False, doc="The fully qualified name, such as check.example.com."),
            Field("clientConfig", 2, _CLIENT_CONFIG, omitempty=False, doc="The address of the webhook."),
            Field("rules", 3, ListOf(_RULE_WITH_OPERATIONS), doc="The requests that are sent to the webhook."),
            Field(
                "failurePolicy",
                4,
                _FAILURE_POLICY,
                pointer=True,
                doc="The treatment of requests if the webhook fails: Fail (the default) or Ignore.",
            ),
            Field(
                "matchPolicy",
                9,
                _MATCH_POLICY,
                pointer=True,
                doc="Exact: match only the versions in the rules. Equivalent (the default): match other versions too.",
            ),
            Field(
                "namespaceSelector",
                5,
                LABEL_SELECTOR,
                pointer=True,
                doc="The namespaces whose objects are sent to the webhook.",
            ),
            Field(
                "objectSelector",
                object_selector,
                LABEL_SELECTOR,
                pointer=True,
                doc="The objects that are sent to the webhook, by their old or new labels.",
            ),
            Field(
                "sideEffects",
                6,
                String("v1.SideEffectClass"),
                pointer=True,
                required=True,
                doc="The side effects of a call: None or NoneOnDryRun.",
            ),
            Field(
                "timeoutSeconds", 7, INT32, pointer=True, doc="The timeout of a call, 1 to 30 seconds; 10 by default."
            ),
            Field(
                "admissionReviewVersions",
                8,
                STRINGS,
                omitempty=False,
                doc="The AdmissionReview versions that the webhook understands, in order of preference.",
            ),
            *more,
            _by_name(
                "matchConditions",
                match_conditions,
                _MATCH_CONDITION,
                "Conditions for sending a request to the webhook.",
            ),
        ),
        doc=doc,
    )


def _configuration(name: str, webhook: Struct, doc: str) -> Kind:
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        fields=(_by_name("webhooks", 2, webhook, "The webhooks, and the requests that are sent to them."),),
        doc=doc,
        categories=("api-extensions",),
        columns=(Column("Webhooks", "integer", "The number of webhooks", count("webhooks")), AGE),
        known_versions=("v1", "v1beta1"),
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
            pointer=True,
            doc="IfNeeded: call the webhook again if the object changes after the first call. Never: call it once.",
        ),
    ),
    "Webhooks that can change the objects of requests before they are stored.",
)

_MATCH_RESOURCES = _struct(
    "MatchResources",
    (
        Field("namespaceSelector", 1, LABEL_SELECTOR, pointer=True, doc="The namespaces of matching requests."),
        Field("objectSelector", 2, LABEL_SELECTOR, pointer=True, doc="The labels of matching objects."),
        Field("resourceRules", 3, ListOf(_NAMED_RULE), doc="The operations and resources that match."),
        Field("excludeResourceRules", 4, ListOf(_NAMED_RULE), doc="The operations and resources that do not match."),
        Field(
            "matchPolicy",
            7,
            _MATCH_POLICY,
            pointer=True,
            enum=("Equivalent", "Exact"),
            doc="Exact: match only the versions in the rules. Equivalent: match other versions too.",
        ),
    ),
    doc="The requests that a policy or a binding matches.",
    atomic=True,
)

_VALIDATION = _struct(
    "Validation",
    (
        Field("expression", 1, STRING, omitempty=False, doc="A CEL expression that returns a bool."),
        Field("message", 2, STRING, doc="The message of a rejection."),
        Field("reason", 3, String("v1.StatusReason"), pointer=True, doc="The reason of a rejection."),
        Field("messageExpression", 4, STRING, doc="A CEL expression that returns the message of a rejection."),
    ),
    doc="A condition that a request must meet.",
)

_AUDIT_ANNOTATION = _struct(
    "AuditAnnotation",
    (
        Field("key", 1, STRING, omitempty=False, doc="The key of the annotation."),
        Field("valueExpression", 2, STRING, omitempty=False, doc="A CEL expression that returns a string or null."),
    ),
    doc="An annotation of the audit event of a request.",
)

_VARIABLE = _struct(
    "Variable",
    (
        Field("name", 1, STRING, omitempty=False, doc="The name; expressions use it as variables.<name>."),
        Field("expression", 2, STRING, omitempty=False, doc="A CEL expression, evaluated at its first use."),
    ),
    doc="A value that several expressions use.",
    atomic=True,
)

_PARAM_KIND = Field(
    "paramKind",
    1,
    _struct(
        "ParamKind",
        (
            Field("apiVersion", 1, STRING, doc="The API group and version."),
            Field("kind", 2, STRING, doc="The kind."),
        ),
        doc="The kind of parameter objects.",
        atomic=True,
    ),
    pointer=True,
    doc="The kind of the parameter objects that bindings refer to.",
)
_MATCH_CONSTRAINTS = Field(
    "matchConstraints", 2, _MATCH_RESOURCES, pointer=True, doc="The requests that the policy applies to."
)
_MATCH_CONDITIONS = _by_name(
    "matchConditions", 6, _MATCH_CONDITION, "Conditions that a request must meet before the policy is evaluated."
)


def _policy_failure(number: int) -> Field:
    doc = "The treatment of requests if an expression fails: Fail or Ignore."
    return Field("failurePolicy", number, _FAILURE_POLICY, pointer=True, enum=("Fail", "Ignore"), doc=doc)


def _param_kind(obj: JsonObject) -> str:
    kind = (obj.get("spec") or {}).get("paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _policy(
    name: str, plural: str, doc: str, items: Column, *fields: Field, status: bool = False, stored_version: str = ""
) -> Kind:
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        plural,
        fields,
        doc=doc,
        categories=("api-extensions",),
        subresources=(Subresource("status"),) if status else (),
        columns=(items, Column("ParamKind", "string", "The kind of the policy's parameter objects", _param_kind), AGE),
        known_versions=("v1", "v1beta1", "v1alpha1"),
        stored_version=stored_version,
    )


_TYPE_CHECKING = _struct(
    "TypeChecking",
    (
        Field(
            "expressionWarnings",
            1,
            ListOf(
                _struct(
                    "ExpressionWarning",
                    (
                        Field("fieldRef", 2, STRING, omitempty=False, doc="The path of the expression."),
                        Field("warning", 3, STRING, omitempty=False, doc="The result of type checking."),
                    ),
                    doc="A warning about one expression.",
                )
            ),
            doc="The warnings.",
        ),
    ),
    doc="The results of type checking a policy's expressions.",
)

VALIDATING_ADMISSION_POLICY = _policy(
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    "Expressions that reject requests, where a binding enables them.",
    Column("Validations", "integer", "The number of validations", count("spec.validations")),
    Field(
        "spec",
        2,
        _struct(
            "ValidatingAdmissionPolicySpec",
            (
                _PARAM_KIND,
                _MATCH_CONSTRAINTS,
                Field("validations", 3, ListOf(_VALIDATION), doc="The conditions that a request must meet."),
                _policy_failure(4),
                Field("auditAnnotations", 5, ListOf(_AUDIT_ANNOTATION), doc="Annotations of audit events."),
                _MATCH_CONDITIONS,
                _by_name("variables", 7, _VARIABLE, "Values that several expressions use."),
            ),
            doc="The desired behaviour of a policy.",
        ),
        doc="The desired behaviour of the policy.",
    ),
    Field(
        "status",
        3,
        _struct(
            "ValidatingAdmissionPolicyStatus",
            (
                Field("observedGeneration", 1, INT64, doc="The generation that the status describes."),
                Field("typeChecking", 2, _TYPE_CHECKING, pointer=True, doc="The results of type checking."),
                Field(
                    "conditions",
                    3,
                    ListOf(CONDITION),
                    list_type="map",
                    keys=("type",),
                    doc="Aspects of the state of the policy.",
                ),
            ),
            doc="The observed state of a policy.",
        ),
        doc="The observed state of the policy.",
    ),
    status=True,
)

_PARAM_REF = _struct(
    "ParamRef",
    (
        Field("name", 1, STRING, doc="The name of the parameter object."),
        Field("namespace", 2, STRING, doc="The namespace of the parameter objects; by default that of the request."),
        Field("selector", 3, LABEL_SELECTOR, pointer=True, doc="The labels of the parameter objects."),
        Field(
            "parameterNotFoundAction",
            4,
            String("v1.ParameterNotFoundActionType"),
            pointer=True,
            doc="The treatment of requests if there is no parameter object: Allow or Deny.",
        ),
    ),
    doc="The parameter objects of a binding.",
    atomic=True,
)


def _param_ref(obj: JsonObject) -> str:
    ref = (obj.get("spec") or {}).get("paramRef") or {}
    if ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{ref['name']}"
    selector = ref.get("selector")
    return "<unset>" if selector is None else _selector_text(selector)


def _selector_text(selector: JsonObject) -> str:
    """Return a label selector as Go prints the struct, which is what kube-apiserver shows in tables."""
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
    """Declare a binding; the fields are those that only one of the two kinds of binding has."""
    spec = (
        Field("policyName", 1, STRING, required=bool(fields), doc="The name of the policy."),
        Field("paramRef", 2, _PARAM_REF, pointer=True, doc="The parameter objects for the policy."),
        Field(
            "matchResources",
            3,
            _MATCH_RESOURCES,
            pointer=True,
            doc="Further limits of the requests that the policy applies to.",
        ),
        *fields,
    )
    return Kind(
        ADMISSIONREGISTRATION_V1,
        name,
        fields=(
            Field(
                "spec",
                2,
                _struct(f"{name}Spec", spec, doc="The policy to enable, and its parameters."),
                required=required,
                doc="The policy to enable, and its parameters.",
            ),
        ),
        doc="Enables a policy for some requests.",
        categories=("api-extensions",),
        columns=(
            Column("PolicyName", "string", "The policy of the binding", value_at("spec", "policyName", default="")),
            Column("ParamRef", "string", "The parameter objects of the binding", _param_ref),
            AGE,
        ),
        known_versions=("v1", "v1beta1", "v1alpha1"),
        stored_version=stored_version,
    )


VALIDATING_ADMISSION_POLICY_BINDING = _binding(
    "ValidatingAdmissionPolicyBinding",
    Field(
        "validationActions",
        4,
        ListOf(String("v1.ValidationAction")),
        list_type="set",
        enum=("Audit", "Deny", "Warn"),
        required=True,
        doc="The consequences of a failed validation.",
    ),
    required=True,
)


def _expression(name: str, doc: str) -> Struct:
    return _struct(name, (Field("expression", 1, STRING, doc=doc),), doc="A CEL expression that returns a patch.")


_MUTATION = _struct(
    "Mutation",
    (
        Field(
            "patchType",
            2,
            String("v1.PatchType"),
            omitempty=False,
            enum=("ApplyConfiguration", "JSONPatch"),
            doc="The field that contains the patch.",
        ),
        Field(
            "applyConfiguration",
            3,
            _expression("ApplyConfiguration", "A CEL expression that returns an Object."),
            pointer=True,
            doc="An object that is merged into the object of the request, as server-side apply does.",
        ),
        Field(
            "jsonPatch",
            4,
            _expression("JSONPatch", "A CEL expression that returns a list of JSONPatch operations."),
            pointer=True,
            doc="A JSON patch of the object of the request.",
        ),
    ),
    doc="A change of the object of a request.",
)

# kube-apiserver stores both mutating kinds at v1beta1, and discovery publishes a hash of that version.
MUTATING_ADMISSION_POLICY = _policy(
    "MutatingAdmissionPolicy",
    "mutatingadmissionpolicies",
    "Expressions that change the objects of requests, where a binding enables them.",
    Column("Mutations", "integer", "The number of mutations", count("spec.mutations")),
    Field(
        "spec",
        2,
        _struct(
            "MutatingAdmissionPolicySpec",
            (
                _PARAM_KIND,
                _MATCH_CONSTRAINTS,
                Field("variables", 3, ListOf(_VARIABLE), doc="Values that several expressions use."),
                Field("mutations", 4, ListOf(_MUTATION), doc="The changes, in the order of their application."),
                _policy_failure(5),
                _MATCH_CONDITIONS,
                Field(
                    "reinvocationPolicy",
                    7,
                    _REINVOCATION_POLICY,
                    enum=("IfNeeded", "Never"),
                    doc="IfNeeded: evaluate the policy again if the object changes later. Never: evaluate it once.",
                ),
            ),
            doc="The desired behaviour of a policy.",
        ),
        doc="The desired behaviour of the policy.",
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
