"""Resources such as tokenreviews and subjectaccessreviews: the response to a create has the result.

Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import ClassVar

from polykind import errors
from polykind.apis.authentication import types as authentication
from polykind.apis.authorization import types as authorization
from polykind.apis.machinery.kinds import Kind
from polykind.apis.meta.types import OBJECT_META
from polykind.auth import access_review, identity_review
from polykind.auth.authorizer import Access, Authorizer
from polykind.auth.user import User
from polykind.contract import JsonObject
from polykind.loop_calls import on_loop
from polykind.resources.builtin import BuiltinResource, BuiltinStrategy
from polykind.resources.resource import ServedVersion

Check = Callable[[JsonObject], None]
"""A function that raises APIError if the argument, a review object, is invalid."""
Answer = Callable[[JsonObject, User, str], JsonObject | Awaitable[JsonObject]]
"""A function that returns a review object with its result. The arguments: the object, the requesting user, the time."""

_METADATA_FIELDS = tuple(field.name for field in OBJECT_META.fields)


def reviews(find_user: identity_review.FindUser, authorizer: Authorizer) -> Iterator[ServedVersion]:
    """Return the served versions of all review kinds, such as SubjectAccessReview."""

    async def answer_token_review(review: JsonObject, user: User, now: str) -> JsonObject:
        return {**review, "status": await on_loop(identity_review.token_status(review, find_user))}

    async def answer_rules_review(review: JsonObject, user: User, now: str) -> JsonObject:
        return await on_loop(_user_rules(authorizer, user, review["spec"]["namespace"]))

    yield _review(
        authentication.SELF_SUBJECT_REVIEW,
        lambda review: None,
        lambda review, user, now: identity_review.self_subject(user.info(), now),
    )
    yield _review(
        authentication.TOKEN_REVIEW,
        identity_review.check_token,
        answer_token_review,
    )
    yield _access(authorization.SUBJECT_ACCESS_REVIEW, authorizer, subject=True)
    yield _access(authorization.LOCAL_SUBJECT_ACCESS_REVIEW, authorizer, subject=True, local=True)
    yield _access(authorization.SELF_SUBJECT_ACCESS_REVIEW, authorizer)
    yield _review(
        authorization.SELF_SUBJECT_RULES_REVIEW,
        access_review.check_rules_review,
        answer_rules_review,
    )


def _access(kind: Kind, authorizer: Authorizer, *, subject: bool = False, local: bool = False) -> ServedVersion:
    def check(review: JsonObject) -> None:
        if field_errors := access_review.validate(review, _METADATA_FIELDS, subject=subject, local=local):
            raise errors.InvalidError("", access_review.GROUP, "", field_errors)

    async def answer(review: JsonObject, user: User, now: str) -> JsonObject:
        spec = review["spec"]
        access = _access_of(spec, _subject(spec) if subject else user)
        allowed, reason, denied, error = await on_loop(authorizer.decide(access))
        status = access_review.status(spec, allowed=allowed, denied=denied, reason=reason, error=error)
        return {**review, "status": status}

    return _review(kind, check, answer)


def _subject(spec: JsonObject) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _access_of(spec: JsonObject, user: User) -> Access:
    """Return the access that a SubjectAccessReview asks about. A review without a version asks about all versions."""
    attributes = spec.get("resourceAttributes")
    if attributes is None:
        other = spec["nonResourceAttributes"]
        return Access(user, other.get("verb", ""), path=other.get("path", ""))
    texts = {key: attributes.get(key, "") for key in ("verb", "group", "resource", "subresource", "namespace", "name")}
    return Access(user, version=attributes.get("version") or "*", **texts)


async def _user_rules(authorizer: Authorizer, user: User, namespace: str) -> JsonObject:
    rules = authorizer.rules(user, namespace)
    return access_review.rules_review(rules.resources, rules.paths, incomplete=rules.incomplete, error=rules.error)


def _review(kind: Kind, check: Check, answer: Answer) -> ServedVersion:
    """Return the served version of a review kind, whose objects are never stored."""
    resource = BuiltinResource(None, kind)
    return resource.serve(kind, ReviewStrategy(kind, check, answer))


class ReviewStrategy(BuiltinStrategy):
    """Validates reviews, such as TokenReviews and SubjectAccessReviews, and computes their results."""

    reset_fields: ClassVar = {}

    def __init__(self, kind: Kind, check: Check, answer: Answer) -> None:
        super().__init__(kind)
        self._type_meta = {"apiVersion": kind.group_version.api_version, "kind": kind.kind}
        self.check = check
        self._answer = answer

    async def answer(self, review: JsonObject, user: User, now: str) -> JsonObject:
        """Return the review with its status. `user` is the user that sent the review."""
        answered = self._answer(review, user, now)
        return {**self._type_meta, **(answered if isinstance(answered, dict) else await answered)}
