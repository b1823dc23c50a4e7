"""The defaults of AuthorizationConfiguration files."""

from __future__ import annotations

from polykind.contract import JsonObject


def default_authorization_configuration(config: JsonObject) -> None:
    """Set the defaults for the caches of webhooks."""
    for authorizer in config.get("authorizers") or ():
        webhook = authorizer.get("webhook")
        if webhook is None:
            continue
        for field, default in (("authorizedTTL", "5m0s"), ("unauthorizedTTL", "30s")):
            if webhook[field] == "0s":
                webhook[field] = default
        webhook.setdefault("cacheAuthorizedRequests", True)
        webhook.setdefault("cacheUnauthorizedRequests", True)
