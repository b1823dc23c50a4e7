"""A kopf operator works unchanged: it receives changes, writes the status, records Events and holds finalizers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException

from tests.support.crontabs import crontab, definition
from tests.support.kubernetes_client import client, config
from tests.support.server import ServerProcess

DEADLINE_SECONDS = 40


@pytest.fixture
def objects(server: ServerProcess, group: str) -> Iterator[Any]:
    with config.new_client_from_config(str(server.kubeconfig)) as api:
        extensions = client.ApiextensionsV1Api(api)
        extensions.create_custom_resource_definition(definition(group))
        yield client.CustomObjectsApi(api)
        extensions.delete_custom_resource_definition(f"crontabs.{group}")


@pytest.fixture
def operator(server: ServerProcess, group: str, objects: Any, tmp_path: Path) -> Iterator[Path]:
    """Run the operator in a process of its own and return the path of its log."""
    log = tmp_path / "kopf.log"
    env = os.environ | {"KUBECONFIG": str(server.kubeconfig), "CRONTAB_GROUP": group}
    script = str(Path(__file__).with_name("operator_kopf.py"))
    with log.open("wb") as out:
        command = [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace=default", script]
        process = subprocess.Popen(command, env=env, stdout=out, stderr=subprocess.STDOUT)
    yield log
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def eventually(look: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not look():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


@pytest.mark.timeout(150)
def test_operator_handles_objects_from_creation_to_deletion(objects: Any, operator: Path, group: str) -> None:
    tabs = {"group": group, "version": "v1", "namespace": "default", "plural": "crontabs"}

    def read() -> dict[str, Any]:
        found: dict[str, Any] = objects.get_namespaced_custom_object(**tabs, name="my-crontab")
        return found

    def reported() -> int:
        return int(read().get("status", {}).get("replicas", -1))

    def recorded(uid: str) -> list[tuple[str, str]]:
        """Return the reasons and messages of the object's Events."""
        events = client.CoreV1Api(objects.api_client)
        found = events.list_namespaced_event("default", field_selector=f"involvedObject.uid={uid}").items
        return [(event.reason, event.message) for event in found]

    def gone() -> bool:
        try:
            read()
        except ApiException as error:
            return bool(error.status == 404)
        return False

    def make() -> bool:
        try:
            objects.create_namespaced_custom_object(**tabs, body=crontab(group, replicas=2))
        except ApiException as error:
            return bool(error.status == 409)
        return True

    eventually(make, operator)
    eventually(lambda: reported() == 2, operator)
    assert f"{group}/hold" in read()["metadata"]["finalizers"]
    objects.patch_namespaced_custom_object(**tabs, name="my-crontab", body={"spec": {"replicas": 5}})
    eventually(lambda: reported() == 5, operator)
    changed = read()["metadata"]
    assert changed["generation"] >= 2
    eventually(lambda: recorded(changed["uid"]) == [("Scaled", "Scaled to 5")], operator)
    objects.delete_namespaced_custom_object(**tabs, name="my-crontab")
    eventually(gone, operator)
    assert "goodbye my-crontab" in operator.read_text()
