"""Alias of `polykind.toolkit.hosting.certificates`."""

from polykind.toolkit.hosting.certificates import (
    Certificates,
    KeptCertificates,
    OwnCertificates,
    in_folder,
    server_context,
)

__all__ = ["Certificates", "KeptCertificates", "OwnCertificates", "in_folder", "server_context"]
