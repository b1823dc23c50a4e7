"""Kubeconfigs of other users, and RBAC."""

from __future__ import annotations

import os

import pytest
from kubernetes.client.exceptions import ApiException

from polykind.testing import ApiServer, Refused
from tests.support.kubernetes_client import client, config
from tests.testing.crontabs import DEFINITION, GROUP, crontab

pytestmark = pytest.mark.polykind(crds=[DEFINITION], authorization_mode="RBAC")

ACCOUNT = "system:serviceaccount:default:my-operator"
TABS = (GROUP, "v1", "default", "crontabs")
ROLES = f"""
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: reader}}
rules: [{{apiGroups: [{GROUP}], resources: [crontabs], verbs: [get, list, watch]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: readers}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}}
subjects: [{{kind: Group, apiGroup: rbac.authorization.k8s.io, name: SUBJECT}}]
"""


@pytest.mark.parametrize(
    ("user", "groups", "subject"),
    [("jane", ["team"], "team"), (ACCOUNT, [], "system:serviceaccounts:default")],
)
def test_user_may_do_what_roles_allow(polykind: ApiServer, user: str, groups: list[str], subject: str) -> None:
    polykind.apply(ROLES.replace("SUBJECT", subject), crontab())
    with polykind.environ(polykind.kubeconfig_for(user, groups)), config.new_client_from_config() as api:
        tabs = client.CustomObjectsApi(api)
        assert len(tabs.list_namespaced_custom_object(*TABS)["items"]) == 1
        with pytest.raises(ApiException) as refused:
            tabs.delete_namespaced_custom_object(*TABS, name="mine")
    assert refused.value.status == 403
    assert f'User \\"{user}\\" cannot delete resource' in str(refused.value.body)
    assert os.environ["KUBECONFIG"] == str(polykind.kubeconfig)


def test_invalid_certificate_names_are_rejected(polykind: ApiServer) -> None:
    for user, groups in (("", []), ("u" * 65, []), ("jane", [""])):
        with pytest.raises(Refused, match="names of users and groups must have 1 to 64 characters"):
            polykind.kubeconfig_for(user, groups)
