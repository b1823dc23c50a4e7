"""Kinds of authorization: requests for a decision or for the rules that apply to a user."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

AUTHORIZATION_V1 = GroupVersion(
    "authorization.k8s.io", "v1", type_table("authorization", "v1"), group_priority=17600, version_priority=15
)


def _review(name: str, *, namespaced: bool = False) -> Kind:
    return Kind(AUTHORIZATION_V1, name, namespaced=namespaced, verbs=("create",), known_versions=("v1", "v1beta1"))


SUBJECT_ACCESS_REVIEW = _review("SubjectAccessReview")
LOCAL_SUBJECT_ACCESS_REVIEW = _review("LocalSubjectAccessReview", namespaced=True)
SELF_SUBJECT_ACCESS_REVIEW = _review("SelfSubjectAccessReview")
SELF_SUBJECT_RULES_REVIEW = _review("SelfSubjectRulesReview")

KINDS = (LOCAL_SUBJECT_ACCESS_REVIEW, SELF_SUBJECT_ACCESS_REVIEW, SELF_SUBJECT_RULES_REVIEW, SUBJECT_ACCESS_REVIEW)
