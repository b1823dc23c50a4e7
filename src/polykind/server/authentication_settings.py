"""The authenticators of tokens that --authentication-config, the --oidc-* flags and the webhook flags select."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polykind.contract import Clock, JsonObject
from polykind.errors import aggregate_message
from polykind.server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from polykind.auth.oidc.jwt_authenticator import JWTAuthenticator
    from polykind.auth.webhook_token_authenticator import WebhookTokenAuthenticator


def read_authentication_config(settings: Settings) -> JsonObject:
    """Return the AuthenticationConfiguration of the flags. Raise SettingsError if it is invalid.

    Without flags, return an empty configuration and import nothing.
    """
    if settings.authentication_config is not None:
        from polykind.apis.apiserver.types import AUTHENTICATION_CONFIGURATION
        from polykind.auth.oidc.claim_expressions import validate_config
        from polykind.server.config_file import ConfigFileError, read_config

        try:
            config = read_config(settings.authentication_config, AUTHENTICATION_CONFIGURATION)
        except ConfigFileError as error:
            raise SettingsError(f"--authentication-config: {error}") from None
        if problems := validate_config(config, settings.token_settings.issuers):
            raise SettingsError(f"--authentication-config: {aggregate_message(problems)}")
        return config
    if settings.oidc_issuer_url:
        from polykind.auth.oidc.claim_expressions import validate_authenticator

        authenticator = _authenticator_of_flags(settings)
        if problems := validate_authenticator(authenticator, settings.token_settings.issuers):
            raise SettingsError(f"--oidc-issuer-url: {aggregate_message(problems)}")
        return {"jwt": [authenticator]}
    return {}


def build_authenticators(settings: Settings, config: JsonObject, clock: Clock) -> Sequence[JWTAuthenticator]:
    """Return an authenticator for each issuer of a valid configuration."""
    if not config.get("jwt"):
        return ()
    from polykind.auth.oidc.jwt_authenticator import JWTAuthenticator
    from polykind.auth.token_keys import ALGORITHMS

    algorithms = ALGORITHMS if settings.authentication_config is not None else settings.oidc_signing_algs
    return [JWTAuthenticator(authenticator, algorithms, clock) for authenticator in config["jwt"]]


def _authenticator_of_flags(settings: Settings) -> JsonObject:
    from polykind.auth.oidc.oidc_flags import OIDCFlags

    authority = ""
    if settings.oidc_ca_file is not None:
        try:
            authority = settings.oidc_ca_file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"--oidc-ca-file: {error}") from None
    return OIDCFlags(
        settings.oidc_issuer_url,
        settings.oidc_client_id,
        authority,
        settings.oidc_username_claim,
        settings.oidc_username_prefix,
        settings.oidc_groups_claim,
        settings.oidc_groups_prefix,
        tuple(settings.oidc_required_claim.items()),
    ).authenticator()


def build_token_webhook(settings: Settings, clock: Clock) -> WebhookTokenAuthenticator | None:
    """Return the webhook that authenticates unknown tokens, or None. Raise SettingsError if its file is invalid."""
    kubeconfig = settings.authentication_token_webhook_config_file
    if kubeconfig is None:
        return None
    from polykind.auth.review_client import ReviewClient
    from polykind.auth.webhook_token_authenticator import WebhookTokenAuthenticator
    from polykind.cluster.cluster_access import KubeconfigError

    try:
        sender = ReviewClient(kubeconfig)
    except KubeconfigError as error:
        raise SettingsError(f"--authentication-token-webhook-config-file: {error}") from None
    return WebhookTokenAuthenticator(
        sender,
        settings.authentication_token_webhook_version,
        settings.authentication_token_webhook_cache_ttl,
        clock,
    )
