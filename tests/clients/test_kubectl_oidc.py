"""kubectl with a credential plugin that returns tokens of an OpenID Connect provider."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.auth.oidc.issuer import Issuer, new_key
from tests.support.kubectl import Kubectl, Outcome
from tests.support.live import Live, live
from tests.support.waiting import eventually_async

CONFIG = "apiserver.config.k8s.io/v1"
PLUGIN = """#!{python}
import json, os, pathlib

asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
token = pathlib.Path(__file__).with_name("token").read_text()
with pathlib.Path(__file__).with_name("calls").open("a") as calls:
    calls.write("1")
print(json.dumps({{"apiVersion": asked["apiVersion"], "kind": "ExecCredential", "status": {{"token": token}}}}))
"""


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with Issuer().serve() as issuer:
        yield issuer


class PluginUser:
    """A user whose kubeconfig has no credentials, only the command of the credential plugin."""

    def __init__(self, running: Live, folder: Path) -> None:
        self.token = folder / "token"
        self.calls = folder / "calls"
        plugin = folder / "credential-plugin"
        plugin.write_text(PLUGIN.format(python=sys.executable))
        plugin.chmod(0o700)
        config = json.loads(running.server.kubeconfig.read_bytes())
        config["users"][0]["user"] = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": str(plugin),
                "interactiveMode": "Never",
            }
        }
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        self._kubectl = Kubectl(kubeconfig, folder)

    async def kubectl(self, *arguments: str) -> Outcome:
        # The provider and the server run in this event loop, so kubectl must not block it.
        return await asyncio.to_thread(self._kubectl, *arguments, check=False)


async def test_single_sign_on(issuer: Issuer, tmp_path: Path) -> None:
    authenticator = issuer.config(
        username={"claim": "sub", "prefix": "sso:"}, groups={"claim": "groups", "prefix": "sso:"}
    )
    config = {"apiVersion": CONFIG, "kind": "AuthenticationConfiguration", "jwt": [authenticator]}
    (tmp_path / "authentication.json").write_text(json.dumps(config))
    async with live(tmp_path, authentication_config=tmp_path / "authentication.json") as running:
        await eventually_async(lambda: not running.server._identity.authenticators.problem)
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "viewers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "sso:dev"}],
        }
        await running.ask("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        stored = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seen"}}
        await running.ask("POST", "/api/v1/namespaces/default/configmaps", stored)
        user = PluginUser(running, tmp_path)
        user.token.write_text(issuer.token(groups=["dev"]))
        listed = await user.kubectl("get", "configmaps", "-o", "name")
        assert (listed.code, listed.err) == (0, "")
        assert "configmap/seen" in listed.out.split()
        assert user.calls.read_text()
        refused = await user.kubectl("create", "configmap", "x")
        assert refused.code == 1
        assert 'User "sso:jane" cannot create resource "configmaps"' in refused.err
        for invalid in (issuer.token(exp=1), issuer.token(aud="other"), issuer.token(key=new_key())):
            user.token.write_text(invalid)
            rejected = await user.kubectl("get", "configmaps")
            assert rejected.code == 1
            assert "You must be logged in to the server" in rejected.err
