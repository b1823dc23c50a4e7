"""The authorizers that --authorization-mode or --authorization-config selects."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from polykind.auth.authorizer import Authorizer
from polykind.auth.authorizer_union import build_authorizer
from polykind.contract import Clock, JsonObject
from polykind.errors import aggregate_message
from polykind.server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from polykind.auth.rbac.rbac_authorizer import RBACAuthorizer
    from polykind.auth.webhook_authorizer import WebhookAuthorizer, WebhookRules


class Authorizers:
    """The union of all authorizers, and those of them that the server feeds or closes."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        """Raise SettingsError if the flags or the configuration file are invalid."""
        self._clock = clock
        self.webhooks: list[WebhookAuthorizer] = []
        self.modes: tuple[str, ...] = settings.authorization_mode
        """The types of the authorizers in order, such as RBAC and Webhook."""
        if settings.authorization_config is not None:
            configured = _read_config(settings.authorization_config)
            self.modes = tuple(entry["type"] for entry in configured)
            entries = [self._configured(entry) for entry in configured]
        else:
            entries = [self._by_mode(mode, settings) for mode in self.modes]
        self.authorizer: Authorizer
        """The authorizer of all requests."""
        self.rbac: RBACAuthorizer | None
        """The RBAC authorizer, or None without the mode RBAC."""
        self.authorizer, self.rbac = build_authorizer(entries)

    async def close(self) -> None:
        for webhook in self.webhooks:
            await webhook.close()

    def _by_mode(self, mode: str, settings: Settings) -> str | Authorizer:
        if mode != "Webhook":
            return mode
        from polykind.auth.webhook_authorizer import WebhookRules

        kubeconfig = settings.authorization_webhook_config_file
        if kubeconfig is None:
            raise SettingsError("authorization-mode Webhook's authorization config file not passed")
        rules = WebhookRules(
            "default",
            settings.authorization_webhook_version,
            settings.authorization_webhook_cache_authorized_ttl,
            settings.authorization_webhook_cache_unauthorized_ttl,
        )
        return self._webhook(rules, kubeconfig, ())

    def _configured(self, entry: JsonObject) -> str | Authorizer:
        if entry["type"] != "Webhook":
            return str(entry["type"])
        from polykind.auth.webhook_authorizer import WebhookRules
        from polykind.golang.duration import parse_duration

        webhook = entry["webhook"]

        def seconds(field: str, cached: bool = True) -> float:
            return parse_duration(webhook[field]) / 1e9 if cached else 0.0

        rules = WebhookRules(
            entry["name"],
            webhook["subjectAccessReviewVersion"],
            seconds("authorizedTTL", webhook["cacheAuthorizedRequests"]),
            seconds("unauthorizedTTL", webhook["cacheUnauthorizedRequests"]),
            seconds("timeout"),
            webhook["failurePolicy"],
        )
        kubeconfig = Path(webhook["connectionInfo"]["kubeConfigFile"])
        return self._webhook(rules, kubeconfig, webhook.get("matchConditions") or ())

    def _webhook(self, rules: WebhookRules, kubeconfig: Path, conditions: tuple[JsonObject, ...]) -> Authorizer:
        from polykind.auth.review_client import ReviewClient
        from polykind.auth.webhook_authorizer import WebhookAuthorizer
        from polykind.cluster.cluster_access import KubeconfigError

        try:
            sender = ReviewClient(kubeconfig)
        except KubeconfigError as error:
            raise SettingsError(f"authorization webhook {rules.name}: {error}") from None
        expressions = None
        if conditions:
            from polykind.auth.match_condition_expressions import MatchExpressions

            expressions = MatchExpressions(conditions)
        authorizer = WebhookAuthorizer(rules, sender, self._clock, expressions)
        self.webhooks.append(authorizer)
        return authorizer


def _read_config(path: Path) -> list[JsonObject]:
    """Return the authorizers of an AuthorizationConfiguration file. Raise SettingsError if it is invalid."""
    from polykind.apis.apiserver.authorization_validation import validate_authorization_configuration
    from polykind.apis.apiserver.defaults import default_authorization_configuration
    from polykind.apis.apiserver.types import AUTHORIZATION_CONFIGURATION
    from polykind.auth.match_condition_expressions import condition_errors
    from polykind.server.config_file import ConfigFileError, read_config

    try:
        config = read_config(path, AUTHORIZATION_CONFIGURATION)
    except ConfigFileError as error:
        raise SettingsError(f"--authorization-config: {error}") from None
    default_authorization_configuration(config)
    if problems := validate_authorization_configuration(config, condition_errors):
        raise SettingsError(f"--authorization-config: {aggregate_message(problems)}")
    entries: list[JsonObject] = config["authorizers"]
    return entries
