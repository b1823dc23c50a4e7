"""The Kubernetes manifests: applied to a server, with strict validation and Pod Security."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from polykind.cli import parser
from polykind.cli.option_sources import OptionSources
from polykind.cli.serve import add_serve_flags, settings
from polykind.server.settings import Settings
from tests.support.kubectl import Kubectl
from tests.support.server import ServerProcess

ROOT = Path(__file__).parents[2]
FILES = ("embedded.yaml", "replicas.yaml")


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes" / name).read_text()))


def configuration(name: str, directory: Path) -> Settings:
    """Return the settings of the ConfigMap in a manifest."""
    (config,) = [obj for obj in manifests(name) if obj["kind"] == "ConfigMap"]
    file = directory / "polykind.yaml"
    file.write_text(config["data"]["polykind.yaml"])
    args = parser().parse_args(["serve", f"--config={file}"])
    OptionSources(add_serve_flags, {}).read(args, [f"--config={file}"])
    return settings(args)


def workload(name: str) -> dict[str, Any]:
    (found,) = [obj for obj in manifests(name) if obj["kind"] in ("StatefulSet", "Deployment")]
    return found


def test_the_manifests_are_valid_and_their_pods_are_restricted(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data") as server:
        kubectl = Kubectl(server.kubeconfig, tmp_path)
        for name in FILES:
            path = str(ROOT / "deploy" / "kubernetes" / name)
            applied = kubectl("apply", "--validate=strict", "-f", path)
            assert "Warning" not in applied.err
            assert kubectl("diff", "-f", path).out == ""
            template = workload(name)["spec"]["template"]
            # The namespace enforces the restricted profile on pods. The server creates none, so create one here.
            pod: dict[str, Any] = {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name.removesuffix(".yaml"), "namespace": "polykind", **template["metadata"]},
                "spec": {
                    **template["spec"],
                    "volumes": [
                        *template["spec"]["volumes"],
                        *([{"name": "data", "emptyDir": {}}] if name == "embedded.yaml" else []),
                    ],
                },
            }
            created = kubectl("create", "--validate=strict", "-f", "-", stdin=yaml.safe_dump(pod))
            assert "Warning" not in created.err
            pod["metadata"]["name"] += "-privileged"
            pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
            refused = kubectl("create", "-f", "-", stdin=yaml.safe_dump(pod), check=False)
            assert 'violates PodSecurity "restricted:latest"' in refused.err


@pytest.mark.parametrize("name", FILES)
def test_the_configuration_fits_the_pod(name: str, tmp_path: Path) -> None:
    found = configuration(name, tmp_path)
    found.check()
    spec = workload(name)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["terminationGracePeriodSeconds"] > found.shutdown_delay_duration + found.request_timeout
    mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
    files = [found.data_dir, found.tls_cert_file, found.token_auth_file, found.service_account_signing_key_file]
    for path in (*filter(None, files), Path(container["args"][1].partition("=")[2])):
        assert any(path.is_relative_to(mount) for mount in mounts), path
    readiness, liveness = container["readinessProbe"], container["livenessProbe"]
    # The pod leaves the Service before the server stops to serve.
    assert readiness["periodSeconds"] * readiness["failureThreshold"] < found.shutdown_delay_duration
    for probe in (readiness, liveness, container["startupProbe"]):
        assert probe["httpGet"]["scheme"] == "HTTPS"
    assert container["ports"] == [{"name": "https", "containerPort": found.secure_port}]
    # The data directory of replicas is their own; only the objects are shared.
    assert workload(name)["spec"]["replicas"] == (3 if found.etcd_servers else 1)


def test_the_image_has_the_user_of_the_manifests_and_keeps_its_data_in_the_volume() -> None:
    text = (ROOT / "Containerfile").read_text()
    users = {workload(name)["spec"]["template"]["spec"]["securityContext"]["runAsUser"] for name in FILES}
    assert users == {10001}
    assert "--uid 10001" in text
    assert "\nUSER 10001:10001\n" in text
    assert "\nVOLUME /data\n" in text
    assert "--data-dir=/data/polykind" in text
