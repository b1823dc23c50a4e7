"""The authentication of the token in a TokenReview."""

from __future__ import annotations

from polykind.auth.identity_review import FindUser
from polykind.auth.service_account_claims import TokenError
from polykind.auth.token_authenticators import TokenAuthenticators, UnknownIssuerError
from polykind.auth.tokens import Tokens
from polykind.contract import JsonObject

_INVALID = "invalid bearer token"


def token_finder(tokens: Tokens, authenticators: TokenAuthenticators) -> FindUser:
    """Return a function that finds the user of a static token or of a JSON Web Token."""

    async def find_user(token: str, audiences: list[str]) -> tuple[JsonObject, list[str]]:
        own = authenticators.audiences
        user = tokens.find(token.encode("utf-8", "replace"))
        shared = [audience for audience in audiences or own if audience in own]
        if user is not None and shared:
            return user.info(), shared
        if user is not None:
            raise TokenError(_INVALID)
        try:
            account, shared = await authenticators.authenticate(token, audiences)
        except UnknownIssuerError:
            raise TokenError(_INVALID) from None
        except TokenError as error:
            # kube-apiserver joins the errors of its two authenticators.
            raise TokenError(f"[{_INVALID}, {error}]") from None
        return account.info(), shared

    return find_user
