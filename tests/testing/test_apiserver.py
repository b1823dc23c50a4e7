"""The ApiServer of a test: apply, get, wait and roll back."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from polykind.testing import ApiServer, Refused, Unmet
from tests.support.kubectl import Kubectl
from tests.support.kubernetes_client import client, config
from tests.testing.crontabs import COLLECTION, DEFINITION, GROUP, crontab

pytestmark = pytest.mark.polykind(crds=[DEFINITION])


@contextmanager
def connection(server: ApiServer) -> Iterator[http.client.HTTPSConnection]:
    tls = ssl.create_default_context(cafile=str(server.ca))
    out = http.client.HTTPSConnection(server.url.removeprefix("https://"), context=tls, timeout=20)
    yield out
    out.close()


@pytest.mark.parametrize("turn", [1, 2])
def test_objects_do_not_leak_into_the_next_test(polykind: ApiServer, turn: int) -> None:
    with pytest.raises(Refused, match='"mine" not found'):
        polykind.get(crontab())
    [applied] = polykind.apply(crontab())
    assert polykind.get(applied) == applied


def test_tests_have_their_own_address_and_token(polykind: ApiServer, polykind_server: ApiServer) -> None:
    assert polykind.url != polykind_server.url
    with connection(polykind) as line:
        line.request("GET", COLLECTION, headers={"Authorization": f"Bearer {polykind_server.token}"})
        assert line.getresponse().status == 401


def test_clients_find_this_server(polykind: ApiServer, tmp_path: Path) -> None:
    assert os.environ["KUBECONFIG"] == str(polykind.kubeconfig)
    polykind.apply(crontab())
    with config.new_client_from_config() as api:
        listed = client.CustomObjectsApi(api).list_namespaced_custom_object(GROUP, "v1", "default", "crontabs")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["mine"]
    kubectl = Kubectl(polykind.kubeconfig, tmp_path)
    assert kubectl("get", "crontabs", "-o", "name").out == f"crontab.{GROUP}/mine\n"


def test_crds_are_served_when_apply_returns(polykind: ApiServer) -> None:
    other = json.loads(json.dumps(DEFINITION).replace("crontabs", "jobs").replace("CronTab", "Job"))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    job = {**crontab(namespace="team"), "kind": "Job"}
    applied = polykind.apply(job, other, namespace)
    assert [obj["kind"] for obj in applied] == ["CustomResourceDefinition", "Namespace", "Job"]
    assert polykind.get(job)["metadata"]["namespace"] == "team"


def test_apply_updates_an_object(polykind: ApiServer) -> None:
    [before] = polykind.apply(crontab())
    [after] = polykind.apply(crontab(schedule="@hourly"))
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert polykind.get(after)["spec"] == {"cronSpec": "@hourly"}
    [exported] = polykind.apply(before)
    assert exported["spec"] == {"cronSpec": "@daily"}


def test_generate_name_is_supported(polykind: ApiServer) -> None:
    unnamed = crontab()
    unnamed["metadata"] = {"generateName": "tab-"}
    first, second = polykind.apply(unnamed, unnamed)
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_rejection_has_the_servers_message(polykind: ApiServer) -> None:
    with pytest.raises(Refused) as refused:
        polykind.apply(crontab(schedule=""))
    assert refused.value.status == 422
    assert str(refused.value) == (
        'CronTab mine was not applied: CronTab.stable.example.com "mine" is invalid: spec.cronSpec: '
        'Invalid value: "": spec.cronSpec in body should be at least 1 chars long'
    )


def test_unknown_fields_are_rejected(polykind: ApiServer) -> None:
    with pytest.raises(Refused, match="cronspec"):
        polykind.apply({**crontab(), "spec": {"cronspec": "@daily"}})


def test_unserved_kind_is_rejected_with_advice(polykind: ApiServer) -> None:
    lamp = {"apiVersion": "v1", "kind": "Lamp", "metadata": {"name": "l"}}
    message = "this server does not serve Lamp of v1: apply its CustomResourceDefinition first"
    with pytest.raises(Refused, match=message):
        polykind.apply(lamp)


def test_rollback_restores_everything(polykind: ApiServer) -> None:
    [kept] = polykind.apply(crontab("kept"))
    checkpoint = polykind.checkpoint()
    url, token = polykind.url, polykind.token
    polykind.apply(crontab("later"), crontab("kept", "@hourly"))
    polykind.rollback(checkpoint)
    assert (polykind.url, polykind.token) == (url, token)
    assert polykind.get(kept) == kept
    with pytest.raises(Refused) as gone:
        polykind.get(crontab("later"))
    assert gone.value.status == 404


def test_rollback_without_checkpoint_restores_the_start(polykind: ApiServer) -> None:
    polykind.apply(crontab())
    polykind.rollback()
    with pytest.raises(Refused):
        polykind.get(crontab())


def test_rollback_to_checkpoints_in_any_order(polykind: ApiServer) -> None:
    polykind.apply(crontab(schedule="one"))
    one = polykind.checkpoint()
    polykind.apply(crontab(schedule="two"))
    two = polykind.checkpoint()
    for checkpoint, schedule in ((one, "one"), (two, "two"), (one, "one")):
        polykind.rollback(checkpoint)
        assert polykind.get(crontab())["spec"]["cronSpec"] == schedule


def test_revisions_continue_after_a_rollback(polykind: ApiServer) -> None:
    polykind.checkpoint()
    [undone] = polykind.apply(crontab())
    polykind.rollback()
    revision = undone["metadata"]["resourceVersion"]
    with connection(polykind) as line:
        path = f"{COLLECTION}?watch=1&resourceVersion={revision}"
        line.request("GET", path, headers={"Authorization": f"Bearer {polykind.token}"})
        event = json.loads(line.getresponse().readline())
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    [again] = polykind.apply(crontab())
    assert int(again["metadata"]["resourceVersion"]) > int(revision)
    assert again["metadata"]["uid"] != undone["metadata"]["uid"]


def test_watch_ends_cleanly_at_a_rollback(polykind: ApiServer) -> None:
    with connection(polykind) as line:
        line.request("GET", f"{COLLECTION}?watch=1", headers={"Authorization": f"Bearer {polykind.token}"})
        watch = line.getresponse()
        polykind.apply(crontab())
        assert json.loads(watch.readline())["type"] == "ADDED"
        polykind.rollback()
        # http.client raises IncompleteRead unless the last chunk arrives.
        assert watch.read() == b""


def test_idle_clients_do_not_delay_a_rollback(polykind: ApiServer) -> None:
    with connection(polykind) as line:
        line.request("GET", "/version", headers={"Authorization": f"Bearer {polykind.token}"})
        line.getresponse().read()
        began = time.monotonic()
        polykind.rollback()
        assert time.monotonic() - began < 1


def test_wait_for_conditions(polykind: ApiServer) -> None:
    def work() -> None:
        polykind.apply(crontab())
        polykind.wait_for(crontab(), "create")
        polykind.apply(crontab(schedule="@hourly"))

    worker = threading.Thread(target=work)
    worker.start()
    found = polykind.wait_for(crontab(), lambda obj: obj["spec"]["cronSpec"] == "@hourly")
    worker.join()
    assert found["spec"] == {"cronSpec": "@hourly"}


def test_wait_survives_a_rollback(polykind: ApiServer) -> None:
    polykind.apply(crontab())
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.append(polykind.wait_for(crontab(), "delete")))
    waiting.start()
    polykind.rollback()
    waiting.join(20)
    assert len(found) == 1


def test_unmet_condition_shows_the_last_state(polykind: ApiServer) -> None:
    polykind.apply(crontab())
    with pytest.raises(Unmet) as unmet:
        polykind.wait_for(crontab(), "condition=Ready", timeout=0.05)
    told = str(unmet.value)
    assert told.startswith(
        "CronTab mine of stable.example.com/v1 did not meet the condition condition=Ready within 0.05 s: "
        "it has no condition Ready\nlast state:\n{"
    )
    assert '"cronSpec": "@daily"' in told
    with pytest.raises(Unmet, match=r"within 0\.05 s: KeyError: 'status'"):
        polykind.wait_for(crontab(), lambda obj: obj["status"], timeout=0.05)
    with pytest.raises(Unmet, match=r"did not meet the condition create within 0\.05 s: it does not exist"):
        polykind.wait_for(crontab("other"), "create", timeout=0.05)


async def test_async_test_continues_while_waiting(polykind: ApiServer) -> None:
    waiting = asyncio.create_task(asyncio.to_thread(polykind.wait_for, crontab(), "create"))
    await asyncio.to_thread(polykind.apply, crontab())
    assert (await waiting)["metadata"]["name"] == "mine"


@pytest.mark.polykind(authorization_mode="RBAC", request_timeout=5)
def test_settings_are_server_flags(polykind: ApiServer) -> None:
    polykind.apply(crontab())
    with connection(polykind) as line:
        line.request("GET", COLLECTION)
        assert line.getresponse().status == 403


def test_converter_without_converters_raises(polykind: ApiServer) -> None:
    with pytest.raises(Refused, match="this server has no converter: set `polykind_converters`"):
        polykind.converter.down()
