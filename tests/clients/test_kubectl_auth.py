"""kubectl auth whoami and kubectl auth can-i."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess


def test_whoami_prints_the_user_of_the_kubeconfig(kubectl: Kubectl) -> None:
    if kubectl.minor() < 28:
        pytest.skip("this kubectl cannot ask who it is by the version that is served")
    assert kubectl("auth", "whoami").rows == [
        ["ATTRIBUTE", "VALUE"],
        ["Username", "admin"],
        ["UID", "admin"],
        ["Groups", "[system:masters system:authenticated]"],
    ]


def test_can_i_allows_everything_without_rbac(kubectl: Kubectl, crontabs: str) -> None:
    assert kubectl("auth", "can-i", "create", crontabs).out == "yes\n"
    assert kubectl("auth", "can-i", "get", "/metrics").out == "yes\n"
    header, *rows = kubectl("auth", "can-i", "--list").rows
    assert header == ["Resources", "Non-Resource URLs", "Resource Names", "Verbs"]
    assert ["*.*", "[]", "[]", "[*]"] in rows


def test_explain_describes_reviews(kubectl: Kubectl) -> None:
    assert "audiences" in kubectl("explain", "tokenreview.spec").out
    assert "nonResourceAttributes" in kubectl("explain", "selfsubjectaccessreview.spec").out


@pytest.fixture(scope="module")
def by_roles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with RBAC authorization."""
    server = ServerProcess(tmp_path_factory.mktemp("roles") / "data", "--authorization-mode=RBAC")
    server.start()
    yield server
    server.stop()


def test_bound_user_has_the_permissions_of_the_role(by_roles: ServerProcess, tmp_path: Path) -> None:
    kubectl = Kubectl(by_roles.kubeconfig, tmp_path)
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=services")
    kubectl("create", "rolebinding", "reading", "--role=reader", "--user=ann", "--group=makers")
    for who in (("--as=ann",), ("--as=eve", "--as-group=makers")):
        assert kubectl("auth", "can-i", "list", "services", *who).out == "yes\n"
        assert kubectl("get", "services", *who).code == 0
    assert kubectl("auth", "can-i", "list", "services", "--as=eve", check=False).out == "no\n"
    refused = kubectl("get", "services", "--as=eve", check=False)
    assert refused.err == (
        'Error from server (Forbidden): services is forbidden: User "eve" cannot list resource "services" '
        'in API group "" in the namespace "default"\n'
    )


def test_can_i_list_prints_the_rules_of_a_role(by_roles: ServerProcess, tmp_path: Path) -> None:
    kubectl = Kubectl(by_roles.kubeconfig, tmp_path)
    kubectl("create", "clusterrole", "minder", "--verb=get", "--resource=services", "--resource-name=one")
    kubectl("create", "clusterrolebinding", "minding", "--clusterrole=minder", "--serviceaccount=default:robot")
    rows = kubectl("auth", "can-i", "--list", "--as=system:serviceaccount:default:robot").rows
    assert ["services", "[]", "[one]", "[get]"] in rows
