"""Users with limited permissions, on a server with RBAC."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from polykind.contract import JsonObject
from tests.support.live import Live, live

ROLES = "/apis/rbac.authorization.k8s.io/v1"
RBAC_GROUP = "rbac.authorization.k8s.io"


@asynccontextmanager
async def live_with_users(folder: Path, *users: str, **settings: Any) -> AsyncIterator[Live]:
    """Start a server with RBAC. The token of each user is the user's name; the client is an administrator."""
    tokens = folder / "tokens.csv"
    tokens.write_text("".join(f"{user},{user},{user}-uid\n" for user in users))
    async with live(folder, token_auth_file=tokens, authorization_mode=("RBAC",), **settings) as running:
        yield running


async def allow(running: Live, user: str, group: str, resource: str, *verbs: str, name: str = "") -> None:
    """Allow a user verbs on a resource in all namespaces, or on its objects called `name`."""
    rule: JsonObject = {"verbs": verbs, "apiGroups": [group], "resources": [resource]}
    if name:
        rule["resourceNames"] = [name]
    made = await running.ask("POST", f"{ROLES}/clusterroles", {"metadata": {"generateName": "r"}, "rules": [rule]})
    role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": made["metadata"]["name"]}
    body = {"metadata": {"generateName": "b"}, "roleRef": role, "subjects": [{"kind": "User", "name": user}]}
    await running.ask("POST", f"{ROLES}/clusterrolebindings", body)


async def ask_as(
    running: Live,
    user: str,
    method: str,
    path: str,
    body: object = None,
    *,
    kind: str = "application/json",
    headers: tuple[str, ...] = (),
    expect: int,
) -> Any:
    """Send a request as a user, or as an administrator if `user` is empty. Return the decoded response.

    Raise AssertionError unless the status is the expected one.
    """
    async with running.another() as client:
        client.token, client.headers = user or client.token, headers
        reply = await client.call(method, path, body, kind)
        assert reply.status == expect, reply.body
        return reply.json()
