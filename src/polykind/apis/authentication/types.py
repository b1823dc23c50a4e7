"""Kinds of authentication: SelfSubjectReview, TokenReview, and TokenRequest, the kind of serviceaccounts/token."""

from __future__ import annotations

from polykind.apis.machinery.kinds import Kind
from polykind.apis.machinery.structs import GroupVersion
from polykind.apis.machinery.type_tables import type_table

AUTHENTICATION_V1 = GroupVersion(
    "authentication.k8s.io", "v1", type_table("authentication", "v1"), group_priority=17700, version_priority=15
)

SELF_SUBJECT_REVIEW = Kind(
    AUTHENTICATION_V1, "SelfSubjectReview", verbs=("create",), known_versions=("v1", "v1beta1", "v1alpha1")
)
TOKEN_REVIEW = Kind(AUTHENTICATION_V1, "TokenReview", verbs=("create",), known_versions=("v1", "v1beta1"))
TOKEN_REQUEST = Kind(AUTHENTICATION_V1, "TokenRequest", verbs=(), namespaced=True)

KINDS = (SELF_SUBJECT_REVIEW, TOKEN_REVIEW)
