"""Requests to running servers of each mode: decided before anything else is looked at."""

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


async def ask(running: Live, token: str, method: str, path: str, body: object = None, kind: str = "") -> Reply:
    async with running.another() as client:
        client.token = token
        return await client.call(method, path, body, kind or "application/json")


async def allow(running: Live, name: str, *verbs: str, group: str = GROUP, resource: str = "widgets") -> None:
    """Let ann do something everywhere."""
    rules = [{"verbs": list(verbs), "apiGroups": [group], "resources": [resource]}]
    await running.ask("POST", f"{ROLES}/clusterroles", {"metadata": {"name": name}, "rules": rules})
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "User", "name": "ann"}],
    }
    await running.ask("POST", f"{ROLES}/clusterrolebindings", binding)


# ---------------------------------------------------------------------- RBAC


async def test_who_may_not_is_told_so_whatever_there_is(running: Live) -> None:
    for path in (f"{WIDGETS}/absent", f"{WIDGETS}/absent".replace("widgets", "nothing")):
        refused = await ask(running, "anns", "GET", path)
        plural = path.split("/")[-2]
        assert refused.json() == {
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
        assert refused.headers[b"content-type"] == b"application/json"
        assert refused.headers[b"x-content-type-options"] == b"nosniff"


async def test_a_refusal_comes_before_the_body_is_read(running: Live) -> None:
    refused = await ask(running, "anns", "POST", WIDGETS, b"{nonsense", "text/nonsense")
    assert refused.json()["message"].startswith(f'widgets.{GROUP} is forbidden: User "ann" cannot create resource')


async def test_who_is_bound_may_and_no_more(running: Live) -> None:
    await allow(running, "reading", "get", "list")
    assert (await ask(running, "anns", "GET", WIDGETS)).status == 200
    assert (await ask(running, "anns", "GET", f"{WIDGETS}/absent")).status == 404
    assert (await ask(running, "anns", "GET", f"{WIDGETS}?watch=1")).status == 403
    assert (await ask(running, "anns", "DELETE", WIDGETS)).status == 403
    assert (await ask(running, "bobs", "GET", WIDGETS)).status == 403


async def test_paths_are_decided_as_well(running: Live) -> None:
    refused = await ask(running, "anns", "GET", "/nothing%20here?x")
    assert refused.json()["message"] == 'forbidden: User "ann" cannot get path "/nothing here"'
    assert refused.json()["details"] == {}
    assert (await ask(running, running.server.token, "GET", "/nothing")).status == 404


async def test_health_and_version_need_no_leave(running: Live) -> None:
    for path in ("/healthz", "/livez", "/readyz", "/readyz/ping", "/version"):
        assert (await ask(running, "", "GET", path)).status == 200


async def test_who_shows_no_token_is_anonymous_and_a_wrong_one_is_refused(running: Live) -> None:
    nobody = await ask(running, "", "GET", WIDGETS)
    assert (nobody.status, nobody.json()["message"].split(": ")[1][:30]) == (403, 'User "system:anonymous" cannot')
    assert (await ask(running, "wrong", "GET", WIDGETS)).status == 401


async def test_an_apply_that_creates_needs_leave_to_create(running: Live) -> None:
    await allow(running, "patching", "patch")
    path = f"{WIDGETS}/made?fieldManager=m"
    refused = await ask(running, "anns", "PATCH", path, widget("made"), APPLY)
    assert refused.json()["message"] == (
        f'widgets.{GROUP} "made" is forbidden: User "ann" cannot create resource "widgets" '
        f'in API group "{GROUP}" in the namespace "default"'
    )
    await allow(running, "creating", "create")
    assert (await ask(running, "anns", "PATCH", path, widget("made"), APPLY)).status == 201
    assert (await ask(running, "anns", "PATCH", path, widget("made", size=2), APPLY)).status == 200


async def test_an_object_that_makes_no_sense_is_refused_before_leave_to_create_is_asked_for(running: Live) -> None:
    await allow(running, "patching", "patch")
    wrong = await ask(running, "anns", "PATCH", f"{WIDGETS}/made?fieldManager=m", widget("made", size="x"), APPLY)
    assert wrong.status != 403


async def test_a_patch_of_what_is_absent_asks_for_no_more(running: Live) -> None:
    await allow(running, "patching", "patch")
    assert (await ask(running, "anns", "PATCH", f"{WIDGETS}/absent", {}, MERGE)).status == 404


# ---------------------------------------------------------------------- other modes


async def test_always_deny_leaves_the_superusers_alone(tmp_path: Path) -> None:
    async with live(tmp_path, token_auth_file=tokens(tmp_path), authorization_mode=("AlwaysDeny",)) as running:
        refused = await ask(running, "anns", "GET", "/apis")
        assert refused.json()["message"] == 'forbidden: User "ann" cannot get path "/apis": Everything is forbidden.'
        assert (await ask(running, running.server.token, "GET", "/apis")).status == 200


async def test_reasons_of_all_modes_are_told(tmp_path: Path) -> None:
    modes = ("RBAC", "AlwaysDeny")
    async with live(tmp_path, token_auth_file=tokens(tmp_path), authorization_mode=modes) as running:
        await allow(running, "gone", "get")
        await running.ask("DELETE", f"{ROLES}/clusterroles/gone")
        refused = await ask(running, "anns", "GET", "/foo")
        assert refused.json()["message"] == (
            'forbidden: User "ann" cannot get path "/foo": '
            'RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found\nEverything is forbidden.'
        )


@pytest.mark.parametrize("modes", [("AlwaysAllow",), ("RBAC", "AlwaysAllow"), ("AlwaysDeny", "AlwaysAllow")])
async def test_always_allow_allows_whoever_is_known(tmp_path: Path, modes: tuple[str, ...]) -> None:
    async with live(tmp_path, token_auth_file=tokens(tmp_path), authorization_mode=modes) as running:
        assert (await ask(running, "anns", "GET", "/api/v1/namespaces/default")).status == 200
        assert (await ask(running, "", "GET", "/api/v1/namespaces/default")).status == 401


# ---------------------------------------------------------------------- impersonation


async def taken_for(running: Live, token: str, *headers: str) -> Reply:
    async with running.another() as client:
        client.token, client.headers = token, headers
        return await client.call("POST", WHO, {})


async def test_an_admin_is_taken_for_another(running: Live) -> None:
    told = await taken_for(
        running,
        running.server.token,
        "Impersonate-User: eve",
        "Impersonate-Uid: 7",
        "Impersonate-Group: a,b",
        "Impersonate-Group: c",
        "Impersonate-Extra-Scopes: x",
        "impersonate-extra-scopes: y",
    )
    assert told.json()["status"]["userInfo"] == {
        "username": "eve",
        "uid": "7",
        "groups": ["a,b", "c", "system:authenticated"],
        "extra": {"scopes": ["x", "y"]},
    }


async def test_the_other_is_asked_for_leave_too(running: Live) -> None:
    async with running.another() as client:
        client.headers = ("Impersonate-User: ann",)
        refused = await client.call("GET", WIDGETS)
    assert refused.json()["message"].startswith(f'widgets.{GROUP} is forbidden: User "ann" cannot list')


async def test_who_may_not_be_another_is_refused(running: Live) -> None:
    refused = await taken_for(running, "anns", "Impersonate-User: bob")
    assert refused.status == 403
    assert (
        'User "ann" cannot impersonate-on:user-info:create resource "selfsubjectreviews"' in refused.json()["message"]
    )
    assert refused.headers[b"x-content-type-options"] == b"nosniff"
    await allow(running, "impersonating", "impersonate", group="", resource="users")
    assert (await taken_for(running, "anns", "Impersonate-User: bob")).status == 201


async def test_a_group_without_a_user_is_a_bad_request_in_every_mode(tmp_path: Path) -> None:
    async with live(tmp_path) as running:
        refused = await taken_for(running, running.server.token, "Impersonate-Group: g")
        assert refused.status == 400
        assert refused.json()["message"].startswith("requested &user.DefaultInfo{")
        told = await taken_for(running, running.server.token, "Impersonate-User: eve")
        assert told.json()["status"]["userInfo"] == {"username": "eve", "groups": ["system:authenticated"]}
