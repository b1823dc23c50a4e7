"""Who is asked before a write: configurations of webhooks, and policies with their bindings."""

from __future__ import annotations

from polykind.apis.machinery.fields import BYTES, INT32, INT64, STRING, STRINGS, Field, ListOf, String, Struct
from polykind.apis.meta.types import CONDITION, LABEL_SELECTOR, OBJECT_META, TYPE_META

_FAILURE_POLICY = String("v1.FailurePolicyType")
_MATCH_POLICY = String("v1.MatchPolicyType")

RULE_WITH_OPERATIONS = Struct(
    "v1.RuleWithOperations",
    (
        Field("operations", ListOf(String("v1.OperationType")), 1),
        Field(
            "",
            Struct(
                "v1.Rule",
                (
                    Field("apiGroups", STRINGS, 1),
                    Field("apiVersions", STRINGS, 2),
                    Field("resources", STRINGS, 3),
                    Field("scope", String("v1.ScopeType"), 4, pointer=True),
                ),
            ),
            2,
        ),
    ),
)

_NAMED_RULE = Struct(
    "v1.NamedRuleWithOperations",
    (Field("resourceNames", STRINGS, 1, seen=True), Field("", RULE_WITH_OPERATIONS, 2)),
)

_CLIENT_CONFIG = Struct(
    "v1.WebhookClientConfig",
    (
        Field("url", STRING, 3, pointer=True),
        Field(
            "service",
            Struct(
                "v1.ServiceReference",
                (
                    Field("namespace", STRING, 1, omitempty=False),
                    Field("name", STRING, 2, omitempty=False),
                    Field("path", STRING, 3, pointer=True),
                    Field("port", INT32, 4, pointer=True),
                ),
            ),
            1,
            pointer=True,
        ),
        Field("caBundle", BYTES, 2),
    ),
)

_MATCH_CONDITIONS = ListOf(
    Struct(
        "v1.MatchCondition",
        (Field("name", STRING, 1, omitempty=False), Field("expression", STRING, 2, omitempty=False)),
    )
)


def _webhook(name: str, object_selector: int, match_conditions: int, *more: Field) -> Struct:
    """A webhook; the two kinds differ in the numbers of what came later."""
    return Struct(
        f"v1.{name}",
        (
            Field("name", STRING, 1, omitempty=False),
            Field("clientConfig", _CLIENT_CONFIG, 2, omitempty=False),
            Field("rules", ListOf(RULE_WITH_OPERATIONS), 3),
            Field("failurePolicy", _FAILURE_POLICY, 4, pointer=True),
            Field("matchPolicy", _MATCH_POLICY, 9, pointer=True),
            Field("namespaceSelector", LABEL_SELECTOR, 5, pointer=True),
            Field("objectSelector", LABEL_SELECTOR, object_selector, pointer=True),
            Field("sideEffects", String("v1.SideEffectClass"), 6, pointer=True),
            Field("timeoutSeconds", INT32, 7, pointer=True),
            Field("admissionReviewVersions", STRINGS, 8, omitempty=False),
            *more,
            Field("matchConditions", _MATCH_CONDITIONS, match_conditions),
        ),
    )


def _configuration(kind: str, webhook: Struct) -> Struct:
    return Struct(
        f"v1.{kind}",
        (*TYPE_META, Field("metadata", OBJECT_META, 1), Field("webhooks", ListOf(webhook), 2)),
        kind=kind,
        version="v1",
    )


VALIDATING_WEBHOOK_CONFIGURATION = _configuration(
    "ValidatingWebhookConfiguration", _webhook("ValidatingWebhook", 10, 11)
)
MUTATING_WEBHOOK_CONFIGURATION = _configuration(
    "MutatingWebhookConfiguration",
    _webhook(
        "MutatingWebhook",
        11,
        12,
        Field("reinvocationPolicy", String("v1.ReinvocationPolicyType"), 10, pointer=True),
    ),
)

_MATCH_RESOURCES = Struct(
    "v1.MatchResources",
    (
        Field("namespaceSelector", LABEL_SELECTOR, 1, pointer=True),
        Field("objectSelector", LABEL_SELECTOR, 2, pointer=True),
        Field("resourceRules", ListOf(_NAMED_RULE), 3),
        Field("excludeResourceRules", ListOf(_NAMED_RULE), 4),
        Field("matchPolicy", _MATCH_POLICY, 7, pointer=True),
    ),
)

_VALIDATION = Struct(
    "v1.Validation",
    (
        Field("expression", STRING, 1, omitempty=False),
        Field("message", STRING, 2),
        Field("reason", String("v1.StatusReason"), 3, pointer=True),
        Field("messageExpression", STRING, 4),
    ),
)

_AUDIT_ANNOTATION = Struct(
    "v1.AuditAnnotation",
    (Field("key", STRING, 1, omitempty=False), Field("valueExpression", STRING, 2, omitempty=False)),
)

_VARIABLE = Struct(
    "v1.Variable", (Field("name", STRING, 1, omitempty=False), Field("expression", STRING, 2, omitempty=False))
)

_PARAM_KIND = Struct("v1.ParamKind", (Field("apiVersion", STRING, 1), Field("kind", STRING, 2)))

_POLICY_SPEC = Struct(
    "v1.ValidatingAdmissionPolicySpec",
    (
        Field("paramKind", _PARAM_KIND, 1, pointer=True),
        Field("matchConstraints", _MATCH_RESOURCES, 2, pointer=True),
        Field("validations", ListOf(_VALIDATION), 3),
        Field("failurePolicy", _FAILURE_POLICY, 4, pointer=True),
        Field("auditAnnotations", ListOf(_AUDIT_ANNOTATION), 5),
        Field("matchConditions", _MATCH_CONDITIONS, 6),
        Field("variables", ListOf(_VARIABLE), 7),
    ),
)

_EXPRESSION_WARNING = Struct(
    "v1.ExpressionWarning",
    (Field("fieldRef", STRING, 2, omitempty=False), Field("warning", STRING, 3, omitempty=False)),
)

_POLICY_STATUS = Struct(
    "v1.ValidatingAdmissionPolicyStatus",
    (
        Field("observedGeneration", INT64, 1),
        Field(
            "typeChecking",
            Struct("v1.TypeChecking", (Field("expressionWarnings", ListOf(_EXPRESSION_WARNING), 1),)),
            2,
            pointer=True,
        ),
        Field("conditions", ListOf(CONDITION), 3),
    ),
)

VALIDATING_ADMISSION_POLICY = Struct(
    "v1.ValidatingAdmissionPolicy",
    (
        *TYPE_META,
        Field("metadata", OBJECT_META, 1),
        Field("spec", _POLICY_SPEC, 2),
        Field("status", _POLICY_STATUS, 3),
    ),
    kind="ValidatingAdmissionPolicy",
    version="v1",
)

_PARAM_REF = Struct(
    "v1.ParamRef",
    (
        Field("name", STRING, 1),
        Field("namespace", STRING, 2),
        Field("selector", LABEL_SELECTOR, 3, pointer=True),
        Field("parameterNotFoundAction", String("v1.ParameterNotFoundActionType"), 4, pointer=True),
    ),
)

_BINDING_SPEC = Struct(
    "v1.ValidatingAdmissionPolicyBindingSpec",
    (
        Field("policyName", STRING, 1),
        Field("paramRef", _PARAM_REF, 2, pointer=True),
        Field("matchResources", _MATCH_RESOURCES, 3, pointer=True),
        Field("validationActions", ListOf(String("v1.ValidationAction")), 4),
    ),
)

VALIDATING_ADMISSION_POLICY_BINDING = Struct(
    "v1.ValidatingAdmissionPolicyBinding",
    (*TYPE_META, Field("metadata", OBJECT_META, 1), Field("spec", _BINDING_SPEC, 2)),
    kind="ValidatingAdmissionPolicyBinding",
    version="v1",
)

_MUTATION = Struct(
    "v1.Mutation",
    (
        Field("patchType", String("v1.PatchType"), 2, omitempty=False),
        Field(
            "applyConfiguration", Struct("v1.ApplyConfiguration", (Field("expression", STRING, 1),)), 3, pointer=True
        ),
        Field("jsonPatch", Struct("v1.JSONPatch", (Field("expression", STRING, 1),)), 4, pointer=True),
    ),
)

_MUTATING_POLICY_SPEC = Struct(
    "v1.MutatingAdmissionPolicySpec",
    (
        Field("paramKind", _PARAM_KIND, 1, pointer=True),
        Field("matchConstraints", _MATCH_RESOURCES, 2, pointer=True),
        Field("variables", ListOf(_VARIABLE), 3),
        Field("mutations", ListOf(_MUTATION), 4),
        Field("failurePolicy", _FAILURE_POLICY, 5, pointer=True),
        Field("matchConditions", _MATCH_CONDITIONS, 6),
        Field("reinvocationPolicy", String("v1.ReinvocationPolicyType"), 7),
    ),
)

MUTATING_ADMISSION_POLICY = Struct(
    "v1.MutatingAdmissionPolicy",
    (*TYPE_META, Field("metadata", OBJECT_META, 1), Field("spec", _MUTATING_POLICY_SPEC, 2)),
    kind="MutatingAdmissionPolicy",
    version="v1",
)

_MUTATING_BINDING_SPEC = Struct(
    "v1.MutatingAdmissionPolicyBindingSpec",
    (
        Field("policyName", STRING, 1),
        Field("paramRef", _PARAM_REF, 2, pointer=True),
        Field("matchResources", _MATCH_RESOURCES, 3, pointer=True),
    ),
)

MUTATING_ADMISSION_POLICY_BINDING = Struct(
    "v1.MutatingAdmissionPolicyBinding",
    (*TYPE_META, Field("metadata", OBJECT_META, 1), Field("spec", _MUTATING_BINDING_SPEC, 2)),
    kind="MutatingAdmissionPolicyBinding",
    version="v1",
)
