"""kubectl asking who it is and what it may do."""

from __future__ import annotations

import pytest

from tests.support.kubectl import Kubectl


def test_whoami_tells_the_user_of_the_kubeconfig(kubectl: Kubectl) -> None:
    if kubectl.minor() < 28:
        pytest.skip("this kubectl cannot ask who it is by the version that is served")
    assert kubectl("auth", "whoami").rows == [
        ["ATTRIBUTE", "VALUE"],
        ["Username", "admin"],
        ["UID", "admin"],
        ["Groups", "[system:masters system:authenticated]"],
    ]


def test_everything_is_allowed(kubectl: Kubectl, crontabs: str) -> None:
    assert kubectl("auth", "can-i", "create", crontabs).out == "yes\n"
    assert kubectl("auth", "can-i", "get", "/metrics").out == "yes\n"
    header, *rows = kubectl("auth", "can-i", "--list").rows
    assert header == ["Resources", "Non-Resource URLs", "Resource Names", "Verbs"]
    assert ["*.*", "[]", "[]", "[*]"] in rows


def test_reviews_are_explained(kubectl: Kubectl) -> None:
    assert "audiences" in kubectl("explain", "tokenreview.spec").out
    assert "nonResourceAttributes" in kubectl("explain", "selfsubjectaccessreview.spec").out
