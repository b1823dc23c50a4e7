"""The table of kube-apiserver's admission plugins, and the selection of the enabled plugins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from polykind.golang.fmt import go_quote

MUTATING_POLICIES, VALIDATING_POLICIES = "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"
MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS = "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"
RESOURCE_QUOTAS = "ResourceQuota"
"""The name of the plugin for resource quotas.

The server builds this plugin, and the plugins for policies and webhooks, without a `target`: stored objects configure
them.
"""

_EVERYTHING = ("*",)
_PODS = ("pods",)
_POD_OWNERS = (
    *("replicationcontrollers", "podtemplates"),
    *(f"{plural}.apps" for plural in ("replicasets", "deployments", "statefulsets", "daemonsets")),
    *("jobs.batch", "cronjobs.batch"),
)
_UNSUPPORTED = "this server does not support it"
_GATED = "kube-apiserver's feature gate for it is off by default"


class PluginEntry(NamedTuple):
    """One admission plugin of kube-apiserver."""

    name: str
    default: bool = True
    """True if the plugin is enabled by default."""
    target: str = ""
    """The module in this package and the class, as "module:Class". Empty if this server has no such plugin."""
    resources: tuple[str, ...] = ()
    """The resources that the plugin handles, as "plural" or "plural.group". "*" means all, including custom resources.
    """
    no_effect: str = ""
    """The reason why enabling the plugin has no effect in this server."""
    always: bool = False
    """True if the server does the plugin's work even if the plugin is disabled."""


PLUGINS = (
    PluginEntry("AlwaysAdmit", False, no_effect="it admits all requests"),
    PluginEntry("NamespaceAutoProvision", False, no_effect=_UNSUPPORTED),
    PluginEntry("NamespaceLifecycle", always=True),
    PluginEntry("NamespaceExists", False, no_effect="NamespaceLifecycle includes it"),
    PluginEntry("LimitPodHardAntiAffinityTopology", False, "pod_rules:HardAntiAffinityTopology", _PODS),
    PluginEntry("LimitRanger", True, "limit_ranger:LimitRanger", ("pods", "persistentvolumeclaims")),
    PluginEntry("ServiceAccount", True, "service_account:ServiceAccountPlugin", _PODS),
    PluginEntry(
        "NodeRestriction",
        False,
        "node_restriction:NodeRestriction",
        (
            *("pods", "nodes", "persistentvolumeclaims", "serviceaccounts", "leases.coordination.k8s.io"),
            *("csinodes.storage.k8s.io", "resourceslices.resource.k8s.io"),
        ),
    ),
    PluginEntry("TaintNodesByCondition", True, "node_taints:TaintNodesByCondition", ("nodes",)),
    PluginEntry("AlwaysPullImages", False, "pod_rules:AlwaysPullImages", _PODS),
    PluginEntry("ImagePolicyWebhook", False, no_effect=_UNSUPPORTED),
    PluginEntry("PodSecurity", True, "pod_security:PodSecurity", ("namespaces", "pods", *_POD_OWNERS)),
    PluginEntry("PodNodeSelector", False, "namespace_annotations:PodNodeSelector", _PODS),
    PluginEntry("Priority", True, "pod_priority:Priority", ("pods", "priorityclasses.scheduling.k8s.io")),
    PluginEntry("DefaultTolerationSeconds", True, "pod_tolerations:DefaultTolerationSeconds", _PODS),
    PluginEntry("PodTolerationRestriction", False, "namespace_annotations:PodTolerationRestriction", _PODS),
    PluginEntry("EventRateLimit", False, no_effect=_UNSUPPORTED),
    PluginEntry("ExtendedResourceToleration", False, "pod_tolerations:ExtendedResourceToleration", _PODS),
    PluginEntry("DefaultStorageClass", True, "default_classes:DefaultStorageClass", ("persistentvolumeclaims",)),
    PluginEntry(
        "StorageObjectInUseProtection",
        True,
        "storage_rules:StorageObjectInUseProtection",
        ("persistentvolumes", "persistentvolumeclaims", "volumeattributesclasses.storage.k8s.io"),
    ),
    PluginEntry("PodGroupProtection", no_effect=_GATED),
    PluginEntry(
        "OwnerReferencesPermissionEnforcement",
        False,
        "owner_permissions:OwnerReferencesPermissionEnforcement",
        _EVERYTHING,
    ),
    PluginEntry(
        "PersistentVolumeClaimResize", True, "storage_rules:PersistentVolumeClaimResize", ("persistentvolumeclaims",)
    ),
    PluginEntry("RuntimeClass", True, "runtime_class_plugin:RuntimeClassPlugin", _PODS),
    PluginEntry(
        "CertificateApproval",
        True,
        "certificate_rules:CertificateApproval",
        ("certificatesigningrequests.certificates.k8s.io",),
    ),
    PluginEntry(
        "CertificateSigning",
        True,
        "certificate_rules:CertificateSigning",
        ("certificatesigningrequests.certificates.k8s.io",),
    ),
    PluginEntry("ClusterTrustBundleAttest", no_effect=_GATED),
    PluginEntry(
        "CertificateSubjectRestriction",
        True,
        "certificate_rules:CertificateSubjectRestriction",
        ("certificatesigningrequests.certificates.k8s.io",),
    ),
    PluginEntry("DefaultIngressClass", True, "default_classes:DefaultIngressClass", ("ingresses.networking.k8s.io",)),
    PluginEntry("DenyServiceExternalIPs", False, "external_ips:DenyServiceExternalIPs", ("services",)),
    PluginEntry("PodTopologyLabels", True, "pod_topology:PodTopologyLabels", _PODS),
    PluginEntry("PodGroupWorkloadExists", no_effect=_GATED),
    PluginEntry("NodeDeclaredFeatureValidator", no_effect=_GATED),
    PluginEntry("JobValidation", no_effect=_GATED),
    PluginEntry("PodResizeValidator", True, "pod_resize:PodResizeValidator", _PODS),
    PluginEntry(MUTATING_POLICIES),
    PluginEntry(MUTATING_WEBHOOKS),
    PluginEntry(VALIDATING_POLICIES),
    PluginEntry(VALIDATING_WEBHOOKS),
    PluginEntry(RESOURCE_QUOTAS),
    PluginEntry("AlwaysDeny", False, "owner_permissions:AlwaysDeny", _EVERYTHING),
)
"""All plugins in kube-apiserver's order."""


def choice_errors(enable: Sequence[str], disable: Sequence[str]) -> list[str]:
    """Return kube-apiserver's error messages about --enable-admission-plugins and --disable-admission-plugins."""
    known = {plugin.name for plugin in PLUGINS}
    problems = [
        f"{flag} plugin {go_quote(name)} is unknown"
        for flag, names in (("enable-admission-plugins", enable), ("disable-admission-plugins", disable))
        for name in names
        if name not in known
    ]
    if both := sorted(set(enable) & set(disable)):
        problems.append(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
    return problems


def enabled_plugins(enable: Sequence[str] = (), disable: Sequence[str] = ()) -> tuple[PluginEntry, ...]:
    """Return the enabled plugins in kube-apiserver's order."""
    return tuple(
        plugin for plugin in PLUGINS if plugin.name in enable or (plugin.default and plugin.name not in disable)
    )


def ineffective_choices(enable: Sequence[str], disable: Sequence[str]) -> list[str]:
    """Return a sentence for each plugin that a flag enables without effect, or disables although it always runs."""
    sentences = [f"{p.name} has no effect: {p.no_effect}" for p in PLUGINS if p.no_effect and p.name in enable]
    return sentences + [f"{p.name} cannot be disabled" for p in PLUGINS if p.always and p.name in disable]
