from __future__ import annotations

from typing import Any

import pytest

from polykind.apis.apps.types import STATEFUL_SET
from polykind.contract import JsonObject
from tests.support.strategies import StrategyRun, merged

STATEFUL_SETS = StrategyRun(STATEFUL_SET)
CLAIM: JsonObject = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}
MOUNTED = {"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
SPEC: JsonObject = {
    "selector": {"matchLabels": {"app": "a"}},
    "template": {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
}
IMMUTABLE = (
    "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' "
    "are forbidden"
)


def spec(**fields: Any) -> JsonObject:
    return {"spec": merged(SPEC, fields)}


def test_defaults() -> None:
    stored = STATEFUL_SETS.created(spec(volumeClaimTemplates=[CLAIM]))["spec"]
    assert stored["podManagementPolicy"] == "OrderedReady"
    assert stored["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert stored["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Retain", "whenScaled": "Retain"}
    (claim,) = stored["volumeClaimTemplates"]
    assert (claim["apiVersion"], claim["kind"]) == ("v1", "PersistentVolumeClaim")
    assert claim["spec"]["volumeMode"] == "Filesystem"
    assert claim["status"] == {"phase": "Pending"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"template": {"spec": {"containers": [MOUNTED]}}, "volumeClaimTemplates": [CLAIM]}, []),
        ({"template": {"spec": {"subdomain": "Not Valid", "hostname": "Not Valid"}}}, []),
        (
            {"podManagementPolicy": "Odd"},
            ["spec.podManagementPolicy: Invalid value: \"Odd\": must be 'OrderedReady' or 'Parallel'"],
        ),
        (
            {"updateStrategy": {"type": "OnDelete", "rollingUpdate": {"partition": 1}}},
            [
                'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: '
                "only allowed for updateStrategy 'RollingUpdate'"
            ],
        ),
        (
            {"updateStrategy": {"type": "Odd"}},
            [
                'spec.updateStrategy: Invalid value: {"Type":"Odd","RollingUpdate":null}: '
                "must be 'RollingUpdate' or 'OnDelete'"
            ],
        ),
        (
            {"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Odd"}},
            [
                'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Odd": '
                'supported values: "Retain", "Delete"'
            ],
        ),
        (
            {"volumeClaimTemplates": [merged(CLAIM, {"spec": {"accessModes": None}})]},
            ["spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required"],
        ),
        ({"ordinals": {"start": -1}}, ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"]),
        ({"serviceName": "a.b"}, ['spec.serviceName: Invalid value: "a.b": must not contain dots']),
        (
            {"selector": {"matchLabels": {"app": "-"}}},
            ["spec.selector.matchLabels", 'spec.selector: Invalid value: {"matchLabels":{"app":"-"}}'],
        ),
    ],
)
def test_new_stateful_set(fields: JsonObject, expected: list[str]) -> None:
    found = STATEFUL_SETS.create_errors(spec(**fields))
    assert len(found) == len(expected), found
    assert all(message.startswith(start) for message, start in zip(found, expected, strict=True)), found


def test_name_is_a_dns_label() -> None:
    assert STATEFUL_SETS.create_errors({**spec(), "metadata": {"name": "a.b"}}) == [
        'metadata.name: Invalid value: "a.b": must not contain dots'
    ]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"replicas": 3, "minReadySeconds": 1, "ordinals": {"start": 1}, "revisionHistoryLimit": 1}, []),
        ({"template": {"spec": {"containers": [{"name": "d", "image": "j"}]}}}, []),
        ({"serviceName": "other"}, [IMMUTABLE]),
        ({"volumeClaimTemplates": [merged(CLAIM, {"metadata": {"name": "b"}})]}, [IMMUTABLE]),
        ({"podManagementPolicy": "Parallel"}, [IMMUTABLE]),
    ],
)
def test_update(change: JsonObject, expected: list[str]) -> None:
    stored = STATEFUL_SETS.created(spec(volumeClaimTemplates=[CLAIM]))
    assert STATEFUL_SETS.update_errors(stored, {"spec": change}) == expected


def test_disabled_field_is_dropped() -> None:
    fields = {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}
    stored = STATEFUL_SETS.created(spec(**fields))
    assert stored["spec"]["updateStrategy"]["rollingUpdate"] == {"partition": 0}
    assert STATEFUL_SETS.updated(stored, {"spec": fields})["metadata"]["generation"] == 1


def test_status() -> None:
    stored = STATEFUL_SETS.created(spec())
    assert STATEFUL_SETS.status_errors(stored, {"replicas": 1, "availableReplicas": 1}) == [
        "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas"
    ]


def test_warnings() -> None:
    fractional = merged(CLAIM, {"spec": {"resources": {"requests": {"storage": "1500m"}}}})
    stored = STATEFUL_SETS.created(spec(volumeClaimTemplates=[fractional], revisionHistoryLimit=-1))
    limit = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    fraction = '.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer'
    assert STATEFUL_SETS.strategy.warnings(stored, None) == [f"spec.volumeClaimTemplates[0]{fraction}", limit]
    assert STATEFUL_SETS.strategy.warnings(stored, stored) == [f"spec.volumeClaimTemplates[0].Spec{fraction}", limit]
