"""Reviews as resources: they can be created, are answered, and are not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from polykind import errors
from polykind.apis.authentication import types as authentication
from polykind.apis.authorization import types as authorization
from polykind.apis.machinery.fields import Bool, ListOf, MapOf, Struct, Wrapped
from polykind.apis.machinery.fields import Kind as Type
from polykind.apis.meta.types import OBJECT_META
from polykind.apply.typemodel import TypeModel
from polykind.auth import access_review, identity_review
from polykind.auth.authorizer import Access, Authorizer, Rules
from polykind.auth.tokens import Tokens
from polykind.auth.user import User
from polykind.cache.resource_cache import ResourceCache
from polykind.codec.table import DEFAULT
from polykind.contract import JsonObject
from polykind.resources.builtin import BuiltinStrategy, BuiltinType, builtin_version
from polykind.resources.resource import Resource, ServedVersion

Check = Callable[[JsonObject], None]
"""Refuses a review that is no good question. Raises APIError."""
Answer = Callable[[JsonObject, User, str], JsonObject]
"""What is said to a review, who sends it and when; of it only what is not repeated."""

_VERSIONS = {
    "SelfSubjectReview": (identity_review.GROUP, ("v1", "v1beta1", "v1alpha1")),
    "TokenReview": (identity_review.GROUP, ("v1", "v1beta1")),
    "LocalSubjectAccessReview": (access_review.GROUP, ("v1", "v1beta1")),
    "SelfSubjectAccessReview": (access_review.GROUP, ("v1", "v1beta1")),
    "SelfSubjectRulesReview": (access_review.GROUP, ("v1", "v1beta1")),
    "SubjectAccessReview": (access_review.GROUP, ("v1", "v1beta1")),
}
"""The kinds of both groups, and the versions that the reference knows them at."""
_ORDER = tuple(field.name for field in OBJECT_META.fields)


def reviews(tokens: Tokens, authorizer: Authorizer) -> Iterator[ServedVersion]:
    """All of them, at the version that they are served at."""

    def owner(token: str) -> JsonObject | None:
        user = tokens.find(token.encode("utf-8", "replace"))
        return user.info() if user is not None else None

    yield _review(
        authentication.SELF_SUBJECT_REVIEW,
        identity_review.GROUP,
        lambda review: None,
        lambda review, user, now: identity_review.self_subject(user.info(), now),
    )
    yield _review(
        authentication.TOKEN_REVIEW,
        identity_review.GROUP,
        identity_review.check_token,
        lambda review, user, now: {**review, "status": identity_review.token_status(review["spec"], owner)},
    )
    yield _access(authorization.SUBJECT_ACCESS_REVIEW, authorizer, subject=True)
    yield _access(authorization.LOCAL_SUBJECT_ACCESS_REVIEW, authorizer, subject=True, local=True)
    yield _access(authorization.SELF_SUBJECT_ACCESS_REVIEW, authorizer)
    yield _review(
        authorization.SELF_SUBJECT_RULES_REVIEW,
        access_review.GROUP,
        access_review.check_rules_review,
        lambda review, user, now: _rules(authorizer.rules(user, review["spec"]["namespace"])),
    )


def _access(struct: Struct, authorizer: Authorizer, *, subject: bool = False, local: bool = False) -> ServedVersion:
    def check(review: JsonObject) -> None:
        if found := access_review.validate(review, _ORDER, subject=subject, local=local):
            raise errors.InvalidError("", access_review.GROUP, "", found)

    def answer(review: JsonObject, user: User, now: str) -> JsonObject:
        spec = review["spec"]
        allowed, reason, denied, error = authorizer.decide(_asked(spec, _subject(spec) if subject else user))
        status = access_review.status(spec, allowed=allowed, denied=denied, reason=reason, error=error)
        return {**review, "status": status}

    return _review(struct, access_review.GROUP, check, answer, namespaced=local)


def _subject(spec: JsonObject) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _asked(spec: JsonObject, user: User) -> Access:
    """What a review asks about; without a version about all of them."""
    given = spec.get("resourceAttributes")
    if given is None:
        other = spec["nonResourceAttributes"]
        return Access(user, other.get("verb", ""), path=other.get("path", ""))
    texts = {key: given.get(key, "") for key in ("verb", "group", "resource", "subresource", "namespace", "name")}
    return Access(user, version=given.get("version") or "*", **texts)


def _rules(found: Rules) -> JsonObject:
    return access_review.rules_review(found.resources, found.paths, incomplete=found.incomplete, error=found.error)


def _review(struct: Struct, group: str, check: Check, answer: Answer, *, namespaced: bool = False) -> ServedVersion:
    """Build the served version of a review. Nothing is stored, so its cache stays empty."""
    name = struct.kind
    resource = Resource(
        ResourceCache(""),
        group=group,
        plural=f"{name.lower()}s",
        singular=name.lower(),
        kind=name,
        list_kind=f"{name}List",
        namespaced=namespaced,
    )
    # The model adds by itself the fields that every object has, such as the metadata.
    own = Struct(struct.go, [field for field in struct.fields if field.name in ("spec", "status")])
    model = TypeModel(_schema(own), zero=struct.zero(), ordered=True)
    builtin = BuiltinType(struct, model, DEFAULT, group.partition(".")[0], _VERSIONS[name][1])
    api_version = resource.api_version(struct.version)
    version = builtin_version(resource, builtin, ReviewStrategy(api_version, name, check, answer))
    resource.versions[struct.version] = version
    return version


class ReviewStrategy(BuiltinStrategy):
    """Checks and answers reviews, which are never stored."""

    def __init__(self, api_version: str, kind: str, check: Check, answer: Answer) -> None:
        super().__init__()
        self._type_meta = {"apiVersion": api_version, "kind": kind}
        self.check = check
        self._answer = answer

    def answer(self, review: JsonObject, user: User, now: str) -> JsonObject:
        """Return the review with its status, for the user who sent it."""
        return {**self._type_meta, **self._answer(review, user, now)}


def _schema(kind: Type) -> JsonObject:
    """The schema of a type that has nothing but structs, maps, lists, texts and flags: lists are owned as a whole."""
    if isinstance(kind, Struct):
        return {"type": "object", "properties": {field.name: _schema(field.kind) for field in kind.fields}}
    if isinstance(kind, MapOf):
        return {"type": "object", "additionalProperties": _schema(kind.item)}
    if isinstance(kind, ListOf):
        return {"type": "array", "items": _schema(kind.item)}
    if isinstance(kind, Wrapped):
        return {"type": "array", "items": {"type": "string"}}
    return {"type": "boolean" if isinstance(kind, Bool) else "string"}
