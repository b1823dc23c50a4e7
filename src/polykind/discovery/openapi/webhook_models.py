"""Models of the configurations of webhooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from polykind.discovery.openapi.models import Model, integer, listed, many, record, ref, stored, text
from polykind.discovery.openapi.schemas import META

_GROUP: Final = "admissionregistration.k8s.io"
_V1: Final = "io.k8s.api.admissionregistration.v1."
_SELECTOR: Final = f"{META}LabelSelector"


def _by_name(model: str, description: str) -> Model:
    return {
        **many(ref(f"{_V1}{model}"), description, "map", ("name",)),
        "x-kubernetes-patch-merge-key": "name",
        "x-kubernetes-patch-strategy": "merge",
    }


def _configuration(kind: str, description: str) -> Mapping[str, Model]:
    name = f"{kind}WebhookConfiguration"
    webhooks = _by_name(f"{kind}Webhook", "The webhooks, and which writes they are asked about.")
    return {
        f"{_V1}{name}": stored(description, _GROUP, "v1", name, webhooks=webhooks),
        f"{_V1}{name}List": listed(f"{_V1}{name}", _GROUP, "v1", name),
    }


def _webhook(description: str, **more: Model) -> Model:
    return record(
        description,
        ("name", "clientConfig", "sideEffects", "admissionReviewVersions"),
        admissionReviewVersions=many(text(), "The versions of AdmissionReview it understands, the best first."),
        clientConfig=ref(f"{_V1}WebhookClientConfig", "How to call it."),
        failurePolicy=text("What becomes of a write if it cannot be asked: Fail or Ignore. Fail by default."),
        matchConditions=_by_name("MatchCondition", "Conditions that a write must meet before it is asked."),
        matchPolicy=text("Exact: only versions that the rules name. Equivalent, the default: their others as well."),
        name=text("Its name, fully qualified, such as check.example.com."),
        namespaceSelector=ref(_SELECTOR, "The namespaces whose objects it is asked about."),
        objectSelector=ref(_SELECTOR, "The objects it is asked about, by their labels before or after."),
        rules=many(ref(f"{_V1}RuleWithOperations"), "The writes it is asked about."),
        sideEffects=text("What asking does besides: None, or NoneOnDryRun."),
        timeoutSeconds=integer("How long it may take, from 1 to 30 seconds; 10 by default.", 32),
        **more,
    )


WEBHOOK_MODELS: Final[Mapping[str, Model]] = {
    **_configuration("Mutating", "Webhooks that may change what is written before it is."),
    **_configuration("Validating", "Webhooks that may refuse what is written."),
    f"{_V1}MutatingWebhook": _webhook(
        "A webhook that may change what is written.",
        reinvocationPolicy=text("Whether it is asked again if others change the object after it: IfNeeded or Never."),
    ),
    f"{_V1}ValidatingWebhook": _webhook("A webhook that may refuse what is written."),
    f"{_V1}RuleWithOperations": record(
        "Writes: of which resources, by which operations. A star stands for all.",
        apiGroups=many(text(), "The groups of the resources."),
        apiVersions=many(text(), "The versions of the resources."),
        operations=many(text(), "CREATE, UPDATE, DELETE, CONNECT."),
        resources=many(text(), "The resources, such as pods, pods/status, pods/* or */scale."),
        scope=text("Cluster, Namespaced or *, the default."),
    ),
    f"{_V1}WebhookClientConfig": record(
        "How to call a webhook: by url or by service.",
        caBundle=text("The CA certificates that vouch for it, in PEM.", format="byte"),
        service=ref(f"{_V1}ServiceReference", "A service to call."),
        url=text("An https address to call."),
    ),
    f"{_V1}ServiceReference": record(
        "A service.",
        ("namespace", "name"),
        name=text("Its name."),
        namespace=text("Its namespace."),
        path=text("The path to call."),
        port=integer("The port to call, 443 by default.", 32),
    ),
}
