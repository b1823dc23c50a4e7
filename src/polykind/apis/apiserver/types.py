"""The configuration files: AuthenticationConfiguration, AuthorizationConfiguration, EncryptionConfiguration and
TracingConfiguration. The fields of all versions are the same.
"""

from __future__ import annotations

from polykind.apis.machinery.structs import Struct
from polykind.apis.machinery.type_tables import type_table

GROUP = "apiserver.config.k8s.io"
VERSIONS = ("v1", "v1beta1", "v1alpha1")


def _at_versions(name: str, *versions: str) -> dict[str, Struct]:
    """Return a kind by apiVersion."""
    return {f"{GROUP}/{version}": type_table("apiserver", version, like="v1").struct(name) for version in versions}


AUTHENTICATION_CONFIGURATION = _at_versions("AuthenticationConfiguration", *VERSIONS)
AUTHORIZATION_CONFIGURATION = _at_versions("AuthorizationConfiguration", *VERSIONS)
ENCRYPTION_CONFIGURATION = _at_versions("EncryptionConfiguration", "v1")
TRACING_CONFIGURATION = _at_versions("TracingConfiguration", *VERSIONS)
