"""The operator against a real API server; each test has one of its own, and KUBECONFIG leads to it."""

from __future__ import annotations

from collections.abc import Iterator
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


@pytest.fixture
def operator(polykind: ApiServer) -> Iterator[None]:
    with KopfRunner(["run", "--standalone", "--namespace=default", "crontab_operator.py"], timeout=20):
        yield


@pytest.mark.usefixtures("operator")
def test_replicas_are_reported(polykind: ApiServer) -> None:
    [crontab] = polykind.apply(CRONTAB)
    polykind.wait_for(crontab, "condition=Ready")

    polykind.apply({**CRONTAB, "spec": {"cronSpec": "* * * * */5", "replicas": 5}})
    polykind.wait_for(crontab, lambda obj: obj["status"]["replicas"] == 5)


@pytest.mark.usefixtures("operator")
def test_the_operator_recovers_when_its_converter_does(polykind: ApiServer) -> None:
    with polykind.converter.down():
        # Stored as v1: this needs no converter. The operator reads v2: it does.
        [crontab] = polykind.apply(CRONTAB)
        with pytest.raises(Refused, match=r"conversion webhook for .* failed"):
            polykind.get(crontab, version="v2")
    polykind.wait_for(crontab, "condition=Ready")


def test_a_crontab_is_the_same_at_both_versions(polykind: ApiServer) -> None:
    [crontab] = polykind.apply(CRONTAB)
    assert crontab["spec"] == {"cronSpec": "* * * * */5", "replicas": 2}
    assert polykind.get(crontab, version="v2")["spec"] == {"schedule": "* * * * */5", "replicas": 2}
