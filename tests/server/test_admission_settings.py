"""The file of --admission-control-config-file: credentials, configurations of plugins, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from polykind.admission.plugins.plugin_table import enabled_plugins
from polykind.contract import JsonObject
from polykind.server.admission_settings import AdmissionSettings, read_admission_settings
from polykind.server.settings import SettingsError
from tests.admission.hooks import AdmissionHook
from tests.conversion.hook import Hook
from tests.conversion.test_served_conversions import crd_with, crontab, crontabs, webhook
from tests.support.live import Live, live

CONFIG = "apiserver.config.k8s.io/v1"
NAMESPACES = "/api/v1/namespaces"
RULES = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
PODS = f"{NAMESPACES}/default/pods"


def configuration(folder: Path, *plugins: JsonObject) -> Path:
    path = folder / "admission.yaml"
    path.write_text(json.dumps({"apiVersion": CONFIG, "kind": "AdmissionConfiguration", "plugins": list(plugins)}))
    return path


def plugin(name: str, kind: str, api_version: str = CONFIG, **fields: Any) -> JsonObject:
    return {"name": name, "configuration": {"apiVersion": api_version, "kind": kind, **fields}}


def quota(**limited: Any) -> JsonObject:
    return plugin("ResourceQuota", "ResourceQuotaConfiguration", limitedResources=[{"resource": "pods", **limited}])


def read(path: Path, *enable: str) -> AdmissionSettings:
    return read_admission_settings(path, enabled_plugins(enable))


def pod(name: str, **spec: Any) -> JsonObject:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.mark.parametrize(
    ("plugins", "enable", "says"),
    [
        ([{"name": "Nope"}, {"name": "Nope"}], (), None),
        ([plugin("Nope", "X")], (), 'there is no admission plugin "Nope"'),
        ([quota(), quota()], (), 'the plugin "ResourceQuota" is configured twice'),
        ([quota(matchScopes=[{"scopeName": "BestEffort"}])], (), "ResourceQuota: matchScopes of limitedResources are"),
        ([quota(machContains=["cpu"])], (), 'unknown field "limitedResources[0].machContains"'),
        ([plugin("LimitRanger", "X")], (), "LimitRanger: this server does not support a configuration of the plugin"),
        ([plugin("EventRateLimit", "Configuration")], (), None),
        ([plugin("EventRateLimit", "Configuration")], ("EventRateLimit",), "EventRateLimit: this server does not"),
        ([plugin("ImagePolicyWebhook", "X")], ("ImagePolicyWebhook",), "ImagePolicyWebhook: this server does not"),
        (
            [plugin("MutatingAdmissionWebhook", "WebhookAdmissionConfiguration", kubeConfigFile="a/b")],
            (),
            'kubeConfigFile: Invalid value: "a/b": must be an absolute file path',
        ),
        (
            [plugin("ValidatingAdmissionWebhook", "WebhookAdmissionConfiguration", kubeConfigFile="/gone")],
            (),
            "ValidatingAdmissionWebhook: /gone cannot be read",
        ),
        (
            [plugin("MutatingAdmissionWebhook", "WebhookAdmissionConfiguration", staticManifestsDir="/x")],
            (),
            "staticManifestsDir is not supported",
        ),
        (
            [
                plugin(
                    "PodSecurity",
                    "PodSecurityConfiguration",
                    "pod-security.admission.config.k8s.io/v1",
                    defaults={"enforce": "strict"},
                )
            ],
            (),
            "PodSecurity: defaults.enforce: 'strict' must be one of privileged, baseline, restricted",
        ),
        ([{"name": "PodSecurity", "path": "gone.yaml"}], (), "No such file"),
        (
            [{"name": "PodNodeSelector", "configuration": {"podNodeSelectorPluginConfig": {"a": "b"}}}],
            ("PodNodeSelector",),
            "PodNodeSelector: invalid selector",
        ),
    ],
)
def test_configuration_is_honoured_or_refused(
    tmp_path: Path, plugins: list[JsonObject], enable: tuple[str, ...], says: str | None
) -> None:
    path = configuration(tmp_path, *plugins)
    if says is None:
        assert not read(path, *enable).plugins
        return
    with pytest.raises(SettingsError) as caught:
        read(path, *enable)
    assert str(caught.value).startswith(f"--admission-control-config-file {path}: ")
    assert says in str(caught.value)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        read(tmp_path / "gone.yaml")


def test_other_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("apiVersion: apiserver.config.k8s.io/v1\nkind: Other\n")
    with pytest.raises(SettingsError, match="expected AdmissionConfiguration, got Other"):
        read(path)


def test_old_file_without_a_kind_is_read(tmp_path: Path) -> None:
    path = tmp_path / "selectors.yaml"
    path.write_text("podNodeSelectorPluginConfig:\n  clusterDefaultNodeSelector: zone=a\n")
    assert read(path, "PodNodeSelector").plugins == {
        "PodNodeSelector": {"podNodeSelectorPluginConfig": {"clusterDefaultNodeSelector": "zone=a"}}
    }


def test_path_is_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "quota.yaml").write_text(json.dumps(quota(matchContains=["cpu"])["configuration"]))
    path = configuration(tmp_path, {"name": "ResourceQuota", "path": "quota.yaml"})
    (limited,) = read(path).plugins["ResourceQuota"]["limitedResources"]
    assert (limited["resource"], limited["matchContains"]) == ("pods", ["cpu"])


async def test_admission_webhook_gets_its_token(tmp_path: Path) -> None:
    async with AdmissionHook() as hook:
        users = [{"name": f"127.0.0.1:{hook.port}", "user": {"token": "secret"}}]
        (tmp_path / "kubeconfig").write_text(json.dumps({"users": users}))
        kind = "WebhookAdmissionConfiguration"
        path = configuration(
            tmp_path, plugin("ValidatingAdmissionWebhook", kind, kubeConfigFile=str(tmp_path / "kubeconfig"))
        )
        async with live(tmp_path, admission_control_config_file=path) as server:
            for kind in ("Validating", "Mutating"):
                webhooks = {"metadata": {"name": "hooks"}, "webhooks": [hook.webhook_config(rules=RULES)]}
                plural = f"{kind.lower()}webhookconfigurations"
                await server.ask("POST", f"/apis/admissionregistration.k8s.io/v1/{plural}", webhooks)
            await server.ask("POST", f"{NAMESPACES}/default/configmaps", {"metadata": {"name": "a"}})
        mutating, validating = hook.calls
        assert "Authorization" not in mutating.headers
        assert validating.headers["Authorization"] == "Bearer secret"


async def test_conversion_webhook_gets_its_token(tmp_path: Path) -> None:
    async with Hook() as hook:
        (tmp_path / "kubeconfig").write_text(json.dumps({"users": [{"name": "*", "user": {"token": "secret"}}]}))
        async with live(tmp_path, conversion_webhook_config_file=tmp_path / "kubeconfig") as server:
            await server.define(crd_with(webhook(hook)))
            await server.ask("POST", crontabs("v1"), crontab("one"))
            await server.ask("GET", crontabs("v2", "one"))
        assert hook.calls[0].headers["Authorization"] == "Bearer secret"


async def denied(server: Live, path: str, body: JsonObject, status: int = 403) -> str:
    message: str = (await server.ask("POST", path, body, expect=status))["message"]
    return message


async def test_pod_security_has_defaults_and_exemptions(tmp_path: Path) -> None:
    config = plugin(
        "PodSecurity",
        "PodSecurityConfiguration",
        "pod-security.admission.config.k8s.io/v1",
        defaults={"enforce": "baseline", "warn": "baseline", "warn-version": "v1.25"},
        exemptions={"namespaces": ["free"], "runtimeClasses": ["gvisor"]},
    )
    async with live(tmp_path, admission_control_config_file=configuration(tmp_path, config)) as server:
        for name, labels in (("free", {}), ("open", {"pod-security.kubernetes.io/enforce": "privileged"})):
            await server.ask("POST", NAMESPACES, {"metadata": {"name": name, "labels": labels}})
        message = await denied(server, PODS, pod("a", hostNetwork=True))
        assert 'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)' in message
        for namespace in ("free", "open"):
            reply = await server.client.call("POST", f"{NAMESPACES}/{namespace}/pods", pod("a", hostNetwork=True))
            assert reply.status == 201
            assert (b"warning" in reply.headers) is (namespace == "open")
        strict = {"pod-security.kubernetes.io/enforce": "restricted"}
        reply = await server.client.call("POST", NAMESPACES, {"metadata": {"name": "other", "labels": strict}})
        assert b"warning" not in reply.headers
        reply = await server.client.call(
            "PATCH", f"{NAMESPACES}/free", {"metadata": {"labels": strict}}, "application/merge-patch+json"
        )
        warning = reply.headers[b"warning"].decode().replace("\\", "")
        assert 'namespace "free" is exempt from Pod Security, and the policy (enforce=restricted:latest' in warning


async def test_resources_can_be_limited_without_a_quota(tmp_path: Path) -> None:
    config = plugin(
        "ResourceQuota",
        "ResourceQuotaConfiguration",
        limitedResources=[
            {"resource": "pods", "matchContains": ["cpu"]},
            {"apiGroup": "example.com", "resource": "crontabs", "matchContains": ["count/crontabs"]},
        ],
    )
    async with live(tmp_path, admission_control_config_file=configuration(tmp_path, config)) as server:
        await server.ask("POST", PODS, pod("free"))
        greedy = pod("greedy", containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}])
        message = await denied(server, PODS, greedy)
        assert message.endswith("insufficient quota to consume: cpu,requests.cpu")
        quotas = f"{NAMESPACES}/default/resourcequotas"
        hard = {"cpu": "2", "requests.cpu": "2"}
        await server.ask("POST", quotas, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
        await server.until(quotas, lambda _, obj: obj.get("status", {}).get("used"))
        await server.ask("POST", PODS, greedy)


async def test_node_selectors_are_configured(tmp_path: Path) -> None:
    selectors = {"clusterDefaultNodeSelector": "zone=a", "strict": "zone=b"}
    config = {"name": "PodNodeSelector", "configuration": {"podNodeSelectorPluginConfig": selectors}}
    path = configuration(tmp_path, config)
    enable = ("PodNodeSelector",)
    async with live(tmp_path, admission_control_config_file=path, enable_admission_plugins=enable) as server:
        created = await server.ask("POST", PODS, pod("a"))
        assert created["spec"]["nodeSelector"] == {"zone": "a"}
        await server.ask("POST", NAMESPACES, {"metadata": {"name": "strict"}})
        message = await denied(server, f"{NAMESPACES}/strict/pods", pod("a"))
        assert message.endswith("pod node label selector labels conflict with its namespace whitelist")


async def test_tolerations_are_configured(tmp_path: Path) -> None:
    gpu = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    config = plugin(
        "PodTolerationRestriction",
        "Configuration",
        "podtolerationrestriction.admission.k8s.io/v1alpha1",
        default=[gpu],
        whitelist=[{"operator": "Exists", "effect": "NoSchedule"}],
    )
    path = configuration(tmp_path, config)
    settings: dict[str, Any] = {
        "enable_admission_plugins": ("PodTolerationRestriction",),
        "disable_admission_plugins": ("ServiceAccount", "DefaultTolerationSeconds"),
    }
    async with live(tmp_path, admission_control_config_file=path, **settings) as server:
        created = await server.ask("POST", PODS, pod("a"))
        assert created["spec"]["tolerations"] == [gpu]
        other = pod("b", tolerations=[{"key": "x", "operator": "Exists", "effect": "NoExecute"}])
        message = await denied(server, PODS, other, 500)
        assert message.endswith("conflict with its cluster whitelist")
