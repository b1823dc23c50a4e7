"""Write the tables of the documentation that follow from code and measurements: `make reference`.

A generated part of a page is between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from polykind.evolution.change_finding import TRAPS, Severity

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/index.md",
    "docs/reference/compatibility.md",
    "docs/reference/check-findings.md",
    "docs/comparison.md",
)
METRICS_PAGE = "docs/reference/metrics.md"
AREAS = {
    "admission": "mutating and validating webhooks and policies",
    "apply": "server-side apply: merging, conflicts, field managers",
    "builtin-admission": "admission plugins, such as LimitRanger, ResourceQuota and PodSecurity",
    "builtin-apps": "Deployments, ReplicaSets, StatefulSets, DaemonSets",
    "builtin-autoscaling": "HorizontalPodAutoscalers",
    "builtin-batch": "Jobs and CronJobs",
    "builtin-certificates": "CertificateSigningRequests",
    "builtin-coordination": "Leases",
    "builtin-core": "Pods, Services, ConfigMaps, Secrets, Nodes and the other core kinds",
    "builtin-discovery": "discovery of built-in groups",
    "builtin-flowcontrol": "FlowSchemas and PriorityLevelConfigurations",
    "builtin-negative": "rejected objects of built-in kinds",
    "builtin-networking": "Ingresses, NetworkPolicies, ServiceCIDRs",
    "builtin-openapi": "OpenAPI of built-in kinds",
    "builtin-policy": "PodDisruptionBudgets and evictions",
    "builtin-protobuf": "protobuf of built-in kinds",
    "builtin-rbac": "RBAC objects and escalation checks",
    "builtin-scheduling": "PriorityClasses",
    "builtin-storage": "StorageClasses, PersistentVolumes, CSI objects",
    "builtin-watch": "watches of built-in kinds",
    "cel": "CEL rules of CRDs: types, libraries, costs, messages",
    "conversion": "conversion webhooks, strategy None, failures",
    "crd": "CustomResourceDefinitions: validation, names, conditions, deletion",
    "crd-v1beta1": "`apiextensions.k8s.io/v1beta1`",
    "defaulting": "defaults of structural schemas",
    "discovery": "discovery, aggregated discovery, OpenAPI v2 and v3",
    "list": "lists: pages, selectors, resource versions, consistency",
    "patch": "JSON, merge and strategic merge patches",
    "pruning": "pruning of unknown fields",
    "rbac": "authorization of custom resources",
    "rest": "create, read, update, delete, preconditions, dry run, field validation",
    "storagemigration": "StorageVersionMigrations",
    "structural": "structural schemas",
    "subresources": "status and scale",
    "tables": "Tables and PartialObjectMetadata",
    "validation": "validation by schemas, ratcheting, messages",
    "versions": "served and stored versions",
    "watch": "watches: bookmarks, resuming, selectors, streamed lists",
}
ENCRYPTION = {
    "apiVersion": "apiserver.config.k8s.io/v1",
    "kind": "EncryptionConfiguration",
    "resources": [{"resources": ["secrets"], "providers": [{"identity": {}}]}],
}
POLICY = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "metadata": {"name": "example"},
    "spec": {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "Never",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
            ]
        },
    },
}
MUTATION = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}


def generate(name: str) -> str:
    """Return the Markdown of a generated part."""
    return {
        "conformance": conformance,
        "conformance-total": conformance_total,
        "findings": findings,
        "figures": figures,
        "figure-tiles": figure_tiles,
    }[name]()


def conformance() -> str:
    floors: dict[str, int] = json.loads((ROOT / "tests/conformance/floors.json").read_text())
    rows = [f"| `{area}` | {count:,} | {AREAS[area]} |" for area, count in sorted(floors.items())]
    total = f"| **all** | **{sum(floors.values()):,}** | |"
    return "\n".join(["| area | exact steps | covers |", "|---|---|---|", *rows, total])


def conformance_total() -> str:
    total = sum(json.loads((ROOT / "tests/conformance/floors.json").read_text()).values())
    return f"{total:,} recorded steps of kube-apiserver 1.36.4 are answered exactly (`make conformance`)."


def findings() -> str:
    rows = [
        f"| `{name}` | {trap.severity.label} | {trap.meaning} | {trap.advice} |"
        for severity in sorted(Severity, reverse=True)
        for name, trap in sorted(TRAPS.items())
        if trap.severity is severity
    ]
    return "\n".join(["| finding | severity | what happens | what to do |", "|---|---|---|---|", *rows])


def measured() -> list[tuple[str, str, str]]:
    """Return the rows of the table in benches/README.md: what was measured, the figure, and its command."""
    text = (ROOT / "benches/README.md").read_text().partition("## Beside kube-apiserver")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| \*\*([^|*]+)\*\* \| ([^|]+) \|$", text, re.M)
    assert rows, "benches/README.md has no table of figures beside kube-apiserver"
    return rows


def figures() -> str:
    rows = [f"| {what} | **{figure}** | {command} |" for what, figure, command in measured()]
    return "\n".join(["| beside kube-apiserver 1.36.4 and etcd | | measured with |", "|---|---|---|", *rows])


def figure_tiles() -> str:
    tiles = [f"<div><strong>{figure}</strong><span>{what}</span></div>" for what, figure, _ in measured()]
    return "\n".join(['<div class="figures">', *tiles, "</div>"])


def metrics() -> str:
    """Return the table of all metrics, as a running server shows them."""
    rows = []
    for name, (kind, text) in sorted(scraped_metrics().items()):
        rows.append(f"| `{name}` | {kind} | {text} |")
    return "\n".join(["| metric | type | meaning |", "|---|---|---|", *rows])


def scraped_metrics() -> dict[str, tuple[str, str]]:
    """Return the type and the meaning of each metric of a server with encryption and admission policies."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "encryption.yaml"
        config.write_text(yaml.safe_dump(ENCRYPTION))
        config.chmod(0o600)
        command = [str(Path(sys.executable).with_name("polykind")), "serve", "--ephemeral"]
        with subprocess.Popen(
            [*command, f"--encryption-provider-config={config}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            try:
                assert server.stdout is not None
                kubeconfig = next(line for line in server.stdout if "KUBECONFIG=" in line).strip().partition("=")[2]
                page = _scrape(yaml.safe_load(Path(kubeconfig).read_text()))
            finally:
                server.terminate()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.M))
    return {name: (kinds[name], text) for name, text in re.findall(r"^# HELP (\S+) (.*)$", page, re.M)}


def _scrape(kubeconfig: dict[str, Any]) -> str:
    """Create a policy of each kind, so that their metrics are declared, and return the scrape page."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = kubeconfig["clusters"][0]["cluster"]["server"]
    headers = {"Authorization": f"Bearer {kubeconfig['users'][0]['user']['token']}", "Content-Type": "application/json"}

    def call(path: str, body: dict[str, Any] | None = None) -> str:
        data = json.dumps(body).encode() if body is not None else None
        with urllib.request.urlopen(urllib.request.Request(url + path, data, headers), context=context) as reply:
            return str(reply.read().decode())

    for kind in ("Validating", "Mutating"):
        rules = {"validations": [{"expression": "true"}]} if kind == "Validating" else {"mutations": [MUTATION]}
        policy: dict[str, Any] = {**POLICY, "kind": f"{kind}AdmissionPolicy", "spec": {**POLICY["spec"], **rules}}  # type: ignore[dict-item]
        if kind == "Validating":
            del policy["spec"]["reinvocationPolicy"]
        path = f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}admissionpolic"
        call(f"{path}ies", policy)
        binding = {"policyName": "example"} | ({"validationActions": ["Deny"]} if kind == "Validating" else {})
        call(f"{path}ybindings", {**policy, "kind": f"{kind}AdmissionPolicyBinding", "spec": binding})
    call("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "example"}})
    return call("/metrics")


def updated(text: str, parts: dict[str, str] | None = None) -> str:
    """Return a page with its generated parts made anew."""

    def replace(found: re.Match[str]) -> str:
        name = found[1]
        content = (parts or {}).get(name) or generate(name)
        return f"<!-- generated: {name} -->\n{content}\n<!-- end -->"

    return re.sub(r"<!-- generated: ([a-z-]+) -->\n.*?<!-- end -->", replace, text, flags=re.S)


def main() -> None:
    for name in PAGES:
        (ROOT / name).write_text(updated((ROOT / name).read_text()))
    page = ROOT / METRICS_PAGE
    page.write_text(updated(page.read_text(), {"metrics": metrics()}))


if __name__ == "__main__":
    main()
