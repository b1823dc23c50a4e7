"""kubectl creates and describes roles and bindings."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kubectl import Kubectl

RECONCILED = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules:
- {verbs: [get, watch], apiGroups: [""], resources: [services]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers, namespace: default}
roleRef: {kind: Role, name: reader, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: User, name: zoe, apiGroup: rbac.authorization.k8s.io}]
"""


@pytest.fixture
def made(kubectl: Kubectl) -> Iterator[Kubectl]:
    kubectl("create", "role", "reader", "--verb=get,list", "--resource=services")
    kubectl("create", "rolebinding", "readers", "--role=reader", "--user=ann", "--serviceaccount=default:robot")
    yield kubectl
    kubectl("delete", "role/reader", "rolebinding/readers")


def test_create_and_describe_roles(made: Kubectl) -> None:
    assert ["services", "[]", "[]", "[get", "list]"] in [
        row.split() for row in made("describe", "role/reader").out.splitlines()
    ]
    described = made("describe", "rolebinding/readers").out
    assert "ServiceAccount  robot  default" in described
    header, row = made("get", "rolebindings", "readers", "-o", "wide").out.splitlines()
    assert header.split() == ["NAME", "ROLE", "AGE", "USERS", "GROUPS", "SERVICEACCOUNTS"]
    assert [*row.split()[:2], *row.split()[3:]] == ["readers", "Role/reader", "ann", "default/robot"]


def test_auth_reconcile_adds_missing_rules(made: Kubectl) -> None:
    made("auth", "reconcile", "-f", "-", stdin=RECONCILED)
    rules = made.json("get", "role", "reader")["rules"]
    assert [rule["verbs"] for rule in rules] == [["get", "list"], ["watch"]]
    subjects = made.json("get", "rolebinding", "readers")["subjects"]
    assert [subject["name"] for subject in subjects] == ["ann", "robot", "zoe"]


def test_create_bind_and_explain_cluster_roles(kubectl: Kubectl) -> None:
    kubectl("create", "clusterrole", "walker", "--verb=get", "--non-resource-url=/healthz/*")
    kubectl("create", "clusterrole", "walkers", "--aggregation-rule=walks=far")
    kubectl("create", "clusterrolebinding", "walker", "--clusterrole=walker", "--group=feet")
    assert "/healthz/*" in kubectl("describe", "clusterrole", "walker").out
    assert "clusterRoleSelectors" in kubectl("explain", "clusterrole.aggregationRule").out
    kubectl("delete", "clusterrole/walker", "clusterrole/walkers", "clusterrolebinding/walker")
