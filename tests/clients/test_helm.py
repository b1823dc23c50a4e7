"""Helm works unchanged: install, upgrade, rollback, uninstall, hooks and dry runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.crontabs import crontab, definition
from tests.support.kubectl import Kubectl

Helm = Callable[..., str]

DEADLINE_SECONDS = 60

WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: "{{ .Release.Name }}"}}
  template:
    metadata: {labels: {app: "{{ .Release.Name }}"}}
    spec: {containers: [{name: web, image: "{{ .Values.image }}", ports: [{containerPort: 80}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec: {selector: {app: "{{ .Release.Name }}"}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {image: "{{ .Values.image }}"}
---
apiVersion: v1
kind: Secret
metadata: {name: "{{ .Release.Name }}"}
stringData: {password: letmein}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: "{{ .Release.Name }}-hook"
  annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
data: {revision: "{{ .Release.Revision }}"}
"""


@pytest.fixture
def chart(tmp_path: Path, group: str) -> Path:
    """A chart with a CRD, an object of it, a Deployment, a Service, a ConfigMap, a Secret and a hook."""
    files = {
        "Chart.yaml": {"apiVersion": "v2", "name": "shop", "version": "0.1.0"},
        "values.yaml": {"image": "nginx:1", "replicas": 1},
        "crds/crontab.yaml": definition(group),
        "templates/crontab.yaml": crontab(group),
    }
    for name, content in files.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    (tmp_path / "shop/templates/workload.yaml").write_text(WORKLOAD)
    return tmp_path / "shop"


@pytest.fixture
def namespace(kubectl: Kubectl, group: str) -> Iterator[str]:
    """The name of a namespace that Helm creates, and that the test removes with the chart's CRD."""
    name = group.replace(".", "-")
    yield name
    kubectl("delete", f"namespace/{name}", f"crd/crontabs.{group}", "--wait=false", "--ignore-not-found")


@pytest.fixture
def helm(kubectl: Kubectl, namespace: str, tmp_path: Path) -> Helm:
    """Run Helm in the namespace and return its output."""
    command = str(Path(sys.executable).with_name("helm"))
    env = kubectl.env | {"HELM_NAMESPACE": namespace, "HELM_CACHE_HOME": str(tmp_path), "PATH": os.environ["PATH"]}

    def run(*args: str) -> str:
        done = subprocess.run([command, *args], env=env, capture_output=True, text=True, timeout=DEADLINE_SECONDS)
        assert done.returncode == 0, f"helm {' '.join(args)}: {done.stdout}{done.stderr}"
        return done.stdout

    return run


@pytest.fixture
def get(kubectl: Kubectl, namespace: str) -> Callable[..., Any]:
    """Read an object of the release."""
    return lambda kind, name="web": kubectl.json("-n", namespace, "get", kind, name)


def _image(get: Callable[..., Any]) -> str:
    return str(get("deployment")["spec"]["template"]["spec"]["containers"][0]["image"])


def test_release_is_installed_upgraded_rolled_back_and_uninstalled(
    helm: Helm, chart: Path, kubectl: Kubectl, namespace: str, group: str, get: Callable[..., Any]
) -> None:
    helm("install", "web", str(chart), "--create-namespace")
    assert get("secret")["data"] == {"password": "bGV0bWVpbg=="}
    assert get(f"crontabs.{group}", "my-crontab")["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "Helm"}
    address = get("service")["spec"]["clusterIP"]
    helm("upgrade", "web", str(chart), "--set=image=nginx:2,replicas=3")
    assert (_image(get), get("deployment")["spec"]["replicas"]) == ("nginx:2", 3)
    assert get("configmap")["data"] == {"image": "nginx:2"}
    assert get("configmap", "web-hook")["data"] == {"revision": "2"}
    helm("rollback", "web", "1")
    assert (_image(get), get("deployment")["spec"]["replicas"]) == ("nginx:1", 1)
    assert get("service")["spec"]["clusterIP"] == address
    (listed,) = json.loads(helm("list", "-o", "json"))
    assert (listed["name"], listed["revision"], listed["status"]) == ("web", "3", "deployed")
    history = json.loads(helm("history", "web", "-o", "json"))
    assert [entry["status"] for entry in history] == ["superseded", "superseded", "deployed"]
    helm("uninstall", "web")
    left = kubectl("-n", namespace, "get", f"all,secrets,crontabs.{group}", "-o", "name").out
    assert left == ""


@pytest.mark.usefixtures("crontabs")
def test_dry_run_on_the_server_stores_nothing(helm: Helm, chart: Path, kubectl: Kubectl, namespace: str) -> None:
    kubectl("create", "namespace", namespace)
    assert "nginx:7" in helm("install", "web", str(chart), "--dry-run=server", "--set=image=nginx:7")
    assert kubectl("-n", namespace, "get", "all,secrets", "-o", "name").out == ""
