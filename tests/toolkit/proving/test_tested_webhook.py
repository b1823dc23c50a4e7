from __future__ import annotations

import base64
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from polykind.toolkit.crd_versions import CRD
from polykind.toolkit.proving.proof_run import ProofRun
from polykind.toolkit.proving.round_trip import ConverterUnavailableError
from polykind.toolkit.proving.tested_webhook import TestedWebhook
from tests.toolkit.crds import crd_manifest
from tests.toolkit.proving.local_webhook import CA, CERTIFICATE, Review, served

NODE_WEBHOOK = Path(__file__).parent / "node_webhook" / "webhook.mjs"
TEXTS = {"type": "array", "items": {"type": "string"}}
RETRIES = {"type": "integer", "minimum": 0, "maximum": 100}
LONG = {"type": "integer", "format": "int64"}
WIDGETS = CRD(
    crd_manifest(
        {"properties": {"size": LONG, "retries": RETRIES, "hosts": TEXTS}},
        {"properties": {"bytes": LONG, "retries": RETRIES, "hostnames": TEXTS}},
    )
)
EQUAL = CRD(crd_manifest(*[{"properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}] * 2))


def webhook(crd: CRD, port: int, **options: Any) -> TestedWebhook:
    bundle = base64.b64encode(CA.cert_pem.bytes()).decode()
    config = {"clientConfig": {"url": f"https://localhost:{port}/convert", "caBundle": bundle}}
    return TestedWebhook(crd, config, **options)


def failed_properties(crd: CRD, converter: TestedWebhook, examples: int = 60) -> dict[str, str]:
    run = ProofRun(crd, converter, examples=examples, clock=time.monotonic)
    out = {}
    for name, pair in run.cases():
        finding = run.finding(name, pair)
        if finding is not None:
            out[name] = finding.message
    converter.close()
    return out


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """Yield a function that starts the webhook in Node with a bug, and returns its port."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("this test needs Node")
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in CERTIFICATE.cert_chain_pems))
    key.write_bytes(CERTIFICATE.private_key_pem.bytes())
    processes = []

    def start(bug: str) -> int:
        process = subprocess.Popen(
            [program, str(NODE_WEBHOOK), str(certificate), str(key), bug], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        processes.append(process)
        assert process.stdout is not None
        return int(process.stdout.readline())

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_correct_webhook_in_node_has_no_findings(node: Callable[[str], int]) -> None:
    assert failed_properties(WIDGETS, webhook(WIDGETS, node("none"))) == {}


@pytest.mark.parametrize("bug", ["falsy-zero", "cache-by-name", "double-precision"])
def test_bugs_of_a_webhook_in_node_are_found(node: Callable[[str], int], bug: str) -> None:
    found = failed_properties(WIDGETS, webhook(WIDGETS, node(bug)))
    assert {"there-and-back", "back-and-there"} & found.keys()


def _another_uid(request: Review, response: Review) -> None:
    response["uid"] = "another"


def _too_few(request: Review, response: Review) -> None:
    response["convertedObjects"].pop()


def _another_order(request: Review, response: Review) -> None:
    response["convertedObjects"].reverse()


def _another_name(request: Review, response: Review) -> None:
    for obj in response["convertedObjects"]:
        obj["metadata"]["name"] = "other"


def _failure(request: Review, response: Review) -> None:
    response["result"] = {"status": "Failure", "message": "the moon is full"}


@pytest.mark.parametrize(
    ("change", "name", "message"),
    [
        (_another_uid, "never-fails", 'expected response.uid="'),
        (_too_few, "never-fails", "returned 0 objects, expected 1"),
        (_another_order, "order-kept", "received"),
        (_another_name, "metadata-kept", "only labels and annotations may change"),
        (_failure, "never-fails", "the moon is full"),
    ],
)
def test_violations_of_the_contract_are_reported(change: Any, name: str, message: str) -> None:
    with served(change) as port:
        found = failed_properties(EQUAL, webhook(EQUAL, port), examples=4)
    assert message in found[name]


def test_objects_travel_in_batches() -> None:
    converted = []

    def count(request: Review, response: Review) -> None:
        converted.append(len(request["objects"]))

    with served(count) as port:
        converter = webhook(EQUAL, port)
        assert failed_properties(EQUAL, converter, examples=30) == {}
    assert sum(converted) > 5 * len(converted)
    assert converter.calls == len(converted)


def test_webhook_that_never_responds_ends_the_run() -> None:
    forever = threading.Event()

    def hang(request: Review, response: Review) -> None:
        forever.wait()

    with served(hang) as port:
        try:
            with pytest.raises(ConverterUnavailableError, match=r"cannot be called: no response within 0\.2 seconds"):
                failed_properties(EQUAL, webhook(EQUAL, port, seconds=0.2))
        finally:
            forever.set()


def test_webhook_that_cannot_be_reached_ends_the_run() -> None:
    with served(lambda request, response: None) as port:
        pass
    with pytest.raises(ConverterUnavailableError, match=r"cannot be called: .*connection refused"):
        failed_properties(EQUAL, webhook(EQUAL, port))
