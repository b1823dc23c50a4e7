"""The operator against a real API server; each test has one of its own, and KUBECONFIG leads to it."""

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


def test_what_was_written_while_the_converter_was_down_is_seen_to_afterwards(polykind: ApiServer) -> None:
    # A kopf operator ends when its watch tells of an object that cannot be converted, and is started again by its pod.
    with polykind.converter.down():
        # Stored as v1: this needs no converter. The operator reads v2: it does.
        [crontab] = polykind.apply(CRONTAB)
        with pytest.raises(Refused, match=r"conversion webhook for .* failed"):
            polykind.get(crontab, version="v2")
    with operator():
        polykind.wait_for(crontab, "condition=Ready")


def test_a_crontab_is_the_same_at_both_versions(polykind: ApiServer) -> None:
    [crontab] = polykind.apply(CRONTAB)
    assert crontab["spec"] == {"cronSpec": "* * * * */5", "replicas": 2}
    assert polykind.get(crontab, version="v2")["spec"] == {"schedule": "* * * * */5", "replicas": 2}
