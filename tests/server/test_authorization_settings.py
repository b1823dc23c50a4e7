"""Servers that ask webhooks over TLS for decisions and for the users of tokens."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from aiohttp import web

from polykind.contract import JsonObject
from polykind.server.server import Server
from polykind.server.settings import Settings, SettingsError
from tests.support.client import Client

NAMESPACES = "/api/v1/namespaces"


class Reviewer:
    """A webhook that allows `ann` to read, denies everything to `eve`, and knows the token `t-ann`."""

    def __init__(self, folder: Path) -> None:
        self.reviews: list[JsonObject] = []
        self.broken = False
        self.kubeconfig = folder / "webhook.kubeconfig"
        self._authority = trustme.CA()

    async def _review(self, request: web.Request) -> web.Response:
        if self.broken:
            return web.json_response({}, status=400)
        review = await request.json()
        self.reviews.append(review)
        spec = review["spec"]
        if review["kind"] == "TokenReview":
            user = {"username": "ann", "groups": ["remote"]}
            status: JsonObject = {"authenticated": True, "user": user} if spec["token"] == "t-ann" else {}
        else:
            verb = spec.get("resourceAttributes", {}).get("verb")
            status = {"allowed": spec["user"] == "ann" and verb in ("get", "list"), "denied": spec["user"] == "eve"}
        return web.json_response({**review, "status": status})

    async def serve(self) -> AsyncIterator[Reviewer]:
        application = web.Application()
        application.router.add_post("/review", self._review)
        runner = web.AppRunner(application)
        await runner.setup()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._authority.issue_cert("127.0.0.1").configure_cert(context)
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        ca = self.kubeconfig.with_suffix(".pem")
        ca.write_bytes(self._authority.cert_pem.bytes())
        url = f"https://127.0.0.1:{runner.addresses[0][1]}/review"
        content = {
            "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority": str(ca)}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        self.kubeconfig.write_text(yaml.safe_dump(content))
        yield self
        await runner.cleanup()


@pytest.fixture
async def reviewer(tmp_path: Path) -> AsyncIterator[Reviewer]:
    async for one in Reviewer(tmp_path).serve():
        yield one


def settings(tmp_path: Path, **values: Any) -> Settings:
    tokens = tmp_path / "tokens.csv"
    tokens.write_text("anns,ann,1\neves,eve,2\nbobs,bob,3\n")
    return Settings(data_dir=tmp_path / "data", secure_port=0, token_auth_file=tokens, **values)


async def status(server: Server, token: str, method: str = "GET", body: object = None) -> int:
    async with Client(server.url, token) as client:
        return (await client.call(method, NAMESPACES, body)).status


async def test_mode_webhook_asks_the_webhook(reviewer: Reviewer, tmp_path: Path) -> None:
    chosen = settings(tmp_path, authorization_mode=("Webhook",), authorization_webhook_config_file=reviewer.kubeconfig)
    async with Server(chosen) as server:
        assert await status(server, "anns") == 200
        assert await status(server, "anns", "POST", {"metadata": {"name": "a"}}) == 403
        assert await status(server, "bobs") == 403
        assert await status(server, server.token) == 200
    assert {review["spec"]["user"] for review in reviewer.reviews} == {"ann", "bob"}


async def test_request_fails_if_no_authorizer_can_decide(reviewer: Reviewer, tmp_path: Path) -> None:
    modes = {"authorization_mode": ("Webhook",), "authorization_webhook_config_file": reviewer.kubeconfig}
    async with Server(settings(tmp_path, **modes)) as server, Client(server.url, "bobs") as client:
        reviewer.broken = True
        reply = await client.call("GET", f"{NAMESPACES}?a=<b>")
    assert (reply.status, reply.headers[b"content-type"]) == (500, b"text/plain; charset=utf-8")
    assert reply.body.startswith(b'Internal Server Error: "/api/v1/namespaces?a=&lt;b&gt;": ')


async def test_configuration_file_with_rbac_and_a_webhook(reviewer: Reviewer, tmp_path: Path) -> None:
    hook = {
        "timeout": "3s",
        "subjectAccessReviewVersion": "v1",
        "matchConditionSubjectAccessReviewVersion": "v1",
        "failurePolicy": "Deny",
        "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": str(reviewer.kubeconfig)},
        "matchConditions": [{"expression": "request.user != 'bob'"}],
    }
    authorizers = [{"type": "Webhook", "name": "hook", "webhook": hook}, {"type": "RBAC", "name": "rbac"}]
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
    file = tmp_path / "authorization.yaml"
    file.write_text(json.dumps({**kind, "authorizers": authorizers}))
    async with Server(settings(tmp_path, authorization_config=file)) as server:
        assert await status(server, "anns") == 200
        assert await status(server, "eves") == 403
        assert await status(server, "bobs") == 403
    assert "bob" not in {review["spec"]["user"] for review in reviewer.reviews}


async def test_anonymous_requests_are_rejected_if_the_file_allows_everything(tmp_path: Path) -> None:
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
    file = tmp_path / "authorization.yaml"
    file.write_text(json.dumps({**kind, "authorizers": [{"type": "AlwaysAllow", "name": "all"}]}))
    async with Server(settings(tmp_path, authorization_config=file)) as server:
        assert await status(server, "bobs") == 200
        assert await status(server, "") == 401


async def test_webhook_authenticates_unknown_tokens(reviewer: Reviewer, tmp_path: Path) -> None:
    chosen = settings(
        tmp_path,
        authorization_mode=("AlwaysAllow",),
        authentication_token_webhook_config_file=reviewer.kubeconfig,
        authentication_token_webhook_version="v1",
    )
    async with Server(chosen) as server:
        for _ in range(2):
            assert await status(server, "t-ann") == 200
        assert len(reviewer.reviews) == 1
        assert await status(server, "t-unknown") == 401
        assert await status(server, "bobs") == 200
    assert [review["spec"]["token"] for review in reviewer.reviews] == ["t-ann", "t-unknown"]


@pytest.mark.parametrize(
    ("authorizers", "message"),
    [
        ([], "authorizers: Required value: at least one authorization mode must be defined"),
        ([{"type": "Node", "name": "n"}], "Node is not supported"),
        ([{"type": "RBAC", "name": "r"}, {"type": "RBAC", "name": "s"}], 'type: Duplicate value: "RBAC"'),
        ([{"type": "RBAC", "name": ""}], "authorizers.0..name: Required value"),
        ([{"type": "Webhook", "name": "w"}], "authorizers.0..webhook: Required value: required when type=Webhook"),
        (
            [{"type": "Webhook", "name": "w", "webhook": {"timeout": "31s"}}],
            'authorizers.0..timeout: Invalid value: "31s": must be > 0s and <= 30s',
        ),
    ],
)
async def test_invalid_configuration_is_rejected(tmp_path: Path, authorizers: list[Any], message: str) -> None:
    kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration"}
    file = tmp_path / "authorization.yaml"
    file.write_text(json.dumps({**kind, "authorizers": authorizers}))
    with pytest.raises(SettingsError, match=message):
        async with Server(settings(tmp_path, authorization_config=file)):
            pass
