"""The address and credentials of an API server: from a kubeconfig as kubectl reads it, or from a pod in the cluster.

Credential plugins, impersonation and proxies are not supported. The error message then names the unsupported field.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polykind.codec import yaml_codec
from polykind.contract import JsonObject

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_UNSUPPORTED_USER_FIELDS = ("exec", "auth-provider", "as", "as-uid", "as-groups", "as-user-extra")
_UNSUPPORTED_CLUSTER_FIELDS = ("proxy-url",)
_ALTERNATIVES = {
    "user": "use a token (create one with kubectl create token SERVICEACCOUNT) or a client certificate",
    "cluster": "use the API server's own address",
}

log = logging.getLogger(__name__)


class KubeconfigError(ValueError):
    """A kubeconfig is missing, invalid or has unsupported fields. The message contains the remedy."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """The address of an API server, and the credentials for the server."""

    server: str
    ca: bytes = b""
    """The trusted CAs in PEM. If empty, the CAs of the operating system are trusted."""
    server_name: str | None = None
    """The name that the server's certificate must have, or None if it is the host name of the server's URL."""
    verify: bool = True
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    """A file with the bearer token. It is read for each request, because Kubernetes replaces service account tokens."""
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)


def find_access(kubeconfig: Path | None, environment: Mapping[str, str], home: Path) -> ClusterAccess:
    """Return access to the API server from the first of these that exists, like kubectl.

    They are the file `kubeconfig`, $KUBECONFIG, the service account of this pod, and ~/.kube/config.

    Raise KubeconfigError if no usable configuration is found.
    """
    if kubeconfig is not None:
        return read_kubeconfigs([kubeconfig])
    paths = [Path(one) for one in environment.get("KUBECONFIG", "").split(":") if one]
    if paths:
        return read_kubeconfigs([one for one in paths if one.exists()] or paths)
    if "KUBERNETES_SERVICE_HOST" in environment:
        return in_cluster_access(environment)
    default_path = home / ".kube" / "config"
    if default_path.exists():
        return read_kubeconfigs([default_path])
    raise KubeconfigError("no API server is configured: set --kubeconfig or $KUBECONFIG, or run inside a cluster")


def in_cluster_access(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> ClusterAccess:
    """Return access to the cluster in which this pod runs, with the token of the pod's service account.

    Raise KubeconfigError if the pod has no token file.
    """
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not (folder / "token").exists():
        raise KubeconfigError(f"{folder / 'token'} is missing: the pod needs automountServiceAccountToken: true")
    host_part = f"[{host}]" if ":" in host else host
    return ClusterAccess(f"https://{host_part}:{port}", _read_file(folder / "ca.crt"), token_file=folder / "token")


def read_kubeconfigs(files: list[Path], context_name: str = "") -> ClusterAccess:
    """Merge kubeconfigs, and return the access that a context defines. The first file with a value wins.

    `context_name` is the context, or an empty string for the current context.

    Raise KubeconfigError if the kubeconfigs cannot be used.
    """
    current = context_name
    sections: dict[str, dict[str, Any]] = {"cluster": {}, "user": {}, "context": {}}
    for file in files:
        config = read_kubeconfig_file(file)
        current = current or str(config.get("current-context") or "")
        for section_kind, entries in sections.items():
            for name, value in kubeconfig_entries(config, section_kind, file):
                entries.setdefault(name, (value, file))
    source = ":".join(map(str, files))
    if not current:
        raise KubeconfigError(f"{source}: no current-context; set one: kubectl config use-context NAME")
    context, _ = _lookup(sections, "context", current, source)
    cluster, cluster_file = _lookup(sections, "cluster", str(context.get("cluster")), source)
    user, user_file = _lookup(sections, "user", str(context["user"]), source) if context.get("user") else ({}, files[0])
    return _make_access(KubeconfigSection(cluster, cluster_file, "cluster"), KubeconfigSection(user, user_file, "user"))


class KubeconfigSection:
    """A cluster or user section of a kubeconfig. Paths in the section are relative to the kubeconfig file."""

    def __init__(self, fields: JsonObject, file: Path, section_kind: str) -> None:
        self.fields, self.file, self.section_kind = fields, file, section_kind

    def reject_unsupported(self, names: tuple[str, ...]) -> None:
        for name in names:
            if self.fields.get(name):
                raise KubeconfigError(
                    f"{self.file}: {name} of a {self.section_kind} is not supported: {_ALTERNATIVES[self.section_kind]}"
                )

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str):
            raise KubeconfigError(f"{self.file}: {name} of a {self.section_kind} must be a string")
        return value or ""

    def data(self, name: str) -> bytes:
        """Return the content of the field `<name>-data`, or of the file whose path is in the field `<name>`."""
        encoded = self.text(f"{name}-data")
        if encoded:
            try:
                return base64.b64decode(encoded, validate=True)
            except binascii.Error:
                raise KubeconfigError(f"{self.file}: {name}-data of a {self.section_kind} is not base64") from None
        path = self.path(name)
        return _read_file(path) if path else b""

    def path(self, name: str) -> Path | None:
        relative_path = self.text(name)
        return self.file.parent / relative_path if relative_path else None


def _make_access(cluster: KubeconfigSection, user: KubeconfigSection) -> ClusterAccess:
    cluster.reject_unsupported(_UNSUPPORTED_CLUSTER_FIELDS)
    user.reject_unsupported(_UNSUPPORTED_USER_FIELDS)
    server = cluster.text("server").rstrip("/")
    if not server.startswith("https://"):
        raise KubeconfigError(f"{cluster.file}: the server {server!r} is not an https:// address")
    verify = cluster.fields.get("insecure-skip-tls-verify") is not True
    if not verify:
        log.warning("kubeconfig %s: insecure-skip-tls-verify is set, so the API server is not verified", cluster.file)
    certificate, key = user.data("client-certificate"), user.data("client-key")
    if bool(certificate) != bool(key):
        raise KubeconfigError(f"{user.file}: client-certificate and client-key must be set together: one is missing")
    basic = (user.text("username"), user.text("password")) if user.text("username") else None
    return ClusterAccess(
        server, cluster.data("certificate-authority"), cluster.text("tls-server-name") or None, verify,
        user.text("token"), None if user.text("token") else user.path("tokenFile"), certificate, key, basic,
    )  # fmt: skip


def read_kubeconfig_file(file: Path) -> JsonObject:
    """Decode a kubeconfig. Raise KubeconfigError if it is missing or is not a YAML object."""
    try:
        config = yaml_codec.decode(_read_file(file))
    except yaml_codec.MalformedYAMLError as error:
        raise KubeconfigError(f"{file} is not YAML: {error}") from None
    if not isinstance(config, dict):
        raise KubeconfigError(f"{file} is not a kubeconfig")
    return config


def kubeconfig_entries(config: JsonObject, section_kind: str, file: Path) -> list[tuple[str, JsonObject]]:
    """Return the names and the fields of all sections of a kind: cluster, user or context."""
    try:
        return [(str(entry["name"]), dict(entry[section_kind] or {})) for entry in config.get(f"{section_kind}s") or []]
    except (TypeError, KeyError, ValueError):
        raise KubeconfigError(
            f"{file}: {section_kind}s must be a list of entries with a name and a {section_kind}"
        ) from None


def _lookup(sections: dict[str, dict[str, Any]], section_kind: str, name: str, source: str) -> tuple[JsonObject, Path]:
    if name not in sections[section_kind]:
        raise KubeconfigError(f"{source}: there is no {section_kind} {name!r}")
    fields, file = sections[section_kind][name]
    return fields, file


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KubeconfigError(f"{path} cannot be read: {error.strerror}") from None
