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

TYPESCRIPT_WEBHOOK = Path(__file__).parent / "typescript_webhook" / "webhook.ts"
INSTALL_SECONDS = 90
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


@pytest.fixture(scope="module")
def tsx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program that runs TypeScript in Node. Skip the test if npm or its registry is not available."""
    if shutil.which("npm") is None:
        pytest.skip("this test needs npm")
    folder = tmp_path_factory.mktemp("tsx")
    command = ["npm", "install", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefix", str(folder), "tsx@^4.19.0"]
    try:
        installed = subprocess.run(command, capture_output=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip("npm install takes too long")
    if installed.returncode != 0:
        pytest.skip(f"npm install fails: {installed.stderr.decode()[-500:]}")
    return folder / "node_modules" / ".bin" / "tsx"


@pytest.fixture
def typescript(tsx: Path, tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """Yield a function that starts the webhook in TypeScript with a bug, and returns its port."""
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(b"".join(blob.bytes() for blob in CERTIFICATE.cert_chain_pems))
    key.write_bytes(CERTIFICATE.private_key_pem.bytes())
    processes = []

    def start(bug: str) -> int:
        command = [str(tsx), str(TYPESCRIPT_WEBHOOK), str(certificate), str(key), bug]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout is not None
        return int(process.stdout.readline())

    yield start
    for process in processes:
        # tsx starts Node as a child, which ends with its input.
        process.communicate(b"")


@pytest.mark.timeout(INSTALL_SECONDS + 60)
def test_correct_webhook_in_typescript_has_no_findings(typescript: Callable[[str], int]) -> None:
    assert failed_properties(WIDGETS, webhook(WIDGETS, typescript("none"))) == {}


@pytest.mark.timeout(INSTALL_SECONDS + 60)
@pytest.mark.parametrize("bug", ["falsy-zero", "cache-by-name", "double-precision"])
def test_bugs_of_a_webhook_in_typescript_are_found(typescript: Callable[[str], int], bug: str) -> None:
    found = failed_properties(WIDGETS, webhook(WIDGETS, typescript(bug)))
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
