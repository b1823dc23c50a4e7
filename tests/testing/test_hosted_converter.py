"""The converter beside the server: registration and fault injection."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from polykind.testing import ApiServer, Factory, Refused
from tests.support.waiting import eventually
from tests.testing.crontabs import DEFINITION, crontab, crontabs

pytestmark = pytest.mark.polykind(crds=[DEFINITION], converters=[crontabs])

WAY = "conversion webhook for stable.example.com/v1, Kind=CronTab failed: "


def test_objects_are_converted(polykind: ApiServer) -> None:
    [applied] = polykind.apply(crontab())
    assert polykind.get(applied, version="v2")["spec"] == {"schedule": "@daily"}


def test_crd_points_to_a_tls_webhook(polykind: ApiServer) -> None:
    conversion = polykind.get(DEFINITION)["spec"]["conversion"]
    assert conversion["strategy"] == "Webhook"
    assert conversion["webhook"]["clientConfig"]["url"] == polykind.converter.url
    assert polykind.converter.url.startswith("https://127.0.0.1:")


def test_down_and_up_again(polykind: ApiServer) -> None:
    [applied] = polykind.apply(crontab())
    assert polykind.get(applied, version="v2")["spec"] == {"schedule": "@daily"}
    polykind.converter.down()
    with pytest.raises(Refused) as refused:
        polykind.get(applied, version="v2")
    assert refused.value.status == 500
    assert WAY in str(refused.value)
    assert "connection refused" in str(refused.value)
    assert polykind.get(applied)["spec"] == {"cronSpec": "@daily"}
    polykind.converter.up()
    assert polykind.get(applied, version="v2")["spec"] == {"schedule": "@daily"}


def test_faults_do_not_leak_into_the_next_test(polykind: ApiServer) -> None:
    assert polykind.converter.faults.active == ()


def test_fail_uses_the_given_message(polykind: ApiServer) -> None:
    [applied] = polykind.apply(crontab())
    with polykind.converter.fail("no such schedule"), pytest.raises(Refused, match=f"{WAY}no such schedule"):
        polykind.get(applied, version="v2")
    assert polykind.get(applied, version="v2")["spec"] == {"schedule": "@daily"}


def test_slow_delays_responses(polykind: ApiServer) -> None:
    [applied] = polykind.apply(crontab())
    polykind.converter.slow(0.2)
    began = time.monotonic()
    polykind.get(applied, version="v2")
    assert time.monotonic() - began >= 0.2


def test_delayed_requests_do_not_block_the_stop(polykind_factory: Factory) -> None:
    with polykind_factory.serve(crds=DEFINITION, converters=[crontabs]) as server:
        [applied] = server.apply(crontab())
        fault = server.converter.slow(600)
        asking = threading.Thread(target=lambda: server.get(applied, version="v2"))
        asking.start()
        eventually(lambda: fault.seen)
        began = time.monotonic()
    assert time.monotonic() - began < 1
    asking.join()


def test_wait_survives_a_converter_outage(polykind: ApiServer) -> None:
    [applied] = polykind.apply(crontab())
    fault = polykind.converter.down()
    at_v2 = {**applied, "apiVersion": "stable.example.com/v2"}
    with pytest.raises(AssertionError, match="reading it failed with 500"):
        polykind.wait_for(at_v2, "create", timeout=0.1)
    fault.clear()
    assert polykind.wait_for(at_v2, "create")["spec"] == {"schedule": "@daily"}


def test_crds_applied_by_a_test_get_the_webhook(polykind: ApiServer) -> None:
    polykind.apply(DEFINITION)
    assert polykind.get(DEFINITION)["spec"]["conversion"]["strategy"] == "Webhook"
    single = json.loads(json.dumps(DEFINITION).replace("crontabs", "jobs").replace("CronTab", "Job"))
    [other] = polykind.apply(single)
    assert other["spec"]["conversion"] == {"strategy": "None"}


def test_v1beta1_crds_get_the_webhook(polykind: ApiServer) -> None:
    versions = [{k: v for k, v in one.items() if k != "subresources"} for one in DEFINITION["spec"]["versions"]]
    spec = {**DEFINITION["spec"], "versions": versions, "preserveUnknownFields": False}
    old = {**DEFINITION, "apiVersion": "apiextensions.k8s.io/v1beta1", "spec": spec}
    [applied] = polykind.apply(old)
    assert "subresources" not in applied["spec"]
    assert applied["spec"]["conversion"]["webhookClientConfig"]["url"] == polykind.converter.url


def test_converters_can_be_named(polykind_factory: Factory) -> None:
    with polykind_factory.serve(crds=DEFINITION, converters="tests.testing.crontabs:crontabs") as server:
        [applied] = server.apply(crontab())
        assert server.get(applied, version="v2")["spec"] == {"schedule": "@daily"}


def test_converters_can_run_in_the_server(polykind_factory: Factory) -> None:
    with polykind_factory.serve(crds=DEFINITION, converter="tests.testing.crontabs:crontabs") as server:
        [applied] = server.apply(crontab())
        assert server.get(applied, version="v2")["spec"] == {"schedule": "@daily"}
        assert server.get(DEFINITION)["spec"]["conversion"] == {"strategy": "None"}


def test_unusable_converters_are_rejected(polykind_factory: Factory, tmp_path: Path) -> None:
    for name, told in (
        ("nowhere:it", "the converter nowhere:it: No module named 'nowhere'"),
        (str(tmp_path / "rules.yaml"), r"the converter .*/rules\.yaml: .*No such file"),
    ):
        with pytest.raises(Refused, match=told), polykind_factory.serve(converters=name):
            pass
