"""AdmissionConfiguration files, and the configurations of admission plugins in them."""

from __future__ import annotations

from polykind.apis.apiserver.types import GROUP
from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.type_tables import type_table

_V1 = type_table("apiserver", "v1")


def _at_versions(group: str, table: str, name: str, *versions: str) -> dict[str, Struct]:
    """Return a kind of another table by apiVersion."""
    return {f"{group}/{version}": type_table("apiserver", version, like=table).struct(name) for version in versions}


_ADMISSION = _V1.struct("AdmissionConfiguration")
ADMISSION_CONFIGURATION = {f"{GROUP}/v1": _ADMISSION, "apiserver.k8s.io/v1alpha1": _ADMISSION}
"""The kind AdmissionConfiguration by apiVersion."""
WEBHOOK_CONFIGURATION = {f"{GROUP}/v1": _V1.struct("WebhookAdmissionConfiguration")}
"""The kind WebhookAdmissionConfiguration by apiVersion."""
POD_SECURITY_CONFIGURATION = _at_versions(
    "pod-security.admission.config.k8s.io",
    "podsecurity",
    "PodSecurityConfiguration",
    *("v1", "v1beta1", "v1alpha1"),
)
"""The kind PodSecurityConfiguration by apiVersion."""
QUOTA_CONFIGURATIONS = (
    {f"{GROUP}/v1": _V1.struct("ResourceQuotaConfiguration")},
    _at_versions("resourcequota.admission.k8s.io", "quota", "Configuration", "v1beta1", "v1alpha1"),
)
"""The configurations of the plugin ResourceQuota by apiVersion, for each kind."""
TOLERATION_CONFIGURATION = _at_versions(
    "podtolerationrestriction.admission.k8s.io", "tolerations", "Configuration", "v1alpha1"
)
"""The configuration of the plugin PodTolerationRestriction by apiVersion."""
