"""Authorization of requests to running servers in each authorization mode."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.client import Reply
from tests.support.live import Live, live
from tests.support.widgets import APPLY, GROUP, MERGE, WIDGETS, definition, widget

ROLES = "/apis/rbac.authorization.k8s.io/v1"
WHO = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def tokens(folder: Path) -> Path:
    path = folder / "tokens.csv"
    path.write_text('anns,ann,1,"makers"\nbobs,bob,2\n')
    return path


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Live]:
    async with live(tmp_path, token_auth_file=tokens(tmp_path), authorization_mode=("RBAC",)) as running:
        await running.define(definition())
        yield running


async def send(running: Live, token: str, method: str, path: str, body: object = None, kind: str = "") -> Reply:
    async with running.another() as client:
        client.token = token
        return await client.call(method, path, body, kind or "application/json")


async def allow(running: Live, name: str, *verbs: str, group: str = GROUP, resource: str = "widgets") -> None:
    """Grant ann the verbs in all namespaces."""
    rules = [{"verbs": list(verbs), "apiGroups": [group], "resources": [resource]}]
    await running.ask("POST", f"{ROLES}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "ann"}],
    }
    await running.ask("POST", f"{ROLES}/clusterrolebindings", binding)


# ---------------------------------------------------------------------- RBAC


async def test_forbidden_request_does_not_reveal_what_exists(running: Live) -> None:
    for path in (f"{WIDGETS}/absent", f"{WIDGETS}/absent".replace("widgets", "nothing")):
        response = await send(running, "anns", "GET", path)
        plural = path.split("/")[-2]
        assert response.json() == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f'{plural}.{GROUP} "absent" is forbidden: User "ann" cannot get resource "{plural}" '
            f'in API group "{GROUP}" in the namespace "default"',
            "reason": "Forbidden",
            "details": {"name": "absent", "group": GROUP, "kind": plural},
            "code": 403,
        }
        assert response.headers[b"content-type"] == b"application/json"
        assert response.headers[b"x-content-type-options"] == b"nosniff"


async def test_forbidden_is_returned_before_the_body_is_parsed(running: Live) -> None:
    response = await send(running, "anns", "POST", WIDGETS, b"{nonsense", "text/nonsense")
    assert response.json()["message"].startswith(f'widgets.{GROUP} is forbidden: User "ann" cannot create resource')


async def test_bound_user_may_do_only_what_the_role_allows(running: Live) -> None:
    await allow(running, "reading", "get", "list")
    assert (await send(running, "anns", "GET", WIDGETS)).status == 200
    assert (await send(running, "anns", "GET", f"{WIDGETS}/absent")).status == 404
    assert (await send(running, "anns", "GET", f"{WIDGETS}?watch=1")).status == 403
    assert (await send(running, "anns", "DELETE", WIDGETS)).status == 403
    assert (await send(running, "bobs", "GET", WIDGETS)).status == 403


async def test_non_resource_paths_are_authorized(running: Live) -> None:
    response = await send(running, "anns", "GET", "/nothing%20here?x")
    assert response.json()["message"] == 'forbidden: User "ann" cannot get path "/nothing here"'
    assert response.json()["details"] == {}
    assert (await send(running, running.server.token, "GET", "/nothing")).status == 404


async def test_health_and_version_need_no_permission(running: Live) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/version"):
        assert (await send(running, "", "GET", path)).status == 200
    assert (await send(running, "", "GET", "/readyz/ping")).status == 403


async def test_missing_token_is_anonymous_and_wrong_token_unauthorized(running: Live) -> None:
    nobody = await send(running, "", "GET", WIDGETS)
    assert (nobody.status, nobody.json()["message"].split(": ")[1][:30]) == (403, 'User "system:anonymous" cannot')
    assert (await send(running, "wrong", "GET", WIDGETS)).status == 401


async def test_apply_that_creates_needs_the_create_verb(running: Live) -> None:
    await allow(running, "patching", "patch")
    path = f"{WIDGETS}/made?fieldManager=m"
    response = await send(running, "anns", "PATCH", path, widget("made"), APPLY)
    assert response.json()["message"] == (
        f'widgets.{GROUP} "made" is forbidden: User "ann" cannot create resource "widgets" '
        f'in API group "{GROUP}" in the namespace "default"'
    )
    await allow(running, "creating", "create")
    assert (await send(running, "anns", "PATCH", path, widget("made"), APPLY)).status == 201
    assert (await send(running, "anns", "PATCH", path, widget("made", size=2), APPLY)).status == 200


async def test_invalid_object_is_rejected_before_the_create_verb_is_checked(running: Live) -> None:
    await allow(running, "patching", "patch")
    wrong = await send(running, "anns", "PATCH", f"{WIDGETS}/made?fieldManager=m", widget("made", size="x"), APPLY)
    assert wrong.status != 403


async def test_patch_of_absent_object_needs_no_create_verb(running: Live) -> None:
    await allow(running, "patching", "patch")
    assert (await send(running, "anns", "PATCH", f"{WIDGETS}/absent", {}, MERGE)).status == 404


# ---------------------------------------------------------------------- other modes


async def test_always_deny_does_not_apply_to_superusers(tmp_path: Path) -> None:
    async with live(tmp_path, token_auth_file=tokens(tmp_path), authorization_mode=("AlwaysDeny",)) as running:
        response = await send(running, "anns", "GET", "/apis")
        assert response.json()["message"] == 'forbidden: User "ann" cannot get path "/apis": Everything is forbidden.'
        assert (await send(running, running.server.token, "GET", "/apis")).status == 200


async def test_reasons_of_all_modes_are_reported(tmp_path: Path) -> None:
    modes = ("RBAC", "AlwaysDeny")
    async with live(tmp_path, token_auth_file=tokens(tmp_path), authorization_mode=modes) as running:
        await allow(running, "gone", "get")
        await running.ask("DELETE", f"{ROLES}/clusterroles/gone")
        response = await send(running, "anns", "GET", "/foo")
        assert response.json()["message"] == (
            'forbidden: User "ann" cannot get path "/foo": '
            'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found\nEverything is forbidden.'
        )


@pytest.mark.parametrize("modes", [("AlwaysAllow",), ("RBAC", "AlwaysAllow"), ("AlwaysDeny", "AlwaysAllow")])
async def test_always_allow_allows_authenticated_users(tmp_path: Path, modes: tuple[str, ...]) -> None:
    async with live(tmp_path, token_auth_file=tokens(tmp_path), authorization_mode=modes) as running:
        assert (await send(running, "anns", "GET", "/api/v1/namespaces/default")).status == 200
        assert (await send(running, "", "GET", "/api/v1/namespaces/default")).status == 401


# ---------------------------------------------------------------------- impersonation


async def impersonate(running: Live, token: str, *headers: str) -> Reply:
    async with running.another() as client:
        client.token, client.headers = token, headers
        return await client.call("POST", WHO, {})


async def test_admin_impersonates_another_user(running: Live) -> None:
    response = await impersonate(
        running,
        running.server.token,
        "Impersonate-User: eve",
        "Impersonate-Uid: 7",
        "Impersonate-Group: a,b",
        "Impersonate-Group: c",
        "Impersonate-Extra-Scopes: x",
        "impersonate-extra-scopes: y",
    )
    assert response.json()["status"]["userInfo"] == {
        "username": "eve",
        "uid": "7",
        "groups": ["a,b", "c", "system:authenticated"],
        "extra": {"scopes": ["x", "y"]},
    }


async def test_impersonated_user_is_authorized_too(running: Live) -> None:
    async with running.another() as client:
        client.headers = ("Impersonate-User: ann",)
        response = await client.call("GET", WIDGETS)
    assert response.json()["message"].startswith(f'widgets.{GROUP} is forbidden: User "ann" cannot list')


async def test_impersonation_without_permission_is_forbidden(running: Live) -> None:
    response = await impersonate(running, "anns", "Impersonate-User: bob")
    assert response.status == 403
    assert (
        'User "ann" cannot impersonate-on:user-info:create resource "selfsubjectreviews"' in response.json()["message"]
    )
    assert response.headers[b"x-content-type-options"] == b"nosniff"
    await allow(running, "impersonating", "impersonate", group="", resource="users")
    assert (await impersonate(running, "anns", "Impersonate-User: bob")).status == 201


async def test_impersonated_group_without_user_is_a_bad_request(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        response = await impersonate(running, running.server.token, "Impersonate-Group: g")
        assert response.status == 400
        assert response.json()["message"].startswith("requested &user.DefaultInfo{")
        response = await impersonate(running, running.server.token, "Impersonate-User: eve")
        assert response.json()["status"]["userInfo"] == {"username": "eve", "groups": ["system:authenticated"]}
