"""The version of Kubernetes that the server implements and reports."""

from polykind import __version__

KUBERNETES_MINOR = "36"
GIT_VERSION = f"v1.{KUBERNETES_MINOR}.0+polykind-{__version__}"
