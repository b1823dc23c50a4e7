"""Identity: the serving certificate, the credentials of clients, authentication and authorization."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

from polykind.auth.authentication import Authentication
from polykind.auth.client_certificates import ClientCertificates
from polykind.auth.key_files import TokenKeyError
from polykind.auth.service_account_tokens import ServiceAccountTokens
from polykind.auth.token_authenticators import TokenAuthenticators
from polykind.auth.tokens import TokenFileError, Tokens
from polykind.auth.user import ADMIN_GROUP, User
from polykind.contract import Clock, JsonObject
from polykind.pki.private_files import write_kubeconfig, write_private
from polykind.pki.user_registry import RegistryError, UserRegistry
from polykind.server.authentication_settings import (
    build_authenticators,
    build_token_webhook,
    read_authentication_config,
)
from polykind.server.authorization_settings import Authorizers
from polykind.server.serving_tls import ServingTls
from polykind.server.settings import Settings, SettingsError

log = logging.getLogger("polykind")


class Identity:
    """The files and flags that say what the server is called, which clients it knows, and what they may do.

    The constructor reads the files and creates those that are missing. `find_stored` returns an object of the core
    group, which tokens of service accounts refer to.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        find_stored: Callable[[str, str, str], Awaitable[JsonObject | None]],
    ) -> None:
        self._settings = settings
        self._clock = clock
        self.tls = ServingTls(settings, clock)
        self._user_registry = UserRegistry(settings.data_dir / "pki")
        self._certificates = self._client_certificates()
        self._request_certificates()
        self.token = ""
        """The bearer token of the admin user."""
        self.tokens = self._read_tokens()
        self.service_account_tokens = ServiceAccountTokens(settings.token_settings, clock, find_stored)
        self._check_token_keys()
        config = self._authentication_config = read_authentication_config(settings)
        self.authenticators = TokenAuthenticators(
            self.service_account_tokens,
            build_authenticators(settings, config, clock),
            build_token_webhook(settings, clock),
        )
        self.authorizers = Authorizers(settings, clock)
        anonymous = config.get("anonymous") or {"enabled": settings.anonymous_auth}
        self.authentication = Authentication(
            self.tokens,
            anonymous=anonymous["enabled"] and "AlwaysAllow" not in self.authorizers.modes,
            anonymous_paths=[condition["path"] for condition in anonymous.get("conditions") or ()],
            authenticators=self.authenticators,
            certificates=self._certificates,
        )
        if self.authorizers.authorizer.allows_everything:
            log.warning("server: --authorization-mode=AlwaysAllow: every user with valid credentials may do everything")

    def start(self) -> None:
        """Start to fetch the keys of token issuers."""
        self.authenticators.start()

    async def close(self) -> None:
        await self.authorizers.close()
        await self.authenticators.close()

    def write_kubeconfig(self, path: Path, url: str) -> None:
        """Write the admin user's kubeconfig."""
        write_kubeconfig(path, url, self.tls.authority(), "admin", {"token": self.token})

    def _client_certificates(self) -> ClientCertificates:
        settings = self._settings
        try:
            return ClientCertificates(settings.client_ca_file, self._user_registry, self._clock.now)
        except RegistryError as error:
            raise SettingsError(str(error)) from None
        except (OSError, ValueError) as error:
            raise SettingsError(f"--client-ca-file {settings.client_ca_file}: {error}") from None

    def _request_certificates(self) -> None:
        """Request certificates from new clients once there is a CA for them. Without one, handshakes are cheaper."""
        if self._certificates.is_used:
            self.tls.request_client_certificates()

    def _read_tokens(self) -> Tokens:
        """Return the admin's token and the tokens of --token-auth-file. The first start creates the admin's token."""
        path = self._settings.data_dir / "admin.token"
        if not path.exists():
            write_private(path, secrets.token_urlsafe(32).encode(), durable=not self._settings.ephemeral)
        self.token = path.read_text().strip()
        tokens = Tokens()
        tokens.add(self.token, User("admin", "admin", (ADMIN_GROUP,)))
        if self._settings.token_auth_file:
            try:
                tokens.load(self._settings.token_auth_file)
            except (OSError, TokenFileError) as error:
                raise SettingsError(f"--token-auth-file: {error}") from None
        return tokens

    def _check_token_keys(self) -> None:
        try:
            self.service_account_tokens.check_keys()
        except TokenKeyError as error:
            raise SettingsError(f"cannot load the keys of service account tokens: {error}") from None

    # ------------------------------------------------------------------ reloading

    def console_issuers(self) -> list[JsonObject]:
        """Return the issuers that users of the console can sign in with, and the client id for each."""
        issuers = [authenticator["issuer"] for authenticator in self._authentication_config.get("jwt") or ()]
        client = self._settings.console_oidc_client_id
        return [{"issuer": issuer["url"], "clientID": client or issuer["audiences"][0]} for issuer in issuers]

    def reload(self) -> None:
        """Read the files of the serving certificate, the client CAs, the registry of users and the tokens again.

        If one of them is invalid, log an error and continue with its previous content. The others still count, so
        that a broken file does not delay a revocation.
        """
        failed = False
        for name, step in (
            ("the serving certificate", self.tls.reload),
            ("the client CAs and the registry of users", self._reload_client_certificates),
            ("the tokens", lambda: self.authentication.replace_tokens(self._read_tokens())),
            ("the authentication configuration", self._reload_issuers),
        ):
            try:
                step()
            except (OSError, ValueError) as error:
                failed = True
                log.error("server: cannot reload %s, keeping the previous content: %s", name, error)
        if not failed:
            log.info("server: reloaded certificates and tokens")

    def _reload_client_certificates(self) -> None:
        self._certificates.reload()
        self._request_certificates()

    def _reload_issuers(self) -> None:
        """Read --authentication-config again. Like kube-apiserver, reject a change of its anonymous settings."""
        config = read_authentication_config(self._settings)
        if config == self._authentication_config:
            return
        if config.get("anonymous") != self._authentication_config.get("anonymous"):
            problem = "anonymous: Forbidden: changed from initial configuration file"
            raise SettingsError(f"--authentication-config: {problem}")
        self._authentication_config = config
        self.authenticators.replace_issuers(build_authenticators(self._settings, config, self._clock))

    def files(self) -> list[Path]:
        """Return the files that `reload` reads."""
        settings = self._settings
        optional = (settings.client_ca_file, settings.token_auth_file, settings.authentication_config)
        users = (self._user_registry.authority, self._user_registry.file)
        given = (file for file in (*optional, settings.oidc_ca_file) if file is not None)
        return [*self.tls.files, *users, *given]
