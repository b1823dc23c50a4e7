"""Tests of the operator with a real API server. Each test has its own server, and KUBECONFIG points to it."""

from __future__ import annotations

from typing import Any

import pytest
from kopf.testing import KopfRunner

from polykind.testing import ApiServer, Refused

CRONTAB: dict[str, Any] = {
    "apiVersion": "stable.example.com/v1",
    "kind": "CronTab",
    "metadata": {"name": "my-crontab"},
    "spec": {"cronSpec": "* * * * */5", "replicas": 2},
}


def operator() -> KopfRunner:
    return KopfRunner(["run", "--standalone", "--namespace=default", "crontab_operator.py"], timeout=20)


def test_replicas_are_reported(polykind: ApiServer) -> None:
    with operator():
        [crontab] = polykind.apply(CRONTAB)
        polykind.wait_for(crontab, "condition=Ready")

        polykind.apply({**CRONTAB, "spec": {"cronSpec": "* * * * */5", "replicas": 5}})
        polykind.wait_for(crontab, lambda obj: obj["status"]["replicas"] == 5)


def test_operator_catches_up_after_a_converter_outage(polykind: ApiServer) -> None:
    # A kopf operator exits if its watch reports an object that cannot be converted; in a cluster its pod restarts it.
    with polykind.converter.down():
        # Storing at v1 needs no converter, but the operator reads v2, which needs one.
        [crontab] = polykind.apply(CRONTAB)
        with pytest.raises(Refused, match=r"conversion webhook for .* failed"):
            polykind.get(crontab, version="v2")
    with operator():
        polykind.wait_for(crontab, "condition=Ready")


def test_crontab_is_the_same_at_both_versions(polykind: ApiServer) -> None:
    [crontab] = polykind.apply(CRONTAB)
    assert crontab["spec"] == {"cronSpec": "* * * * */5", "replicas": 2}
    assert polykind.get(crontab, version="v2")["spec"] == {"schedule": "* * * * */5", "replicas": 2}
