"""The --oidc-* flags, as the authenticator that an AuthenticationConfiguration would declare."""

from __future__ import annotations

from dataclasses import dataclass

from polykind.contract import JsonObject


@dataclass(frozen=True, slots=True)
class OIDCFlags:
    """The values of the flags. The defaults are kube-apiserver's."""

    issuer_url: str
    client_id: str
    authority: str = ""
    """The content of the file --oidc-ca-file."""
    username_claim: str = "sub"
    username_prefix: str = ""
    groups_claim: str = ""
    groups_prefix: str = ""
    required_claims: tuple[tuple[str, str], ...] = ()

    def authenticator(self) -> JsonObject:
        """Return the authenticator with kube-apiserver's legacy rules for prefixes.

        Without --oidc-username-prefix, the issuer precedes every user name that is not an email address. The prefix
        "-" stands for no prefix.
        """
        prefix = self.username_prefix
        if not prefix and self.username_claim != "email":
            prefix = f"{self.issuer_url}#"
        elif prefix == "-":
            prefix = ""
        groups = {"claim": self.groups_claim, "prefix": self.groups_prefix} if self.groups_claim else {}
        return {
            "issuer": {
                "url": self.issuer_url,
                "audiences": [self.client_id],
                **({"certificateAuthority": self.authority} if self.authority else {}),
            },
            "claimMappings": {
                "username": {"claim": self.username_claim, "prefix": prefix},
                "groups": groups,
                "uid": {},
            },
            "claimValidationRules": [{"claim": claim, "requiredValue": value} for claim, value in self.required_claims],
        }
