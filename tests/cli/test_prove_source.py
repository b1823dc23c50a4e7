from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from polykind.cli import main
from polykind.testing.apiserver import ApiServer
from tests.toolkit.crds import crd_manifest
from tests.toolkit.proving.local_webhook import CA, Review, served

TEXT = {"type": "string"}
NAME = "crontabs.stable.example.com"
EQUAL = ({"properties": {"a": TEXT}}, {"properties": {"a": TEXT}})
FEWER = ({"properties": {"a": TEXT}}, {"properties": {"a": TEXT, "b": TEXT}})
SERVICE = {"namespace": "system", "name": "converter", "path": "/convert"}


def webhook(client_config: dict[str, Any]) -> dict[str, Any]:
    config = {"clientConfig": client_config, "conversionReviewVersions": ["v1"]}
    return {"conversion": {"strategy": "Webhook", "webhook": config}}


def prove(crd: str, tmp_path: Path, *more: str) -> int:
    return main(["prove", "--crd", crd, "--examples", "20", "--save", str(tmp_path / "saved"), *more])


def written(tmp_path: Path, manifest: dict[str, Any]) -> str:
    file = tmp_path / "crd.yaml"
    file.write_text(yaml.safe_dump(manifest))
    return str(file)


def test_strategy_none_loses_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, crd_manifest(*FEWER))
    assert prove(file, tmp_path) == 1
    out = capsys.readouterr().out
    assert "spec.b  dropped" in out
    assert f"Run again: polykind prove --crd {file} --property there-and-back --pair v2:v1 --examples 20\n" in out
    assert len([*(tmp_path / "saved" / NAME).glob("there-and-back-v2-v1-*.yaml")]) == 1


def test_losses_can_be_acknowledged_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    losses = tmp_path / "losses.yaml"
    losses.write_text("- {pair: 'v2:v1', path: spec.b, why: not in v1}\n")
    options = ("--losses", str(losses), "--property", "there-and-back", "--property", "back-and-there")
    assert prove(written(tmp_path, crd_manifest(*FEWER)), tmp_path, *options) == 0
    assert "acknowledged: not in v1" in capsys.readouterr().out


def test_crd_of_a_cluster_is_read(polykind: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    polykind.apply(crd_manifest(*FEWER))
    options = ("--kubeconfig", str(polykind.kubeconfig), "--property", "there-and-back")
    assert prove(NAME, tmp_path, *options) == 1
    assert "spec.b  dropped" in capsys.readouterr().out
    assert prove("nothing.example.com", tmp_path, *options) == 2
    assert "give the name of a CRD, such as crontabs.stable.example.com" in capsys.readouterr().err
    assert prove(NAME, tmp_path, *options, "--context", "other") == 2
    assert "there is no context 'other'" in capsys.readouterr().err


def test_service_of_the_crd_is_called_at_the_resolved_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reviews: list[Review] = []

    def remember(request: Review, response: Review) -> None:
        reviews.append(request)

    bundle = base64.b64encode(CA.cert_pem.bytes()).decode()
    file = written(tmp_path, crd_manifest(*EQUAL, **webhook({"service": SERVICE, "caBundle": bundle})))
    with served(remember) as port:
        assert prove(file, tmp_path, "--resolve", f"system/converter=127.0.0.1:{port}") == 0
    assert "all properties hold" in capsys.readouterr().out
    assert {request["desiredAPIVersion"] for request in reviews} == {"stable.example.com/v1", "stable.example.com/v2"}


def test_certificate_is_verified_unless_the_flag_says_otherwise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, crd_manifest(*EQUAL))
    with served(lambda request, response: None) as port:
        url = f"https://localhost:{port}/convert"
        assert prove(file, tmp_path, "--webhook", url) == 2
        assert f"{url} cannot be called: " in capsys.readouterr().err
        assert prove(file, tmp_path, "--webhook", url, "--insecure-skip-tls-verify") == 0
    assert "all properties hold" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        (webhook({"service": SERVICE}), [], "pass --resolve system/converter=127.0.0.1:9443"),
        (webhook({"service": SERVICE}), ["--resolve", "x"], "--resolve x: must be namespace/service=host:port"),
        (webhook({"url": "https://127.0.0.1:1/convert"}), [], "https://127.0.0.1:1/convert cannot be called: "),
        ({}, ["--webhook", "http://localhost"], "not an https URL"),
        ({}, ["--ca", "ca.pem"], "--ca: needs --webhook"),
        ({}, ["--context", "a"], "--context: needs --kubeconfig"),
        ({}, ["--seconds", "1"], "--seconds: cannot be combined with --examples"),
        ({}, ["--call-timeout", "soon"], "--call-timeout soon: not a duration such as 10s"),
        ({}, ["--converter", "a:b", "--webhook", "https://x"], "--converter: cannot be combined with --webhook"),
    ],
)
def test_sources_that_cannot_be_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: dict[str, Any], options: list[str], message: str
) -> None:
    assert prove(written(tmp_path, crd_manifest(*FEWER, **spec)), tmp_path, *options) == 2
    assert message in capsys.readouterr().err
