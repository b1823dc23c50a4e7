"""How to reach an API server: by a kubeconfig as kubectl reads it, or from inside the cluster.

What runs a program or goes through a proxy to log in is refused by name.
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
_REFUSED_OF_USERS = ("exec", "auth-provider", "as", "as-uid", "as-groups", "as-user-extra")
_REFUSED_OF_CLUSTERS = ("proxy-url",)
_INSTEAD = {
    "user": "use a token (kubectl create token SERVICEACCOUNT makes one) or a client certificate",
    "cluster": "name the API server's own address",
}

log = logging.getLogger(__name__)


class BadKubeconfig(ValueError):
    """A kubeconfig that cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Access:
    """An API server and what is shown to it."""

    server: str
    ca: bytes = b""
    """In PEM; empty for the system's roots."""
    server_name: str | None = None
    """What the certificate must be for, if not the server's host."""
    verify: bool = True
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    """Read again for each request: the tokens of service accounts are replaced while they are used."""
    certificate: bytes = b""
    key: bytes = field(default=b"", repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)


def found(kubeconfig: Path | None, environment: Mapping[str, str], home: Path) -> Access:
    """As kubectl looks for it: what is named, $KUBECONFIG, inside the cluster, ~/.kube/config. Raises BadKubeconfig."""
    if kubeconfig is not None:
        return read([kubeconfig])
    named = [Path(one) for one in environment.get("KUBECONFIG", "").split(":") if one]
    if named:
        return read([one for one in named if one.exists()] or named)
    if "KUBERNETES_SERVICE_HOST" in environment:
        return inside(environment)
    usual = home / ".kube" / "config"
    if usual.exists():
        return read([usual])
    raise BadKubeconfig(
        "no API server is known: name a kubeconfig by --kubeconfig or $KUBECONFIG, or run inside a cluster"
    )


def inside(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Access:
    """The API server of the cluster we run in, as our service account. Raises BadKubeconfig."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not (folder / "token").exists():
        raise BadKubeconfig(f"{folder / 'token'} is missing: the pod needs automountServiceAccountToken: true")
    at = f"[{host}]" if ":" in host else host
    return Access(f"https://{at}:{port}", _file(folder / "ca.crt"), token_file=folder / "token")


def read(files: list[Path]) -> Access:
    """The current context of one kubeconfig or of several, where the first to say something wins.

    Raises BadKubeconfig.
    """
    current = ""
    known: dict[str, dict[str, Any]] = {"cluster": {}, "user": {}, "context": {}}
    for file in files:
        config = _config(file)
        current = current or str(config.get("current-context") or "")
        for what, entries in known.items():
            for name, value in _entries(config, what, file):
                entries.setdefault(name, (value, file))
    shown = ":".join(map(str, files))
    if not current:
        raise BadKubeconfig(f"{shown}: no current-context; set one: kubectl config use-context NAME")
    context, _ = _pick(known, "context", current, shown)
    cluster, cluster_file = _pick(known, "cluster", str(context.get("cluster")), shown)
    user, user_file = _pick(known, "user", str(context["user"]), shown) if context.get("user") else ({}, files[0])
    return _access(_Section(cluster, cluster_file, "cluster"), _Section(user, user_file, "user"))


class _Section:
    """A cluster or a user, in its file: paths in it are relative to that."""

    def __init__(self, fields: JsonObject, file: Path, what: str) -> None:
        self.fields, self.file, self.what = fields, file, what

    def refuse(self, names: tuple[str, ...]) -> None:
        for name in names:
            if self.fields.get(name):
                raise BadKubeconfig(f"{self.file}: {name} of a {self.what} is not supported: {_INSTEAD[self.what]}")

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str):
            raise BadKubeconfig(f"{self.file}: {name} of a {self.what} must be a string")
        return value or ""

    def data(self, name: str) -> bytes:
        """What `name-data` has, or the file that `name` names."""
        encoded = self.text(f"{name}-data")
        if encoded:
            try:
                return base64.b64decode(encoded, validate=True)
            except binascii.Error:
                raise BadKubeconfig(f"{self.file}: {name}-data of a {self.what} is no base64") from None
        path = self.path(name)
        return _file(path) if path else b""

    def path(self, name: str) -> Path | None:
        said = self.text(name)
        return self.file.parent / said if said else None


def _access(cluster: _Section, user: _Section) -> Access:
    cluster.refuse(_REFUSED_OF_CLUSTERS)
    user.refuse(_REFUSED_OF_USERS)
    server = cluster.text("server").rstrip("/")
    if not server.startswith("https://"):
        raise BadKubeconfig(f"{cluster.file}: the server {server!r} has no https:// address")
    verify = cluster.fields.get("insecure-skip-tls-verify") is not True
    if not verify:
        log.warning("%s: insecure-skip-tls-verify: anybody can pretend to be the API server", cluster.file)
    certificate, key = user.data("client-certificate"), user.data("client-key")
    if bool(certificate) != bool(key):
        raise BadKubeconfig(f"{user.file}: client-certificate and client-key go together: one of them is missing")
    basic = (user.text("username"), user.text("password")) if user.text("username") else None
    return Access(
        server, cluster.data("certificate-authority"), cluster.text("tls-server-name") or None, verify,
        user.text("token"), None if user.text("token") else user.path("tokenFile"), certificate, key, basic,
    )  # fmt: skip


def _config(file: Path) -> JsonObject:
    try:
        config = yaml_codec.decode(_file(file))
    except yaml_codec.MalformedYAMLError as error:
        raise BadKubeconfig(f"{file} is no YAML: {error}") from None
    if not isinstance(config, dict):
        raise BadKubeconfig(f"{file} is no kubeconfig")
    return config


def _entries(config: JsonObject, what: str, file: Path) -> list[tuple[str, JsonObject]]:
    try:
        return [(str(entry["name"]), dict(entry[what] or {})) for entry in config.get(f"{what}s") or []]
    except (TypeError, KeyError, ValueError):
        raise BadKubeconfig(f"{file}: {what}s must be a list of names, each with a {what}") from None


def _pick(known: dict[str, dict[str, Any]], what: str, name: str, shown: str) -> tuple[JsonObject, Path]:
    if name not in known[what]:
        raise BadKubeconfig(f"{shown}: there is no {what} {name!r}")
    fields, file = known[what][name]
    return fields, file


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadKubeconfig(f"{path} cannot be read: {error.strerror}") from None
