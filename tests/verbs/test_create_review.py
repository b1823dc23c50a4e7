"""Reviews, which are answered and not stored."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.apis.authentication.types import TOKEN_REVIEW
from polykind.apis.authorization.types import SUBJECT_ACCESS_REVIEW
from polykind.apis.machinery.protobuf_envelope import decode_envelope, encode_object
from polykind.apis.machinery.protobuf_reader import decode_message
from polykind.auth.service_account_tokens import DEFAULT_ISSUER as AUDIENCE
from polykind.contract import JsonObject
from tests.admission.hooks import CONFIGURATIONS, AdmissionHook, add, configuration, patching, refuse
from tests.support.live import Live, live

AUTHENTICATION = "/apis/authentication.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
WHO, TOKENS = f"{AUTHENTICATION}/selfsubjectreviews", f"{AUTHENTICATION}/tokenreviews"
ACCESS, OWN = f"{AUTHORIZATION}/subjectaccessreviews", f"{AUTHORIZATION}/selfsubjectaccessreviews"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ADMIN = {"username": "admin", "uid": "admin", "groups": ["system:masters", "system:authenticated"]}


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('anns,ann,1,"makers,menders"\n')
    async with live(tmp_path, token_auth_file=tokens) as running:
        yield running


async def test_self_subject_review_returns_the_user(running: Live) -> None:
    assert (await running.ask("POST", WHO, {}))["status"] == {"userInfo": ADMIN}
    running.client.token = "anns"
    groups = ["makers", "menders", "system:authenticated"]
    assert (await running.ask("POST", WHO, {}))["status"] == {
        "userInfo": {"username": "ann", "uid": "1", "groups": groups}
    }


async def test_token_review_checks_the_server_tokens(running: Live) -> None:
    known = await running.ask("POST", TOKENS, {"spec": {"token": "anns"}})
    assert known["status"]["user"]["username"] == "ann"
    assert (known["status"]["authenticated"], known["status"]["audiences"]) == (True, [AUDIENCE])
    own = await running.ask("POST", TOKENS, {"spec": {"token": running.server.token}})
    assert own["status"]["user"] == ADMIN
    unknown = await running.ask("POST", TOKENS, {"spec": {"token": "bobs"}})
    assert unknown["status"] == {"user": {}, "error": "invalid bearer token"}


async def test_review_in_protobuf(running: Live) -> None:
    running.client.accept = PROTOBUF
    subject = {"user": "ann", "groups": ["system:masters"], "extra": {"a": ["b", "c"]}}
    spec: JsonObject = {**subject, "resourceAttributes": {"verb": "get"}}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    sent = encode_object(review, SUBJECT_ACCESS_REVIEW)
    reply = await running.client.call("POST", ACCESS, sent, PROTOBUF)
    api_version, kind, message = decode_envelope(reply.body)
    result = decode_message(message, SUBJECT_ACCESS_REVIEW)
    assert (reply.status, api_version, kind) == (201, "authorization.k8s.io/v1", "SubjectAccessReview")
    assert result["spec"]["extra"] == {"a": ["b", "c"]}
    assert result["status"]["allowed"] is True


async def test_invalid_review_is_rejected(running: Live) -> None:
    rejected = await running.ask("POST", OWN, {"metadata": {"name": "a"}, "spec": {}}, expect=422)
    assert rejected["details"]["group"] == "authorization.k8s.io"
    assert [cause["field"] for cause in rejected["details"]["causes"]] == ["spec.resourceAttributes", "metadata"]
    strict = await running.ask("POST", f"{OWN}?fieldValidation=Strict", {"spek": 1}, expect=400)
    assert strict["message"].endswith('strict decoding error: unknown field "spek"')


async def test_review_is_not_stored_and_cannot_be_read(running: Live) -> None:
    await running.ask("POST", TOKENS, {"metadata": {"name": "a"}, "spec": {"token": "x"}})
    stored = await running.server.store.range("/registry/")
    assert [item.key for item in stored.items if "review" in item.key] == []
    for method in ("GET", "PUT", "PATCH", "DELETE"):
        assert (await running.ask(method, TOKENS, {}, expect=405))["reason"] == "MethodNotAllowed"
        assert (await running.ask(method, f"{TOKENS}/a", {}, expect=404))["reason"] == "NotFound"
    await running.ask("POST", f"{AUTHORIZATION}/localsubjectaccessreviews", {}, expect=404)
    await running.ask("POST", f"{AUTHENTICATION}/namespaces/default/tokenreviews", {}, expect=404)


async def test_review_cannot_be_requested_as_a_table(running: Live) -> None:
    running.client.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
    await running.ask("POST", WHO, {}, expect=406)
    running.client.accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    assert (await running.ask("POST", WHO, {}))["kind"] == "PartialObjectMetadata"


async def test_webhooks_admit_reviews(running: Live) -> None:
    async with AdmissionHook() as hook:
        about = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["tokenreviews"]}
        rules = [{"operations": ["CREATE"], **about}]
        for kind in ("Mutating", "Validating"):
            path = f"{CONFIGURATIONS}/{kind.lower()}webhookconfigurations"
            await running.ask("POST", path, configuration(kind, hook.webhook_config(kind.lower(), rules=rules)))
        hook.behaviour = lambda call: (
            patching(add("/spec/token", "anns"))(call) if call.path.startswith("/mutating") else refuse(call)
        )
        rejected = await running.ask("POST", TOKENS, {"spec": {"token": "bobs"}}, expect=403)
        assert rejected["message"] == 'admission webhook "validating.example.com" denied the request: not today'
        mutating, validating = hook.requests()
        assert mutating["resource"] == {"group": "authentication.k8s.io", "version": "v1", "resource": "tokenreviews"}
        assert (mutating["object"]["spec"], validating["object"]["spec"]) == ({"token": "bobs"}, {"token": "anns"})
        assert "name" not in mutating


async def test_review_may_omit_its_type(running: Live) -> None:
    named = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "anns"}}
    for body in (named, {"spec": {"token": "anns"}}):
        assert (await running.ask("POST", TOKENS, body))["status"]["authenticated"] is True
    other = {**named, "kind": "SelfSubjectReview"}
    assert (await running.ask("POST", TOKENS, other, expect=400))["message"] == (
        'SelfSubjectReview in version "v1" cannot be handled as a TokenReview: '
        "converting (v1.SelfSubjectReview) to (authentication.TokenReview): unknown conversion"
    )
    sent = encode_object(named, TOKEN_REVIEW)
    assert json.loads((await running.client.call("POST", TOKENS, sent, PROTOBUF)).body)["status"]["authenticated"]


# ---------------------------------------------------------------------- with RBAC


@pytest.fixture
async def by_roles(tmp_path: Path) -> AsyncIterator[Live]:
    """Start a server where makers may get widgets in the namespace team, and one of their roles is missing."""
    tokens = tmp_path / "tokens.csv"
    tokens.write_text('anns,ann,1,"makers"\n')
    async with live(tmp_path, token_auth_file=tokens, authorization_mode=("RBAC",)) as running:
        roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/team"
        await running.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
        rules = [{"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"], "resourceNames": ["w"]}]
        await running.ask("POST", f"{roles}/roles", {"metadata": {"name": "reader"}, "rules": rules})
        for role in ("reader", "gone"):
            binding = {
                "metadata": {"name": role},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role},
                "subjects": [{"kind": "Group", "name": "makers"}],
            }
            await running.ask("POST", f"{roles}/rolebindings", binding)
        yield running


WIDGET = {"verb": "get", "group": "example.com", "resource": "widgets", "name": "w", "namespace": "team"}
ALLOWED = {
    "allowed": True,
    "reason": 'RBAC: allowed by RoleBinding "reader/team" of Role "reader" to Group "makers"',
}
REFUSED = {"allowed": False, "reason": 'RBAC: role.rbac.authorization.k8s.io "gone" not found'}


@pytest.mark.parametrize(
    ("subject", "attributes", "status"),
    [
        ({"user": "x", "groups": ["makers"]}, WIDGET, ALLOWED),
        ({"groups": ["makers"]}, {**WIDGET, "name": "v"}, REFUSED),
        ({"user": "x"}, WIDGET, {"allowed": False}),
        ({"user": "x", "groups": ["system:masters"]}, WIDGET, {"allowed": True}),
    ],
)
async def test_subject_access_review_returns_the_reason(
    by_roles: Live, subject: JsonObject, attributes: JsonObject, status: JsonObject
) -> None:
    spec = {**subject, "resourceAttributes": attributes}
    assert (await by_roles.ask("POST", ACCESS, {"spec": spec}))["status"] == status
    local = ACCESS.replace("/subject", "/namespaces/team/localsubject")
    assert (await by_roles.ask("POST", local, {"spec": spec}))["status"] == status


async def test_self_subject_access_review_is_allowed_for_everyone(by_roles: Live) -> None:
    by_roles.client.token = "anns"
    assert (await by_roles.ask("POST", OWN, {"spec": {"resourceAttributes": WIDGET}}))["status"] == ALLOWED
    path = {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    assert (await by_roles.ask("POST", OWN, {"spec": path}))["status"] == {"allowed": False}
    assert (await by_roles.client.call("POST", ACCESS, {"spec": {"user": "x", **path}})).status == 403


async def test_self_subject_rules_review_reports_errors(by_roles: Live) -> None:
    by_roles.client.token = "anns"
    path = f"{AUTHORIZATION}/selfsubjectrulesreviews"
    status = (await by_roles.ask("POST", path, {"spec": {"namespace": "team"}}))["status"]
    rule = {"verbs": ["get"], "apiGroups": ["example.com"], "resources": ["widgets"], "resourceNames": ["w"]}
    assert rule in status["resourceRules"]
    assert status["evaluationError"] == 'role.rbac.authorization.k8s.io "gone" not found'
    assert status["incomplete"] is False
    status = (await by_roles.ask("POST", path, {"spec": {"namespace": "other"}}))["status"]
    assert rule not in status["resourceRules"]
    assert "evaluationError" not in status
