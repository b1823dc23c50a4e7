"""The claims of service account tokens, and the conditions under which a token is valid."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from polykind.auth import service_account_claims as claims
from polykind.auth.service_account_claims import TokenError
from polykind.contract import JsonObject

NOW = datetime(2026, 1, 2, tzinfo=UTC)
ACCOUNT: JsonObject = {"metadata": {"name": "robot", "namespace": "ns", "uid": "u1"}}
POD: JsonObject = {"metadata": {"name": "p", "namespace": "ns", "uid": "u2"}}
NODE: JsonObject = {"metadata": {"name": "n", "uid": "u3"}}


def build(**bound: JsonObject) -> JsonObject:
    return claims.build_claims(ACCOUNT, bound, ["vault"], "https://issuer", "id")


class Objects:
    """Stored objects by plural."""

    def __init__(self, **objects: JsonObject) -> None:
        self.objects = objects

    async def find(self, plural: str, namespace: str, name: str) -> JsonObject | None:
        obj = self.objects.get(plural)
        return obj if obj is not None and obj["metadata"]["name"] == name else None


def test_claims_name_account_and_bound_objects() -> None:
    built = build(pod=POD, node={"metadata": {"name": "n"}})
    claims.set_times(built, 1000, 600, 60)
    assert built == {
        "aud": ["vault"],
        "exp": 1600,
        "iat": 1000,
        "iss": "https://issuer",
        "jti": "id",
        "kubernetes.io": {
            "namespace": "ns",
            "node": {"name": "n"},
            "pod": {"name": "p", "uid": "u2"},
            "serviceaccount": {"name": "robot", "uid": "u1"},
            "warnafter": 1060,
        },
        "nbf": 1000,
        "sub": "system:serviceaccount:ns:robot",
    }


def test_user_of_a_token() -> None:
    user = claims.user_of(build(pod=POD, node=NODE))
    assert user.info() == {
        "username": "system:serviceaccount:ns:robot",
        "uid": "u1",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
        "extra": {
            "authentication.kubernetes.io/credential-id": ["JTI=id"],
            "authentication.kubernetes.io/node-name": ["n"],
            "authentication.kubernetes.io/node-uid": ["u3"],
            "authentication.kubernetes.io/pod-name": ["p"],
            "authentication.kubernetes.io/pod-uid": ["u2"],
        },
    }


def test_audiences() -> None:
    assert claims.check_audiences({"aud": ["a", "b"]}, ["b", "c"], ["s"]) == ["b"]
    assert claims.check_audiences({"aud": "a"}, ["a"], ["s"]) == ["a"]
    without: list[JsonObject] = [{}, {"aud": []}]
    for absent in without:
        assert claims.check_audiences(absent, ["s", "c"], ["s"]) == ["s"]
        with pytest.raises(TokenError):
            claims.check_audiences(absent, ["c"], ["s"])
    with pytest.raises(TokenError):
        claims.check_audiences({"aud": ""}, ["s"], ["s"])
    with pytest.raises(TokenError) as caught:
        claims.check_audiences({"aud": ["a", "b"]}, ["c"], ["s"])
    assert str(caught.value) == 'token audiences ["a" "b"] is invalid for the target audiences ["c"]'


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (930, "not valid yet"),
        (941, ""),
        (1659, ""),
        (1661, "has expired"),
    ],
)
def test_times_have_a_minute_of_leeway(now: int, reason: str) -> None:
    built = build()
    claims.set_times(built, 1000, 600, None)
    if not reason:
        claims.check_times(built, now)
        return
    with pytest.raises(TokenError, match=reason):
        claims.check_times(built, now)


def test_times_beyond_int64_overflow_as_in_go() -> None:
    claims.check_times({"nbf": 1e30, "iat": 10**30}, 1000)
    with pytest.raises(TokenError, match="has expired"):
        claims.check_times({"exp": 1e30}, 1000)


def changed(obj: JsonObject, **meta: str) -> JsonObject:
    return {"metadata": {**obj["metadata"], **meta}}


@pytest.mark.parametrize(
    ("objects", "reason"),
    [
        ({}, 'serviceaccounts "robot" not found'),
        ({"serviceaccounts": changed(ACCOUNT, uid="x")}, r"service account UID \(x\) does not match claim \(u1\)"),
        ({"serviceaccounts": changed(ACCOUNT, deletionTimestamp="2026-01-01T00:00:00Z")}, "robot has been deleted"),
        ({"serviceaccounts": ACCOUNT}, "has been invalidated"),
        ({"serviceaccounts": ACCOUNT, "pods": changed(POD, uid="x")}, r"pod UID \(x\) does not match service account"),
        ({"serviceaccounts": ACCOUNT, "pods": changed(POD, deletionTimestamp="2026-01-01T00:00:00Z")}, "invalidated"),
    ],
)
async def test_deleted_objects_invalidate_tokens(objects: dict[str, JsonObject], reason: str) -> None:
    with pytest.raises(TokenError, match=reason):
        await claims.check_objects(build(pod=POD), Objects(**objects).find, NOW)


async def test_objects_of_a_valid_token() -> None:
    terminating = changed(POD, deletionTimestamp="2026-01-01T23:59:30Z")
    await claims.check_objects(build(pod=terminating), Objects(serviceaccounts=ACCOUNT, pods=terminating).find, NOW)
    await claims.check_objects(build(node=NODE), Objects(serviceaccounts=ACCOUNT, nodes=NODE).find, NOW)


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": {"vault": 1}},
        {"aud": 7},
        {"aud": None},
        {"aud": ["vault", 7]},
        {"exp": "9999999999"},
        {"exp": True},
        {"exp": 10**400},
        {"nbf": float("inf")},
        {"nbf": {}},
        {"iat": [1]},
        {"iat": "x"},
        {"sub": 7},
        {"jti": {}},
        {"kubernetes.io": "x"},
        {"kubernetes.io": {"namespace": 7}},
        {"kubernetes.io": {"serviceaccount": "robot"}},
        {"kubernetes.io": {"pod": {"uid": 7}}},
        {"kubernetes.io": {"warnafter": "soon"}},
    ],
)
def test_claims_of_wrong_types_are_rejected(wrong: JsonObject) -> None:
    with pytest.raises(TokenError, match=r"cannot unmarshal|expected"):
        claims.check_types({**build(), **wrong})


def test_absent_and_fractional_claims_have_the_right_type() -> None:
    claims.check_types({})
    claims.check_types({**build(), "exp": 1.5, "nbf": None, "kubernetes.io": None})
