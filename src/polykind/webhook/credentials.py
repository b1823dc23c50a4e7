"""The credentials with which this server signs in to webhooks: users of a kubeconfig, chosen by the webhook's address.

kube-apiserver reads them for admission webhooks (pkg/util/webhook/authentication.go): a user's name is the host and
port of the webhooks that it is for, or a pattern such as `*.example.com`.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from polykind.cluster.cluster_access import (
    KubeconfigError,
    KubeconfigSection,
    kubeconfig_entries,
    read_kubeconfig_file,
)
from polykind.webhook.tls import KeyPair

_TOKEN_SECONDS: Final = 60.0
"""Seconds after which a token file is read again, as client-go does."""
_HTTPS_PORT = "443"


class WebhookUser:
    """One user of a kubeconfig: a client certificate, a token, or a user name and a password."""

    def __init__(self, section: KubeconfigSection) -> None:
        """Raise KubeconfigError if a field is invalid or not supported."""
        section.reject_unsupported(("exec", "auth-provider"))
        self._section = section
        self._token = section.text("token")
        self._token_file = None if self._token else section.path("tokenFile")
        basic = section.text("username"), section.text("password")
        if any(basic) and (self._token or self._token_file):
            raise KubeconfigError(
                f"{section.file}: username/password or bearer token may be set for a user, but not both"
            )
        self._basic = base64.b64encode(":".join(basic).encode()).decode() if any(basic) else ""
        self._impersonation = _impersonation(section)
        self._read_at = 0.0
        self._stamps: list[Any] = []
        self.key_pair()
        self.headers()

    def key_pair(self) -> KeyPair | None:
        """Read the client certificate and its key. Return None if the user has none."""
        certificate, key = self._section.data("client-certificate"), self._section.data("client-key")
        if bool(certificate) != bool(key):
            raise KubeconfigError(
                f"{self._section.file}: client-certificate and client-key must be set together: one is missing"
            )
        self._stamps = self._file_stamps()
        return KeyPair(certificate, key) if certificate else None

    @property
    def key_pair_changed(self) -> bool:
        """True if a file of the client certificate has changed since it was read."""
        return self._file_stamps() != self._stamps

    def _file_stamps(self) -> list[Any]:
        paths = (self._section.path("client-certificate"), self._section.path("client-key"))
        return [_stamp(path) for path in paths if path is not None]

    def headers(self) -> list[tuple[str, str]]:
        """Return the headers of each request to the webhook. A token file is read again after a minute."""
        if self._token_file is not None and time.monotonic() - self._read_at >= _TOKEN_SECONDS:
            self._token, self._read_at = _read_token(self._token_file, self._token), time.monotonic()
        credentials = f"Bearer {self._token}" if self._token else f"Basic {self._basic}" if self._basic else ""
        return [*([("Authorization", credentials)] if credentials else []), *self._impersonation]


class WebhookCredentials:
    """The users of a kubeconfig, by the addresses of webhooks."""

    def __init__(self, users: Mapping[str, WebhookUser], current: str = "") -> None:
        """`current` is the user of the current context, which is used if no other user fits."""
        self._users = users
        self._current = current

    def find(self, authority: str) -> WebhookUser | None:
        """Return the user for the webhook at a host and port. Return None if it is called without credentials."""
        names = (*_candidates(authority), "*", self._current)
        return next((self._users[name] for name in names if name in self._users), None)


def read_credentials(kubeconfig: Path) -> WebhookCredentials:
    """Read the credentials for webhooks from a kubeconfig. Raise KubeconfigError if it is invalid."""
    config = read_kubeconfig_file(kubeconfig)
    users: dict[str, WebhookUser] = {}
    for name, fields in kubeconfig_entries(config, "user", kubeconfig):
        if name in users:
            raise KubeconfigError(f'{kubeconfig}: duplicate user "{name}"')
        users[name] = WebhookUser(KubeconfigSection(fields, kubeconfig, "user"))
    contexts = dict(kubeconfig_entries(config, "context", kubeconfig))
    context = contexts.get(str(config.get("current-context") or ""), {})
    return WebhookCredentials(users, str(context.get("user") or ""))


def _candidates(authority: str) -> Iterator[str]:
    """Yield the names of users for a host and port, in the order in which kube-apiserver looks them up."""
    yield from _with_wildcards(authority)
    host, _, port = authority.rpartition(":")
    if port == _HTTPS_PORT:
        yield from _with_wildcards(host.removeprefix("[").removesuffix("]"))


def _with_wildcards(name: str) -> Iterator[str]:
    yield name
    while "." in name:
        name = name.partition(".")[2]
        yield f"*.{name}"


def _impersonation(section: KubeconfigSection) -> list[tuple[str, str]]:
    user = section.text("as")
    if not user:
        return []
    headers = [("Impersonate-User", user)]
    if section.text("as-uid"):
        headers.append(("Impersonate-Uid", section.text("as-uid")))
    headers += [("Impersonate-Group", str(group)) for group in section.fields.get("as-groups") or ()]
    extra = section.fields.get("as-user-extra") or {}
    return headers + [(f"Impersonate-Extra-{key}", str(value)) for key, values in extra.items() for value in values]


def _read_token(path: Path, previous: str) -> str:
    """Read a token file. If this fails, go on with the previous token."""
    try:
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        if previous:
            return previous
        raise KubeconfigError(f"{path} cannot be read: {error}") from None
    if not token or not token.isprintable():
        raise KubeconfigError(f"{path} contains no token")
    return token


def _stamp(path: Path) -> Any:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
