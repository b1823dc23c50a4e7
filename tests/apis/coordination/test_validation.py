"""Validation of Leases, with kube-apiserver's messages."""

from __future__ import annotations

import pytest

from polykind.apis.coordination.types import LEASE
from polykind.apis.coordination.validation import validate_lease_spec
from polykind.contract import JsonObject
from polykind.strategies.coordination.strategy import LeaseStrategy
from tests.support.objects import texts


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"leaseDurationSeconds": 1, "leaseTransitions": 0, "strategy": "example.com/s", "preferredHolder": "h"}, None),
        ({"leaseDurationSeconds": 0}, "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"),
        ({"leaseTransitions": -1}, "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"),
        ({"preferredHolder": "h"}, "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"),
        (
            {"strategy": "X"},
            'spec.strategy.strategy: Unsupported value: "X": supported values: "OldestEmulationVersion"',
        ),
    ],
)
def test_leases(spec: JsonObject, message: str | None) -> None:
    assert texts(validate_lease_spec(spec)) == ([message] if message else [])


def test_fields_of_coordinated_leader_election_are_dropped_unless_the_old_lease_has_them() -> None:
    strategy = LeaseStrategy(LEASE)
    new = {"spec": {"holderIdentity": "h", "strategy": "s", "preferredHolder": "p"}}
    strategy.prepare_update(new, {"spec": {"strategy": "s"}})
    assert new["spec"] == {"holderIdentity": "h", "strategy": "s"}
    strategy.prepare_create(new)
    assert new["spec"] == {"holderIdentity": "h"}
