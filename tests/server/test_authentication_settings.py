"""Requests with tokens of an OpenID Connect provider, configured by a file or by flags."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from polykind.contract import JsonObject
from polykind.server.config_file import ConfigFileError, read_config
from polykind.server.server import Server
from polykind.server.settings import Settings, SettingsError
from tests.auth.oidc.issuer import Issuer, new_key
from tests.support.client import Client

WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    issuer = Issuer()
    async with issuer.serve():
        yield issuer


def configuration(*authenticators: JsonObject, **rest: Any) -> str:
    api_version = "apiserver.config.k8s.io/v1"
    content = {"apiVersion": api_version, "kind": "AuthenticationConfiguration", "jwt": authenticators, **rest}
    return json.dumps(content)


async def whoami(server: Server, token: str) -> JsonObject | None:
    """Return the userInfo of a token's user, or None if the server rejects the token."""
    async with Client(server.url, token) as client:
        reply = await client.call(
            "POST", WHOAMI, {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        )
    if reply.status == 401:
        return None
    info: JsonObject = json.loads(reply.body)["status"]["userInfo"]
    return info


async def known(server: Server, token: str) -> JsonObject:
    """Return the userInfo of a token as soon as the server accepts the token."""
    async with asyncio.timeout(20):
        while (info := await whoami(server, token)) is None:
            await asyncio.sleep(0.02)
    return info


async def test_users_come_from_the_configuration_file(issuer: Issuer, tmp_path: Path) -> None:
    file = tmp_path / "authentication.yaml"
    mappings = {
        "username": {"expression": "'sso:' + claims.sub"},
        "groups": {"expression": "claims.roles"},
        "extra": [{"key": "example.com/tenant", "valueExpression": "claims.tenant"}],
    }
    rule = {"expression": "claims.tenant != 'blocked'", "message": "this tenant is blocked"}
    file.write_text(configuration({**issuer.config(**mappings), "claimValidationRules": [rule]}))
    settings = Settings(data_dir=tmp_path / "data", secure_port=0, authentication_config=file)
    async with Server(settings) as server:
        info = await known(server, issuer.token(roles=["dev"], tenant="blue"))
        assert info == {
            "username": "sso:jane",
            "groups": ["dev", "system:authenticated"],
            "extra": {"example.com/tenant": ["blue"]},
        }
        assert await whoami(server, issuer.token(roles=[], tenant="blocked")) is None
        assert await whoami(server, issuer.token(key=new_key(), roles=[], tenant="blue")) is None
        assert (await known(server, server.token))["username"] == "admin"


async def test_users_come_from_the_flags(issuer: Issuer, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_text(issuer.ca)
    settings = Settings(
        data_dir=tmp_path / "data",
        secure_port=0,
        oidc_issuer_url=issuer.url,
        oidc_client_id="polykind",
        oidc_ca_file=ca,
        oidc_groups_claim="groups",
        oidc_groups_prefix="oidc:",
        oidc_signing_algs=("ES256",),
        oidc_required_claim={"hd": "example.com"},
    )
    async with Server(settings) as server:
        info = await known(server, issuer.token(groups="dev", hd="example.com"))
        assert info["username"] == f"{issuer.url}#jane"
        assert info["groups"] == ["oidc:dev", "system:authenticated"]
        assert await whoami(server, issuer.token(hd="other.com")) is None


async def test_token_review_accepts_tokens_of_the_issuer(issuer: Issuer, tmp_path: Path) -> None:
    file = tmp_path / "authentication.yaml"
    file.write_text(configuration(issuer.config()))
    async with Server(Settings(data_dir=tmp_path / "data", secure_port=0, authentication_config=file)) as server:
        await known(server, issuer.token())
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": issuer.token()}}
        async with Client(server.url, server.token) as client:
            reply = await client.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)
        status = json.loads(reply.body)["status"]
        assert status["user"]["username"] == "jane"
        assert status["audiences"] == ["https://kubernetes.default.svc"]


async def test_changed_file_replaces_the_issuers(issuer: Issuer, tmp_path: Path) -> None:
    file = tmp_path / "authentication.yaml"
    file.write_text(configuration())
    async with Server(Settings(data_dir=tmp_path / "data", secure_port=0, authentication_config=file)) as server:
        assert await whoami(server, issuer.token()) is None
        file.write_text(configuration(issuer.config()))
        server.reload()
        assert (await known(server, issuer.token()))["username"] == "jane"
        file.write_text("invalid")
        server.reload()
        assert (await known(server, issuer.token(sub="joe")))["username"] == "joe"


async def test_anonymous_requests_can_be_limited_to_paths(tmp_path: Path) -> None:
    file = tmp_path / "authentication.yaml"
    file.write_text(configuration(anonymous={"enabled": True, "conditions": [{"path": "/version"}]}))
    settings = Settings(
        data_dir=tmp_path / "data", secure_port=0, authentication_config=file, authorization_mode=("RBAC",)
    )
    async with Server(settings) as server, Client(server.url, "") as client:
        assert (await client.call("GET", "/api/v1/namespaces")).status == 401
        assert (await client.call("GET", "/version")).status == 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (" \n", "empty config data"),
        ("[]", "does not contain an object"),
        ("{apiVersion: apiserver.config.k8s.io/v1}", "Object 'Kind' is missing"),
        ("{apiVersion: v1, kind: Pod}", "expected AuthenticationConfiguration, got Pod"),
        ("{apiVersion: v9, kind: AuthenticationConfiguration}", "is registered for version"),
        (configuration(foo=1), 'strict decoding error: unknown field "foo"'),
        (configuration(anonymous=1), "cannot unmarshal number into Go struct field"),
    ],
)
def test_files_with_errors_are_rejected(tmp_path: Path, content: str, message: str) -> None:
    from polykind.apis.apiserver.types import AUTHENTICATION_CONFIGURATION

    file = tmp_path / "authentication.yaml"
    file.write_text(content)
    with pytest.raises(ConfigFileError, match=message):
        read_config(file, AUTHENTICATION_CONFIGURATION)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"oidc_issuer_url": "https://a"}, "oidc-issuer-url and oidc-client-id must be specified together"),
        (
            {"oidc_issuer_url": "https://a", "oidc_client_id": "x", "authentication_config": Path("x")},
            "authentication-config file and oidc-. flags are mutually exclusive",
        ),
        (
            {"oidc_issuer_url": "https://a", "oidc_client_id": "x", "oidc_signing_algs": ("HS256",)},
            "--oidc-signing-algs HS256 is not supported",
        ),
    ],
)
def test_flags_that_do_not_fit_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings(**settings).check()
