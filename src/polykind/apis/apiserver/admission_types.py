"""AdmissionConfiguration files, and the configurations of admission plugins in them."""

from __future__ import annotations

from polykind.apis.core.affinity_types import TOLERATION
from polykind.apis.machinery.structs import Field, GroupVersion, Struct
from polykind.apis.machinery.value_types import RAW_EXTENSION, STRING, STRINGS, ListOf
from polykind.apis.meta.types import TYPE_META

GROUP = "apiserver.config.k8s.io"


def _admission_configuration(version: GroupVersion) -> Struct:
    plugin = version.struct(
        "AdmissionPluginConfiguration",
        "The configuration of one admission plugin.",
        Field("name", 0, STRING, "The name of the plugin.", omitempty=False),
        Field("path", 0, STRING, "A file with the configuration, relative to this file.", omitempty=False),
        Field("configuration", 0, RAW_EXTENSION, "The configuration itself. Then path is not used.", pointer=True),
    )
    plugins = Field("plugins", 0, ListOf(plugin), "The configurations of plugins.", omitempty=False)
    return version.struct(
        "AdmissionConfiguration", "Configurations of admission plugins.", *TYPE_META, plugins, kind=True
    )


def _webhook_configuration(version: GroupVersion) -> Struct:
    return version.struct(
        "WebhookAdmissionConfiguration",
        "How the server calls admission webhooks.",
        *TYPE_META,
        Field("kubeConfigFile", 0, STRING, "A kubeconfig with the credentials for webhooks.", omitempty=False),
        Field("staticManifestsDir", 0, STRING, "A directory of webhook configurations. It is refused."),
        kind=True,
    )


def _pod_security_configuration(version: GroupVersion) -> Struct:
    modes = ("enforce", "audit", "warn")
    defaults = version.struct(
        "PodSecurityDefaults",
        "The policy of namespaces without labels.",
        *(Field(mode, 0, STRING, f"The level of the mode {mode}.") for mode in modes),
        *(Field(f"{mode}-version", 0, STRING, f"The version of the level of the mode {mode}.") for mode in modes),
    )
    exemptions = version.struct(
        "PodSecurityExemptions",
        "What the policies do not apply to.",
        Field("usernames", 0, STRINGS, "The names of users."),
        Field("namespaces", 0, STRINGS, "The names of namespaces."),
        Field("runtimeClasses", 0, STRINGS, "The runtime classes of pods."),
    )
    return version.struct(
        "PodSecurityConfiguration",
        "The default policy and the exemptions of the Pod Security Standards.",
        *TYPE_META,
        Field("defaults", 0, defaults, "The policy of namespaces without labels.", omitempty=False),
        Field("exemptions", 0, exemptions, "What the policies do not apply to.", omitempty=False),
        kind=True,
    )


def _quota_configuration(version: GroupVersion, kind: str) -> Struct:
    limited = version.struct(
        "LimitedResource",
        "A resource that nobody may consume without a quota.",
        Field("apiGroup", 0, STRING, "The group of the resource."),
        Field("resource", 0, STRING, "The plural of the resource.", omitempty=False),
        Field("matchContains", 0, STRINGS, "Texts, one of which is in the name of a consumed resource."),
        Field("matchScopes", 0, ListOf(RAW_EXTENSION), "Scopes that need a quota. They are refused."),
    )
    field = Field("limitedResources", 0, ListOf(limited), "The limited resources.", omitempty=False)
    return version.struct(kind, "The resources that need a quota.", *TYPE_META, field, kind=True)


def _toleration_configuration(version: GroupVersion) -> Struct:
    return version.struct(
        "Configuration",
        "The tolerations of pods in namespaces without annotations for them.",
        *TYPE_META,
        Field("default", 0, ListOf(TOLERATION), "The tolerations that pods get."),
        Field("whitelist", 0, ListOf(TOLERATION), "The tolerations that pods may have."),
        kind=True,
    )


_V1 = GroupVersion(GROUP, "v1")
_POD_SECURITY, _QUOTA = "pod-security.admission.config.k8s.io", "resourcequota.admission.k8s.io"
_TOLERATIONS = GroupVersion("podtolerationrestriction.admission.k8s.io", "v1alpha1")
_LEGACY = GroupVersion("apiserver.k8s.io", "v1alpha1")

ADMISSION_CONFIGURATION = {
    f"{GROUP}/v1": _admission_configuration(_V1),
    "apiserver.k8s.io/v1alpha1": _admission_configuration(_LEGACY),
}
"""The kind AdmissionConfiguration by apiVersion."""

WEBHOOK_CONFIGURATION = {f"{GROUP}/v1": _webhook_configuration(_V1)}
"""The kind WebhookAdmissionConfiguration by apiVersion."""

POD_SECURITY_CONFIGURATION = {
    f"{_POD_SECURITY}/{version}": _pod_security_configuration(GroupVersion(_POD_SECURITY, version))
    for version in ("v1", "v1beta1", "v1alpha1")
}
"""The kind PodSecurityConfiguration by apiVersion."""

QUOTA_CONFIGURATIONS = (
    {f"{GROUP}/v1": _quota_configuration(_V1, "ResourceQuotaConfiguration")},
    {
        f"{_QUOTA}/{version}": _quota_configuration(GroupVersion(_QUOTA, version), "Configuration")
        for version in ("v1beta1", "v1alpha1")
    },
)
"""The configurations of the plugin ResourceQuota by apiVersion, for each kind."""

TOLERATION_CONFIGURATION = {f"{_TOLERATIONS.group}/v1alpha1": _toleration_configuration(_TOLERATIONS)}
"""The configuration of the plugin PodTolerationRestriction by apiVersion."""
