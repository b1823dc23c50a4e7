"""The configuration files: AuthenticationConfiguration, AuthorizationConfiguration, EncryptionConfiguration and
TracingConfiguration.
"""

from __future__ import annotations

from typing import Any

from polykind.apis.machinery.decoding import Decoding, Location
from polykind.apis.machinery.structs import Field, GroupVersion, Struct
from polykind.apis.machinery.value_types import BOOL, INT32, STRING, STRINGS, ListOf, ValueType
from polykind.apis.meta.types import TYPE_META
from polykind.golang.duration import format_duration, parse_duration

GROUP = "apiserver.config.k8s.io"
VERSIONS = ("v1", "v1beta1", "v1alpha1")


class _Duration(ValueType):
    """A duration as text, such as 1m30s."""

    __slots__ = ()

    def zero(self) -> Any:
        return "0s"

    def decode(self, value: Any, at: Location | None, run: Decoding) -> Any:
        if not isinstance(value, str):
            run.mismatch(value, "string", at)
            return "0s"
        try:
            return format_duration(parse_duration(value))
        except ValueError as error:
            run.fail(str(error))
            return "0s"


_DURATION = _Duration("v1.Duration")


def _authentication_configuration(version: str) -> Struct:
    """Declare AuthenticationConfiguration at one version. The fields of all versions are the same."""
    group_version = GroupVersion(GROUP, version)
    issuer = group_version.struct(
        "Issuer",
        "The provider that signs the tokens.",
        Field("url", 0, STRING, "The issuer in the claim `iss`.", omitempty=False),
        Field("discoveryURL", 0, STRING, "The address of the discovery document, if the issuer's own is unreachable."),
        Field("certificateAuthority", 0, STRING, "The CAs in PEM that the provider's certificate is verified with."),
        Field("audiences", 0, STRINGS, "The accepted audiences.", omitempty=False),
        Field("audienceMatchPolicy", 0, STRING, "MatchAny if there are several audiences."),
        Field("egressSelectorType", 0, STRING, "Unsupported: the server connects to the issuer directly."),
    )
    claim_validation_rule = group_version.struct(
        "ClaimValidationRule",
        "A rule that the claims of every token must satisfy.",
        Field("claim", 0, STRING, "The name of a required claim."),
        Field("requiredValue", 0, STRING, "The required value of the claim."),
        Field("expression", 0, STRING, "A CEL expression over `claims` that must be true."),
        Field("message", 0, STRING, "The error message if the expression is false."),
    )
    claim_or_expression = group_version.struct(
        "ClaimOrExpression",
        "The source of a value: a claim or a CEL expression.",
        Field("claim", 0, STRING, "The name of a claim."),
        Field("expression", 0, STRING, "A CEL expression over `claims`."),
    )
    prefixed_claim_or_expression = group_version.struct(
        "PrefixedClaimOrExpression",
        "The source of a value: a claim with a prefix, or a CEL expression.",
        Field("claim", 0, STRING, "The name of a claim."),
        Field("prefix", 0, STRING, "A text that precedes the value of the claim. Can be empty.", pointer=True),
        Field("expression", 0, STRING, "A CEL expression over `claims`."),
    )
    extra_mapping = group_version.struct(
        "ExtraMapping",
        "The source of an extra attribute of the user.",
        Field("key", 0, STRING, "The name of the attribute, such as example.com/team.", omitempty=False),
        Field("valueExpression", 0, STRING, "A CEL expression over `claims`.", omitempty=False),
    )
    claim_mappings = group_version.struct(
        "ClaimMappings",
        "The sources of the user's attributes.",
        Field("username", 0, prefixed_claim_or_expression, "The source of the user name."),
        Field("groups", 0, prefixed_claim_or_expression, "The source of the groups."),
        Field("uid", 0, claim_or_expression, "The source of the uid."),
        Field("extra", 0, ListOf(extra_mapping), "The sources of extra attributes."),
    )
    user_validation_rule = group_version.struct(
        "UserValidationRule",
        "A rule that every user must satisfy.",
        Field("expression", 0, STRING, "A CEL expression over `user` that must be true.", omitempty=False),
        Field("message", 0, STRING, "The error message if the expression is false."),
    )
    authenticator = group_version.struct(
        "JWTAuthenticator",
        "An issuer of tokens, and the mapping of its claims to users.",
        Field("issuer", 0, issuer, "The provider that signs the tokens."),
        Field("claimValidationRules", 0, ListOf(claim_validation_rule), "The rules for claims."),
        Field("claimMappings", 0, claim_mappings, "The sources of the user's attributes."),
        Field("userValidationRules", 0, ListOf(user_validation_rule), "The rules for users."),
    )
    condition = group_version.struct(
        "AnonymousAuthCondition",
        "A path that anonymous requests may use.",
        Field("path", 0, STRING, "The path.", omitempty=False),
    )
    anonymous = group_version.struct(
        "AnonymousAuthConfig",
        "How the server authenticates requests without credentials.",
        Field("enabled", 0, BOOL, "True if such requests get the user system:anonymous.", omitempty=False),
        Field("conditions", 0, ListOf(condition), "The only paths that anonymous requests may use, if not empty."),
    )
    return group_version.struct(
        "AuthenticationConfiguration",
        "How the server authenticates tokens and anonymous requests.",
        *TYPE_META,
        Field("jwt", 0, ListOf(authenticator), "The issuers of tokens.", omitempty=False),
        Field("anonymous", 0, anonymous, "The rules for requests without credentials.", pointer=True),
        kind=True,
    )


AUTHENTICATION_CONFIGURATION = {f"{GROUP}/{version}": _authentication_configuration(version) for version in VERSIONS}
"""The kind AuthenticationConfiguration by apiVersion."""


def _authorization_configuration(version: str) -> Struct:
    """Declare AuthorizationConfiguration at one version. The fields of all versions are the same."""
    group_version = GroupVersion(GROUP, version)
    connection = group_version.struct(
        "WebhookConnectionInfo",
        "How the server finds the webhook.",
        Field("type", 0, STRING, "KubeConfigFile.", omitempty=False),
        Field("kubeConfigFile", 0, STRING, "The path of the kubeconfig.", pointer=True),
    )
    condition = group_version.struct(
        "WebhookMatchCondition",
        "A condition under which the webhook is asked.",
        Field("expression", 0, STRING, "A CEL expression over `request` that must be true.", omitempty=False),
    )
    webhook = group_version.struct(
        "WebhookConfiguration",
        "A webhook that decides.",
        Field("authorizedTTL", 0, _DURATION, "The time for which a positive decision is cached.", omitempty=False),
        Field("cacheAuthorizedRequests", 0, BOOL, "False if positive decisions are not cached.", pointer=True),
        Field("unauthorizedTTL", 0, _DURATION, "The time for which other decisions are cached.", omitempty=False),
        Field("cacheUnauthorizedRequests", 0, BOOL, "False if other decisions are not cached.", pointer=True),
        Field("timeout", 0, _DURATION, "The timeout of a decision, at most 30 seconds.", omitempty=False),
        Field("subjectAccessReviewVersion", 0, STRING, "v1 or v1beta1.", omitempty=False),
        Field("matchConditionSubjectAccessReviewVersion", 0, STRING, "v1.", omitempty=False),
        Field("failurePolicy", 0, STRING, "NoOpinion or Deny.", omitempty=False),
        Field("connectionInfo", 0, connection, "How the server finds the webhook."),
        Field("matchConditions", 0, ListOf(condition), "The conditions under which the webhook is asked."),
    )
    authorizer = group_version.struct(
        "AuthorizerConfiguration",
        "One authorizer.",
        Field("type", 0, STRING, "RBAC, Webhook, AlwaysAllow or AlwaysDeny.", omitempty=False),
        Field("name", 0, STRING, "A name for logs and metrics.", omitempty=False),
        Field("webhook", 0, webhook, "The webhook, if the type is Webhook.", pointer=True),
    )
    return group_version.struct(
        "AuthorizationConfiguration",
        "The authorizers, in the order in which they are asked.",
        *TYPE_META,
        Field("authorizers", 0, ListOf(authorizer), "The authorizers.", omitempty=False),
        kind=True,
    )


AUTHORIZATION_CONFIGURATION = {f"{GROUP}/{version}": _authorization_configuration(version) for version in VERSIONS}
"""The kind AuthorizationConfiguration by apiVersion."""


def _encryption_configuration() -> Struct:
    """Declare EncryptionConfiguration, whose only version is v1."""
    group_version = GroupVersion(GROUP, "v1")
    key = group_version.struct(
        "Key",
        "An encryption key.",
        Field("name", 0, STRING, "The name of the key in stored values.", omitempty=False),
        Field("secret", 0, STRING, "The key in base64.", omitempty=False),
    )
    aes = group_version.struct(
        "AESConfiguration",
        "The keys of an AES provider: 16, 24 or 32 bytes each.",
        Field("keys", 0, ListOf(key), "The keys. The first one encrypts, all of them decrypt.", omitempty=False),
    )
    secretbox = group_version.struct(
        "SecretboxConfiguration",
        "The keys of the provider secretbox: 32 bytes each.",
        Field("keys", 0, ListOf(key), "The keys. The first one encrypts, all of them decrypt.", omitempty=False),
    )
    identity = group_version.struct("IdentityConfiguration", "Values that are stored as they are.")
    kms = group_version.struct(
        "KMSConfiguration",
        "Unsupported: an external key management service.",
        Field("apiVersion", 0, STRING, "The version of the service's API.", omitempty=False),
        Field("name", 0, STRING, "The name of the service.", omitempty=False),
        Field("cachesize", 0, INT32, "The number of cached keys.", pointer=True),
        Field("endpoint", 0, STRING, "The socket of the service.", omitempty=False),
        Field("timeout", 0, _DURATION, "The timeout of a call.", pointer=True),
    )
    provider = group_version.struct(
        "ProviderConfiguration",
        "One provider. Exactly one field is set.",
        Field("aesgcm", 0, aes, "AES-GCM.", pointer=True),
        Field("aescbc", 0, aes, "AES-CBC.", pointer=True),
        Field("secretbox", 0, secretbox, "XSalsa20-Poly1305.", pointer=True),
        Field("identity", 0, identity, "No encryption.", pointer=True),
        Field("kms", 0, kms, "Unsupported.", pointer=True),
    )
    rule = group_version.struct(
        "ResourceConfiguration",
        "The providers of some resources.",
        Field("resources", 0, STRINGS, "Names such as secrets, crontabs.example.com, *.apps or *.*.", omitempty=False),
        Field("providers", 0, ListOf(provider), "The first one writes, all of them read.", omitempty=False),
    )
    return group_version.struct(
        "EncryptionConfiguration",
        "How the server encrypts stored objects.",
        *TYPE_META,
        Field("resources", 0, ListOf(rule), "The rules. Earlier rules take precedence.", omitempty=False),
        kind=True,
    )


ENCRYPTION_CONFIGURATION = {f"{GROUP}/v1": _encryption_configuration()}
"""The kind EncryptionConfiguration by apiVersion."""


def _tracing_configuration(version: str) -> Struct:
    """Declare TracingConfiguration at one version. The fields of all versions are the same."""
    return GroupVersion(GROUP, version).struct(
        "TracingConfiguration",
        "How the server traces requests.",
        *TYPE_META,
        Field("endpoint", 0, STRING, "The collector's address (default: localhost:4317).", pointer=True),
        Field("samplingRatePerMillion", 0, INT32, "The number of traced requests per million.", pointer=True),
        kind=True,
    )


TRACING_CONFIGURATION = {f"{GROUP}/{version}": _tracing_configuration(version) for version in VERSIONS}
"""The kind TracingConfiguration by apiVersion."""
