"""A client that writes all the time, to see what an operation interrupts and whether it loses a write."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from tests.support.server import trusting

COLLECTION = "/api/v1/namespaces/default/configmaps"


class Writer:
    """Creates ConfigMaps one after the other in a thread. After a failure it reads its kubeconfigs again and retries.

    `kubeconfigs` are those of the replicas. The writer uses the first that works.
    """

    def __init__(self, *kubeconfigs: Path, name: str = "written") -> None:
        self._kubeconfigs, self._name = list(kubeconfigs), name
        self.acknowledged: list[str] = []
        self.failures = 0
        self.longest_pause = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        self.progress(5)
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join()

    def progress(self, writes: int = 20) -> list[str]:
        """Wait until more writes are acknowledged. Return all that were acknowledged when this method was called."""
        before, deadline = list(self.acknowledged), time.monotonic() + 60
        while len(self.acknowledged) < len(before) + writes:
            assert time.monotonic() < deadline, "no write was acknowledged for a minute"
            time.sleep(0.01)
        return before

    def _run(self) -> None:
        last = time.monotonic()
        connection: http.client.HTTPSConnection | None = None
        token = ""
        while not self._stopping.is_set():
            name = f"{self._name}-{len(self.acknowledged)}"
            body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
            try:
                if connection is None:
                    connection, token = connect(self._kubeconfigs[0])
                status = request(connection, token, "POST", COLLECTION, body)[0]
            except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
                status = 0
            # A create whose response was lost is found by its retry.
            if status in (201, 409):
                now = time.monotonic()
                self.acknowledged.append(name)
                self.longest_pause, last = max(self.longest_pause, now - last), now
                continue
            self.failures += 1
            if connection is not None:
                connection.close()
                connection = None
            self._kubeconfigs.append(self._kubeconfigs.pop(0))
            time.sleep(0.02)
        if connection is not None:
            connection.close()


def connect(kubeconfig: Path) -> tuple[http.client.HTTPSConnection, str]:
    config = yaml.safe_load(kubeconfig.read_text())
    server = config["clusters"][0]["cluster"]["server"].removeprefix("https://")
    return http.client.HTTPSConnection(server, timeout=5, context=trusting()), config["users"][0]["user"]["token"]


def request(
    connection: http.client.HTTPSConnection, token: str, method: str, path: str, body: str = ""
) -> tuple[int, bytes]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request(method, path, body, headers)
    response = connection.getresponse()
    return response.status, response.read()


def stored(kubeconfig: Path) -> set[str]:
    """Return the names of the stored ConfigMaps."""
    connection, token = connect(kubeconfig)
    status, body = request(connection, token, "GET", COLLECTION)
    connection.close()
    assert status == 200, body
    return {item["metadata"]["name"] for item in json.loads(body)["items"]}


def eventually(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.02)


def missing(names: Sequence[str], kubeconfig: Path) -> list[str]:
    """Return those names that are not stored. Names that are acknowledged meanwhile do not count."""
    expected = list(names)
    found = stored(kubeconfig)
    return [name for name in expected if name not in found]
