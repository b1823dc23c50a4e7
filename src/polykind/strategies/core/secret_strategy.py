"""The strategy of Secrets: rules for creates and updates."""

from __future__ import annotations

from polykind.apis.core import secret_validation
from polykind.apis.core.defaults import default_secret
from polykind.contract import JsonObject
from polykind.errors import FieldError
from polykind.resources.builtin import BuiltinStrategy


class SecretStrategy(BuiltinStrategy):
    """Prepares Secrets for storage and validates them."""

    unconditional_update = True

    def default(self, obj: JsonObject) -> None:
        default_secret(obj)

    def create_errors(self, obj: JsonObject) -> list[FieldError]:
        return self.meta_errors(obj, None) + secret_validation.validate_secret(obj)

    def update_errors(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        found = self.meta_errors(new, old) + secret_validation.validate_secret_update(new, old)
        return found + self.create_errors(new)

    def warnings(self, new: JsonObject, old: JsonObject | None) -> list[str]:
        if new.get("type") != secret_validation.TLS:
            return []
        from polykind.apis.core.tls_key_pair import key_pair_error

        data = new.get("data") or {}
        reason = key_pair_error(data.get("tls.crt") or "", data.get("tls.key") or "")
        return [reason] if reason else []
