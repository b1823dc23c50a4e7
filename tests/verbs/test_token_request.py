"""Tokens of service accounts: requested, used and invalidated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from polykind.auth.token_parsing import read_segment
from polykind.contract import JsonObject
from tests.support.kubectl import Kubectl
from tests.support.live import Live, live

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
TOKEN = f"{ACCOUNTS}/robot/token"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ISSUER = "https://kubernetes.default.svc"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path) as server:
        await server.ask("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        yield server


async def request(running: Live, **spec: object) -> JsonObject:
    answer: JsonObject = await running.ask("POST", TOKEN, {"spec": spec})
    return answer


async def test_token_authenticates_its_account(running: Live) -> None:
    answer = await request(running)
    token = answer["status"]["token"]
    claims = read_segment(token, 1) or {}
    assert list(claims) == ["aud", "exp", "iat", "iss", "jti", "kubernetes.io", "nbf", "sub"]
    assert (claims["aud"], claims["iss"], claims["exp"] - claims["iat"]) == ([ISSUER], ISSUER, 3600)
    running.client.token = token
    user = (await running.ask("POST", WHO, {}))["status"]["userInfo"]
    assert user["username"] == "system:serviceaccount:default:robot"
    running.client.token = running.server.token
    await running.ask("DELETE", f"{ACCOUNTS}/robot")
    running.client.token = token
    await running.ask("POST", WHO, {}, expect=401)


async def test_key_is_private_and_kept(running: Live, tmp_path: Path) -> None:
    first = read_segment((await request(running))["status"]["token"], 0)
    (key,) = tmp_path.rglob("service-account.key")
    assert key.stat().st_mode & 0o777 == 0o600
    assert read_segment((await request(running))["status"]["token"], 0) == first


async def test_token_for_another_audience_is_only_valid_in_reviews(running: Live) -> None:
    token = (await request(running, audiences=["vault"]))["status"]["token"]
    review = {"spec": {"token": token, "audiences": ["vault", "other"]}}
    status = (await running.ask("POST", REVIEWS, review))["status"]
    assert (status["authenticated"], status["audiences"]) == (True, ["vault"])
    refused = (await running.ask("POST", REVIEWS, {"spec": {"token": token}}))["status"]
    reason = f'token audiences ["vault"] is invalid for the target audiences ["{ISSUER}"]'
    assert refused == {"user": {}, "error": f"[invalid bearer token, {reason}]"}
    running.client.token = token
    await running.ask("POST", WHO, {}, expect=401)


async def test_token_is_bound_to_a_secret(running: Live) -> None:
    secrets = "/api/v1/namespaces/default/secrets"
    reference = {"kind": "Secret", "apiVersion": "v1", "name": "s"}
    missing = await running.ask("POST", TOKEN, {"spec": {"boundObjectRef": reference}}, expect=404)
    assert missing["message"] == 'secrets "s" not found'
    await running.ask("POST", secrets, {"metadata": {"name": "s"}})
    token = (await request(running, boundObjectRef=reference))["status"]["token"]
    other = {**reference, "uid": "other"}
    await running.ask("POST", TOKEN, {"spec": {"boundObjectRef": other}}, expect=409)
    await running.ask("DELETE", f"{secrets}/s")
    status = (await running.ask("POST", REVIEWS, {"spec": {"token": token}}))["status"]
    assert status["error"] == "[invalid bearer token, service account token has been invalidated]"


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ({"spec": {"expirationSeconds": 599}}, 422, "may not specify a duration less than 10 minutes"),
        ({"spec": {"expirationSeconds": 2**32 + 1}}, 422, "may not specify a duration larger than 2^32 seconds"),
        ({"metadata": {"name": "other"}}, 422, "must match the service account name if specified"),
        ({"metadata": {"uid": "other"}}, 409, "the UID in the token request (other) does not match"),
        (
            {"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "a/b"}}},
            400,
            """Name parameter invalid: "a/b": may not contain '/'""",
        ),
        ({"spec": {"boundObjectRef": {"kind": "Lease", "apiVersion": "a/v1"}}}, 400, "object of type a/v1, Kind=Lease"),
    ],
)
async def test_invalid_requests(running: Live, body: JsonObject, code: int, text: str) -> None:
    assert text in (await running.ask("POST", TOKEN, body, expect=code))["message"]


async def test_maximum_lifetime_and_issuer_are_configurable(tmp_path: Path) -> None:
    async with live(
        tmp_path,
        api_audiences=("a", "b"),
        service_account_issuer=("https://i",),
        service_account_max_token_expiration=3600.0,
    ) as server:
        await server.ask("POST", ACCOUNTS, {"metadata": {"name": "robot"}})
        reply = await server.client.call("POST", TOKEN, {"spec": {"expirationSeconds": 7200}})
        answer = json.loads(reply.body)
        assert (answer["spec"]["audiences"], answer["spec"]["expirationSeconds"]) == (["a", "b"], 3600)
        assert (read_segment(answer["status"]["token"], 1) or {})["iss"] == "https://i"
        document = await server.ask("GET", "/.well-known/openid-configuration")
        assert document["issuer"] == "https://i"
        assert document["jwks_uri"] == f"{server.server.url}/openid/v1/jwks"
        await server.ask("GET", "/openid/v1/jwks", expect=406)
        await server.ask("POST", "/openid/v1/jwks", {}, expect=405)
        server.client.accept = "application/jwk-set+json"
        keys = (await server.ask("GET", "/openid/v1/jwks"))["keys"]
        assert [key["kid"] for key in keys] == [(read_segment(answer["status"]["token"], 0) or {})["kid"]]


async def test_kubectl_create_token(running: Live, tmp_path: Path) -> None:
    kubectl = Kubectl(running.server.kubeconfig, tmp_path)
    outcome = await asyncio.to_thread(kubectl, "create", "token", "robot", "--duration", "10m")
    assert (read_segment(outcome.out.strip(), 1) or {})["sub"] == "system:serviceaccount:default:robot"
