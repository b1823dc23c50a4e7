"""Certificates by server name: --tls-sni-cert-key."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from polykind.addresses import parse_ip
from polykind.names import dns1123_subdomain


class SniCertificate(NamedTuple):
    """A certificate and its key, and the names for which it is presented. No names are those in the certificate."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()


class SniFlagError(ValueError):
    """A value of --tls-sni-cert-key is malformed. The message is kube-apiserver's."""


def parse_sni_flag(value: str) -> SniCertificate:
    """Parse `cert,key` or `cert,key:name,name`."""
    files, colon, listed = value.partition(":")
    names = tuple(name.strip() for name in listed.split(","))
    if colon and not listed.strip():
        raise SniFlagError("empty names list is not allowed")
    parts = [part.strip() for part in files.split(",")]
    if len(parts) != 2:
        raise SniFlagError("expected comma separated certificate and key file paths")
    return SniCertificate(Path(parts[0]), Path(parts[1]), names if colon else ())


ContextFactory = Callable[[Path, Path], ssl.SSLContext]
"""A function that builds the context of a certificate and its key. Raises OSError if they cannot be loaded."""


class SniCertificates:
    """Selects the certificate for each handshake by the name that the client asks for, as kube-apiserver does.

    Names of the flag take precedence over names in certificates, earlier flags over later ones, and a whole name over a
    wildcard, which stands for one label. For other names the default certificate is presented, unless only another one
    is valid for the name.
    """

    def __init__(
        self, flags: Sequence[SniCertificate], default: Path, address: str, new_context: ContextFactory
    ) -> None:
        """`default` is the default certificate. `address` is the address for clients that send no name."""
        self._flags = flags
        self._default = default
        self._address = address
        self._new_context = new_context
        self._by_name: dict[str, ssl.SSLContext] = {}
        self._by_content: list[tuple[list[str], ssl.SSLContext]] = []
        self._default_names: list[str] = []
        self.contexts: list[ssl.SSLContext] = []
        self.reload()

    @property
    def files(self) -> list[Path]:
        return [file for flag in self._flags for file in (flag.certificate, flag.key)]

    def reload(self) -> None:
        """Read all files again. Raise OSError or ValueError, and keep the previous certificates, if that fails."""
        explicit: dict[str, ssl.SSLContext] = {}
        implied: dict[str, ssl.SSLContext] = {}
        by_content: list[tuple[list[str], ssl.SSLContext]] = []
        for flag in self._flags:
            context = self._new_context(flag.certificate, flag.key)
            common_name, alternative = _certificate_names(flag.certificate)
            by_content.append((alternative, context))
            for name in flag.names:
                explicit.setdefault(name, context)
            if not flag.names:
                for name in (*common_name, *alternative):
                    implied.setdefault(name, context)
        self._default_names = _certificate_names(self._default)[1]
        self._by_name = {**implied, **explicit}
        self._by_content = by_content
        self.contexts = [context for _, context in by_content]

    def select(self, server_name: str | None) -> ssl.SSLContext | None:
        """Return the context for a name. Return None for the default certificate."""
        if not server_name:
            return self._by_name.get(self._address)
        name = server_name.rstrip(".").lower()
        found = self._by_name.get(name) or self._by_name.get(_wildcard(name))
        if found is not None or _covers(self._default_names, name):
            return found
        return next((context for names, context in self._by_content if _covers(names, name)), None)

    def on_handshake(self, tls: ssl.SSLObject, server_name: str | None, _: ssl.SSLContext) -> None:
        """Present the certificate for the client's name. This is the callback of the default context."""
        context = self.select(server_name)
        if context is not None:
            tls.context = context


def _wildcard(name: str) -> str:
    return "*" + name[name.find(".") :] if "." in name else "*"


def _covers(names: Sequence[str], name: str) -> bool:
    """True if a certificate with the DNS names `names` is valid for a name."""
    wanted = (name, _wildcard(name)) if "." in name else (name,)
    return any(one.lower() in wanted for one in names)


def _certificate_names(path: Path) -> tuple[list[str], list[str]]:
    """Return the common name of a certificate, if it is a domain name, and its alternative names."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
    common = [str(one.value) for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    usable = [
        name
        for name in common
        if parse_ip(name) is None and (name == "*" or not dns1123_subdomain(name.removeprefix("*.")))
    ]
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return usable, []
    return usable, extension.get_values_for_type(x509.DNSName)
