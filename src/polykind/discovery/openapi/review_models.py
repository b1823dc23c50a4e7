"""Models of the reviews: who is asking, whose a token is, who may do what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from polykind.discovery.openapi.models import Model, flag, many, mapping, record, ref, stored, text
from polykind.discovery.openapi.schemas import META

_AUTHENTICATION: Final = "io.k8s.api.authentication.v1."
_AUTHORIZATION: Final = "io.k8s.api.authorization.v1."
_TEXT: Final = text(default="")
_EXTRA: Final = mapping(many(_TEXT, kind=""), "What else its credentials tell, by name.")


def _access(kind: str, description: str, spec: str) -> Mapping[str, Model]:
    model = stored(
        description,
        "authorization.k8s.io",
        "v1",
        kind,
        "spec",
        spec=ref(f"{_AUTHORIZATION}{spec}", "The question.", default={}),
        status=ref(f"{_AUTHORIZATION}SubjectAccessReviewStatus", "The answer; set by the server.", default={}),
    )
    return {f"{_AUTHORIZATION}{kind}": model}


def _selector(what: str) -> Model:
    return record(
        f"What a request is limited to by {what.lower()}s: the text of a selector, or its terms.",
        rawSelector=text("The selector as a query has it."),
        requirements=many(ref(f"{META}{what}SelectorRequirement", default={}), "The terms, all of which must be met."),
    )


_ATTRIBUTES: Final = {
    "nonResourceAttributes": ref(f"{_AUTHORIZATION}NonResourceAttributes", "A request for something else."),
    "resourceAttributes": ref(f"{_AUTHORIZATION}ResourceAttributes", "A request for a resource."),
}

REVIEW_MODELS: Final[Mapping[str, Model]] = {
    f"{_AUTHENTICATION}SelfSubjectReview": stored(
        "Who is asking, as the server knows it.",
        "authentication.k8s.io",
        "v1",
        "SelfSubjectReview",
        status=ref(f"{_AUTHENTICATION}SelfSubjectReviewStatus", "The answer; set by the server.", default={}),
    ),
    f"{_AUTHENTICATION}SelfSubjectReviewStatus": record(
        "Who is asking.", userInfo=ref(f"{_AUTHENTICATION}UserInfo", "The user who sends this.", default={})
    ),
    f"{_AUTHENTICATION}TokenReview": stored(
        "Whose a token is.",
        "authentication.k8s.io",
        "v1",
        "TokenReview",
        "spec",
        spec=ref(f"{_AUTHENTICATION}TokenReviewSpec", "The token.", default={}),
        status=ref(f"{_AUTHENTICATION}TokenReviewStatus", "The answer; set by the server.", default={}),
    ),
    f"{_AUTHENTICATION}TokenReviewSpec": record(
        "A token to look at.",
        ("token",),
        audiences=many(_TEXT, "For whom it must be; by default for this server."),
        token=text("The token."),
    ),
    f"{_AUTHENTICATION}TokenReviewStatus": record(
        "What a token proves.",
        audiences=many(_TEXT, "Those of the audiences asked for that it is for."),
        authenticated=flag("Whether it is somebody's."),
        error=text("Why it could not be looked at."),
        user=ref(f"{_AUTHENTICATION}UserInfo", "Whose it is.", default={}),
    ),
    f"{_AUTHENTICATION}UserInfo": record(
        "A user.",
        extra=_EXTRA,
        groups=many(_TEXT, "The groups it is in."),
        uid=text("What tells it from another of the same name."),
        username=text("Its name."),
    ),
    **_access("LocalSubjectAccessReview", "Whether a user may do something in a namespace.", "SubjectAccessReviewSpec"),
    **_access("SelfSubjectAccessReview", "Whether who asks may do something.", "SelfSubjectAccessReviewSpec"),
    **_access("SubjectAccessReview", "Whether a user may do something.", "SubjectAccessReviewSpec"),
    f"{_AUTHORIZATION}SelfSubjectAccessReviewSpec": record("What is to be done: one of the two.", **_ATTRIBUTES),
    f"{_AUTHORIZATION}SubjectAccessReviewSpec": record(
        "What is to be done, one of the two, and by whom.",
        **_ATTRIBUTES,
        extra=_EXTRA,
        groups=many(_TEXT, "The groups of the user."),
        uid=text("The uid of the user."),
        user=text("The name of the user."),
    ),
    f"{_AUTHORIZATION}SubjectAccessReviewStatus": record(
        "Whether it may be done.",
        ("allowed",),
        allowed={**flag("Whether it is allowed."), "default": False},
        denied=flag("Whether it is forbidden, and not only allowed by nobody."),
        evaluationError=text("What could not be looked at."),
        reason=text("Why."),
    ),
    f"{_AUTHORIZATION}ResourceAttributes": record(
        "A request for a resource. A star stands for all.",
        fieldSelector=ref(f"{_AUTHORIZATION}FieldSelectorAttributes", "To which fields it is limited."),
        group=text("The group of the resource."),
        labelSelector=ref(f"{_AUTHORIZATION}LabelSelectorAttributes", "To which labels it is limited."),
        name=text("The name of the object; empty for all."),
        namespace=text("The namespace of the object; empty for all, or where there is none."),
        resource=text("The resource."),
        subresource=text("The subresource; empty for none."),
        verb=text("What is to be done: get, list, watch, create, update, patch, delete."),
        version=text("The version of the resource."),
    ),
    f"{_AUTHORIZATION}NonResourceAttributes": record(
        "A request for something that is no resource.", path=text("The path."), verb=text("The method.")
    ),
    f"{_AUTHORIZATION}FieldSelectorAttributes": _selector("Field"),
    f"{_AUTHORIZATION}LabelSelectorAttributes": _selector("Label"),
    f"{META}FieldSelectorRequirement": record(
        "One term of a field selector.",
        ("key", "operator"),
        key=text("The field.", default=""),
        operator=text("In, NotIn, Exists or DoesNotExist.", default=""),
        values=many(_TEXT, "The values of In and NotIn."),
    ),
    f"{_AUTHORIZATION}SelfSubjectRulesReview": stored(
        "What who asks may do in a namespace.",
        "authorization.k8s.io",
        "v1",
        "SelfSubjectRulesReview",
        "spec",
        spec=ref(f"{_AUTHORIZATION}SelfSubjectRulesReviewSpec", "The question.", default={}),
        status=ref(f"{_AUTHORIZATION}SubjectRulesReviewStatus", "The answer; set by the server.", default={}),
    ),
    f"{_AUTHORIZATION}SelfSubjectRulesReviewSpec": record(
        "Where something is to be done.", namespace=text("The namespace; required.")
    ),
    f"{_AUTHORIZATION}SubjectRulesReviewStatus": record(
        "What may be done, in no particular order.",
        ("resourceRules", "nonResourceRules", "incomplete"),
        evaluationError=text("What could not be looked at."),
        incomplete={**flag("Whether there may be more."), "default": False},
        nonResourceRules=many(ref(f"{_AUTHORIZATION}NonResourceRule", default={}), "What may be done with paths."),
        resourceRules=many(ref(f"{_AUTHORIZATION}ResourceRule", default={}), "What may be done with resources."),
    ),
    f"{_AUTHORIZATION}ResourceRule": record(
        "What may be done with resources. A star stands for all.",
        ("verbs",),
        apiGroups=many(_TEXT, "The groups of the resources."),
        resourceNames=many(_TEXT, "The names of the objects; none of them: all."),
        resources=many(_TEXT, "The resources."),
        verbs=many(_TEXT, "What may be done."),
    ),
    f"{_AUTHORIZATION}NonResourceRule": record(
        "What may be done with what is no resource. A star stands for all.",
        ("verbs",),
        nonResourceURLs=many(_TEXT, "The paths."),
        verbs=many(_TEXT, "The methods."),
    ),
}
