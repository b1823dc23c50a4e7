from __future__ import annotations

from typing import Any

import pytest

from polykind.audit.audit_policy import METADATA, NONE, AuditPolicy
from polykind.auth.authorizer import Access
from polykind.auth.user import User

ALICE = User("alice", groups=("dev",))
POD = Access(ALICE, "get", "", "v1", "pods", "", "default", "p")
LOG = Access(ALICE, "get", "", "v1", "pods", "log", "default", "p")
HEALTH = Access(ALICE, "get", path="/healthz/ping")


@pytest.mark.parametrize(
    ("rule", "access", "matches"),
    [
        ({}, POD, True),
        ({"users": ["alice"]}, POD, True),
        ({"users": ["bob"]}, POD, False),
        ({"userGroups": ["dev", "ops"]}, POD, True),
        ({"userGroups": ["ops"]}, POD, False),
        ({"verbs": ["list"]}, POD, False),
        ({"namespaces": ["default"]}, POD, True),
        ({"namespaces": [""]}, POD, False),
        ({"namespaces": [""]}, HEALTH, False),
        ({"resources": [{"group": "", "resources": ["pods"]}]}, POD, True),
        ({"resources": [{"group": "", "resources": ["pods"]}]}, LOG, False),
        ({"resources": [{"group": "", "resources": ["pods/log"]}]}, LOG, True),
        ({"resources": [{"group": "", "resources": ["pods/*"]}]}, LOG, True),
        ({"resources": [{"group": "", "resources": ["*/log"]}]}, LOG, True),
        ({"resources": [{"group": "", "resources": ["*/log"]}]}, POD, False),
        ({"resources": [{"group": "*", "resources": ["*"]}]}, LOG, True),
        ({"resources": [{"group": "apps"}]}, POD, False),
        ({"resources": [{"group": ""}]}, LOG, True),
        ({"resources": [{"group": "", "resources": ["pods"], "resourceNames": ["q"]}]}, POD, False),
        ({"nonResourceURLs": ["/healthz*"]}, HEALTH, True),
        ({"nonResourceURLs": ["/healthz"]}, HEALTH, False),
        ({"nonResourceURLs": ["*"]}, HEALTH, True),
        ({"nonResourceURLs": ["*"]}, POD, False),
    ],
)
def test_rules(rule: dict[str, Any], access: Access, matches: bool) -> None:
    policy = AuditPolicy({"rules": [{"level": "Metadata", **rule}]})
    assert policy.config(access, ALICE).level == (METADATA if matches else NONE)


def test_first_match_wins_and_stages_are_united() -> None:
    first = {"level": "None", "users": ["alice"]}
    second = {"level": "Metadata", "omitStages": ["Panic"], "omitManagedFields": False}
    policy = AuditPolicy({"rules": [first, second], "omitStages": ["RequestReceived"], "omitManagedFields": True})
    assert policy.config(POD, ALICE).level == NONE
    config = policy.config(POD, None)
    assert (config.level, config.omits_managed_fields) == (METADATA, False)
    assert config.omitted_stages == {"Panic", "RequestReceived"}
