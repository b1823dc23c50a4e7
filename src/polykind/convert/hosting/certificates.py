"""Certificates for a `Host`."""

from polykind.convert._deprecated import deprecated_names
from polykind.toolkit.hosting.host_certificates import (
    Certificates,
    ExternalCertificates,
    ManagedCertificates,
    in_folder,
    server_context,
)

__all__ = ["Certificates", "ExternalCertificates", "ManagedCertificates", "in_folder", "server_context"]

__getattr__ = deprecated_names(
    __name__,
    {
        "KeptCertificates": "polykind.convert.hosting.certificates:ExternalCertificates",
        "OwnCertificates": "polykind.convert.hosting.certificates:ManagedCertificates",
    },
)
