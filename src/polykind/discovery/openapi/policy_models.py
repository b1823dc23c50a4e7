"""Models of admission policies and their bindings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from polykind.discovery.openapi.models import Model, integer, listed, many, mapping, record, ref, stored, text
from polykind.discovery.openapi.schemas import META

_GROUP: Final = "admissionregistration.k8s.io"
_V1: Final = "io.k8s.api.admissionregistration.v1."
_SELECTOR: Final = f"{META}LabelSelector"
_ATOMIC: Final = {"x-kubernetes-map-type": "atomic"}


def _by_name(model: str, description: str) -> Model:
    return {
        **many(ref(f"{_V1}{model}"), description, "map", ("name",)),
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
    }


SHARED_MODELS: Final[Mapping[str, Model]] = {
    f"{_V1}MatchCondition": record(
        "A condition that a write must meet before anybody is asked about it.",
        ("name", "expression"),
        expression=text("A CEL expression that gives a bool."),
        name=text("What it is called."),
    ),
    _SELECTOR: {
        **record(
            "Selects objects by their labels.",
            matchExpressions=many(ref(f"{META}LabelSelectorRequirement"), "What their labels must meet."),
            matchLabels=mapping(text(), "Labels that they must have."),
        ),
        **_ATOMIC,
    },
    f"{META}LabelSelectorRequirement": record(
        "What one label must meet.",
        ("key", "operator"),
        key=text("The label."),
        operator=text("In, NotIn, Exists or DoesNotExist."),
        values=many(text(), "The values it is about."),
    ),
    f"{META}Condition": record(
        "One thing known about an object.",
        ("type", "status", "lastTransitionTime", "reason", "message"),
        lastTransitionTime=ref(f"{META}Time", "When that last changed."),
        message=text("What it means, for people."),
        observedGeneration=integer("The generation that it is about."),
        reason=text("Why, in one word."),
        status=text("True, False or Unknown."),
        type=text("What it is about."),
    ),
}
"""What configurations of webhooks need as well, and any kind with conditions."""

_MUTATING_MODELS: Final[Mapping[str, Model]] = {
    f"{_V1}MutatingAdmissionPolicy": stored(
        "A policy changes what is written, where a binding says so.",
        _GROUP,
        "v1",
        "MutatingAdmissionPolicy",
        spec=ref(f"{_V1}MutatingAdmissionPolicySpec", "What it makes of a write."),
    ),
    f"{_V1}MutatingAdmissionPolicyList": listed(
        f"{_V1}MutatingAdmissionPolicy", _GROUP, "v1", "MutatingAdmissionPolicy"
    ),
    f"{_V1}MutatingAdmissionPolicySpec": record(
        "What a policy makes of a write.",
        failurePolicy=text("What becomes of a write when an expression fails.", enum=["Fail", "Ignore"]),
        matchConditions=_by_name("MatchCondition", "What a write must meet for the policy to be asked."),
        matchConstraints=ref(f"{_V1}MatchResources", "Which writes it is about."),
        mutations=many(ref(f"{_V1}Mutation"), "What is changed, one after the other."),
        paramKind=ref(f"{_V1}ParamKind", "The kind of the params that bindings hand to it."),
        reinvocationPolicy=text(
            "Whether it is asked once more when others have changed the object.", enum=["IfNeeded", "Never"]
        ),
        variables=many(ref(f"{_V1}Variable"), "What expressions share."),
    ),
    f"{_V1}Mutation": record(
        "How an object is changed.",
        ("patchType",),
        applyConfiguration=ref(f"{_V1}ApplyConfiguration", "What is laid over it."),
        jsonPatch=ref(f"{_V1}JSONPatch", "What is done to it."),
        patchType=text("Which of the two it is.", enum=["ApplyConfiguration", "JSONPatch"]),
    ),
    f"{_V1}ApplyConfiguration": record(
        "What is laid over an object.", expression=text("A CEL expression that makes an Object.")
    ),
    f"{_V1}JSONPatch": record(
        "What is done to an object.", expression=text("A CEL expression that makes a list of JSONPatch.")
    ),
    f"{_V1}MutatingAdmissionPolicyBinding": stored(
        "A binding puts a policy to work.",
        _GROUP,
        "v1",
        "MutatingAdmissionPolicyBinding",
        spec=ref(f"{_V1}MutatingAdmissionPolicyBindingSpec", "How the policy is put to work."),
    ),
    f"{_V1}MutatingAdmissionPolicyBindingList": listed(
        f"{_V1}MutatingAdmissionPolicyBinding", _GROUP, "v1", "MutatingAdmissionPolicyBinding"
    ),
    f"{_V1}MutatingAdmissionPolicyBindingSpec": record(
        "How a policy is put to work.",
        matchResources=ref(f"{_V1}MatchResources", "Of the writes that the policy is about, which."),
        paramRef=ref(f"{_V1}ParamRef", "What is handed to it."),
        policyName=text("The policy."),
    ),
}

POLICY_MODELS: Final[Mapping[str, Model]] = {
    **SHARED_MODELS,
    **_MUTATING_MODELS,
    f"{_V1}ValidatingAdmissionPolicy": stored(
        "A policy refuses writes that its expressions do not allow, where a binding says so.",
        _GROUP,
        "v1",
        "ValidatingAdmissionPolicy",
        spec=ref(f"{_V1}ValidatingAdmissionPolicySpec", "What it asks of a write."),
        status=ref(f"{_V1}ValidatingAdmissionPolicyStatus", "What is known about it."),
    ),
    f"{_V1}ValidatingAdmissionPolicyList": listed(
        f"{_V1}ValidatingAdmissionPolicy", _GROUP, "v1", "ValidatingAdmissionPolicy"
    ),
    f"{_V1}ValidatingAdmissionPolicySpec": record(
        "What a policy asks of a write.",
        auditAnnotations=many(ref(f"{_V1}AuditAnnotation"), "What it tells the audit of each write."),
        failurePolicy=text("What becomes of a write when an expression fails.", enum=["Fail", "Ignore"]),
        matchConditions=_by_name("MatchCondition", "What a write must meet for the policy to be asked."),
        matchConstraints=ref(f"{_V1}MatchResources", "Which writes it is about."),
        paramKind=ref(f"{_V1}ParamKind", "The kind of the params that bindings hand to it."),
        validations=many(ref(f"{_V1}Validation"), "What must hold."),
        variables=_by_name("Variable", "What expressions share."),
    ),
    f"{_V1}ValidatingAdmissionPolicyStatus": record(
        "What is known about a policy.",
        conditions=many(ref(f"{META}Condition"), "How it fares.", "map", ("type",)),
        observedGeneration=integer("The generation that was looked at."),
        typeChecking=ref(f"{_V1}TypeChecking", "What the types of its expressions gave rise to."),
    ),
    f"{_V1}TypeChecking": record(
        "What the types of expressions gave rise to.",
        expressionWarnings=many(ref(f"{_V1}ExpressionWarning"), "What looks wrong."),
    ),
    f"{_V1}ExpressionWarning": record(
        "What looks wrong in one expression.",
        ("fieldRef", "warning"),
        fieldRef=text("Where it is."),
        warning=text("What looks wrong."),
    ),
    f"{_V1}MatchResources": {
        **record(
            "Which writes are meant.",
            excludeResourceRules=many(ref(f"{_V1}NamedRuleWithOperations"), "Which are not."),
            matchPolicy=text("Whether other versions of a resource are meant too.", enum=["Equivalent", "Exact"]),
            namespaceSelector=ref(_SELECTOR, "In which namespaces."),
            objectSelector=ref(_SELECTOR, "Of which objects."),
            resourceRules=many(ref(f"{_V1}NamedRuleWithOperations"), "Of which resources."),
        ),
        **_ATOMIC,
    },
    f"{_V1}NamedRuleWithOperations": {
        **record(
            "Operations on resources.",
            **dict.fromkeys(("apiGroups", "apiVersions", "resources", "resourceNames"), many(text())),
            operations=many(text("", enum=["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]), "What is done."),
            scope=text("Where.", enum=["*", "Cluster", "Namespaced"]),
        ),
        **_ATOMIC,
    },
    f"{_V1}ParamKind": {
        **record("A kind of params.", apiVersion=text("Its group and version."), kind=text("Its name.")),
        **_ATOMIC,
    },
    f"{_V1}Validation": record(
        "What must hold.",
        ("expression",),
        expression=text("A CEL expression that gives a bool."),
        message=text("What a refusal says."),
        messageExpression=text("A CEL expression for what a refusal says."),
        reason=text("The reason of a refusal."),
    ),
    f"{_V1}AuditAnnotation": record(
        "What an audit is told.",
        ("key", "valueExpression"),
        key=text("Under which key."),
        valueExpression=text("A CEL expression that gives a string, or null."),
    ),
    f"{_V1}Variable": {
        **record(
            "What expressions share.",
            ("name", "expression"),
            expression=text("A CEL expression, evaluated when it is first needed."),
            name=text("Expressions call it variables.<name>."),
        ),
        **_ATOMIC,
    },
    f"{_V1}ValidatingAdmissionPolicyBinding": stored(
        "A binding puts a policy to work.",
        _GROUP,
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "spec",
        spec=ref(f"{_V1}ValidatingAdmissionPolicyBindingSpec", "How the policy is put to work."),
    ),
    f"{_V1}ValidatingAdmissionPolicyBindingList": listed(
        f"{_V1}ValidatingAdmissionPolicyBinding", _GROUP, "v1", "ValidatingAdmissionPolicyBinding"
    ),
    f"{_V1}ValidatingAdmissionPolicyBindingSpec": record(
        "How a policy is put to work.",
        ("policyName", "validationActions"),
        matchResources=ref(f"{_V1}MatchResources", "Of the writes that the policy is about, which."),
        paramRef=ref(f"{_V1}ParamRef", "What is handed to it."),
        policyName=text("The policy."),
        validationActions=many(text("", enum=["Audit", "Deny", "Warn"]), "What a failure leads to.", "set"),
    ),
    f"{_V1}ParamRef": {
        **record(
            "Which params are handed to a policy.",
            name=text("The one of this name."),
            namespace=text("Where; in the namespace of the write if it is not given."),
            parameterNotFoundAction=text("Allow or Deny what is written while there are none."),
            selector=ref(_SELECTOR, "All with such labels."),
        ),
        **_ATOMIC,
    },
}
