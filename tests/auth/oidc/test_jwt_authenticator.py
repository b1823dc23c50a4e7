"""Authentication of tokens by a real provider over TLS."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from polykind.auth.oidc.jwt_authenticator import JWTAuthenticator
from polykind.auth.service_account_claims import TokenError
from polykind.auth.token_keys import ALGORITHMS
from polykind.auth.user import User
from polykind.clock import SystemClock
from polykind.codec import json_codec
from tests.auth.oidc.issuer import Issuer, new_key, new_rsa_key
from tests.support.waiting import eventually_async


class ShiftedClock(SystemClock):
    """The system clock, shifted by an interval that the test sets."""

    shift = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.shift


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with Issuer().serve() as issuer:
        yield issuer


@asynccontextmanager
async def started(config: Any, clock: Any = None, algorithms: Any = ALGORITHMS) -> AsyncIterator[JWTAuthenticator]:
    authenticator = JWTAuthenticator(config, algorithms, clock or SystemClock(), retry_seconds=0.01)
    authenticator.start()
    try:
        await eventually_async(lambda: not authenticator.problem)
        yield authenticator
    finally:
        await authenticator.close()


async def test_token_of_the_issuer_authenticates(issuer: Issuer) -> None:
    async with started(issuer.config(groups={"claim": "groups", "prefix": "oidc:"})) as authenticator:
        token = issuer.token(groups=["dev", "ops"], jti="7")
        assert authenticator.is_issuer(token)
        user = await authenticator.authenticate(token)
        extra = {"authentication.kubernetes.io/credential-id": ("JTI=7",)}
        assert user == User("jane", "", ("oidc:dev", "oidc:ops", "system:authenticated"), extra)


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"aud": "other"}, r'expected audience in \["polykind"\] got \["other"\]'),
        ({"aud": ["other", "third"]}, r'got \["other" "third"\]'),
        ({"exp": 1}, r"token is expired \(Token Expiry: 1970-01-01 00:00:01 \+0000 UTC\)"),
        ({"exp": None}, r"token is expired \(Token Expiry: 0001-01-01 00:00:00 \+0000 UTC\)"),
        ({"nbf": int(time.time()) + 7200}, r"before the nbf \(not before\) time: \d{4}-"),
        ({"sub": None}, 'parse username claims "sub": claim not present'),
        ({"sub": 7}, r"cannot unmarshal number into Go struct field idToken\.sub of type string"),
        ({"nonce": {}}, r"cannot unmarshal object into Go struct field idToken\.nonce of type string"),
        ({"aud": {"polykind": 1}}, r"cannot unmarshal object into Go struct field idToken\.aud of type \[\]string"),
        ({"aud": ["polykind", 7]}, r"cannot unmarshal number into Go struct field idToken\.aud of type string"),
        ({"exp": True}, r"cannot unmarshal bool into Go struct field idToken\.exp of type json\.Number"),
        ({"nbf": {}}, r"cannot unmarshal object into Go struct field idToken\.nbf of type json\.Number"),
        ({"iat": "now"}, "invalid number literal, trying to unmarshal"),
        ({"iat": []}, r"cannot unmarshal array into Go struct field idToken\.iat of type json\.Number"),
        ({"_claim_names": 7}, "failed to unmarshal claims"),
        ({"_claim_names": {"groups": 7}}, "failed to unmarshal claims"),
    ],
)
async def test_invalid_claims_are_rejected(issuer: Issuer, claims: dict[str, Any], message: str) -> None:
    async with started(issuer.config()) as authenticator:
        with pytest.raises(TokenError, match=message):
            await authenticator.authenticate(issuer.token(**claims))


@pytest.mark.parametrize(("value", "accepted"), [(0.5, True), ("", False)])
async def test_expiry_can_be_a_fraction_or_a_string(issuer: Issuer, value: float | str, accepted: bool) -> None:
    """go-oidc reads both, and CEL expressions see numbers as doubles."""
    expiry = int(time.time()) + 600
    claim = expiry + value if isinstance(value, float) else str(expiry)
    config = issuer.config() | {"claimValidationRules": [{"expression": "claims.exp - claims.iat <= 7200"}]}
    async with started(config) as authenticator:
        if accepted:
            assert (await authenticator.authenticate(issuer.token(exp=claim))).name == "jane"
        else:
            with pytest.raises(TokenError, match="no such overload"):
                await authenticator.authenticate(issuer.token(exp=claim))


async def test_repeated_groups_are_kept(issuer: Issuer) -> None:
    async with started(issuer.config(groups={"claim": "groups", "prefix": ""})) as authenticator:
        user = await authenticator.authenticate(issuer.token(groups=["x", "x"]))
        assert user.groups == ("x", "x", "system:authenticated")


async def test_token_of_another_key_is_rejected(issuer: Issuer) -> None:
    async with started(issuer.config()) as authenticator:
        with pytest.raises(TokenError, match="failed to verify signature"):
            await authenticator.authenticate(issuer.token(key=new_key()))


async def test_tampered_token_is_rejected(issuer: Issuer) -> None:
    async with started(issuer.config()) as authenticator:
        header, _, signature = issuer.token().split(".")
        _, claims, _ = issuer.token(sub="admin").split(".")
        with pytest.raises(TokenError, match="failed to verify signature"):
            await authenticator.authenticate(f"{header}.{claims}.{signature}")


async def test_algorithm_that_is_not_allowed_is_rejected(issuer: Issuer) -> None:
    async with started(issuer.config(), algorithms=("RS256",)) as authenticator:
        with pytest.raises(TokenError, match='unsupported algorithm, expected \\["RS256"\\] got "ES256"'):
            await authenticator.authenticate(issuer.token())


async def test_rotated_key_is_fetched_once_and_the_old_one_stays_valid(issuer: Issuer) -> None:
    clock = ShiftedClock()
    async with started(issuer.config(), clock) as authenticator:
        await authenticator.authenticate(issuer.token(sub="a"))
        assert issuer.key_fetches == 1
        rotated = new_rsa_key()
        issuer.keys.append(rotated)
        clock.shift = timedelta(seconds=11)
        tokens = [issuer.token(key=rotated, sub=name) for name in "bcd"]
        users = await asyncio.gather(*(authenticator.authenticate(token) for token in tokens))
        assert [user.name for user in users] == ["b", "c", "d"]
        assert issuer.key_fetches == 2
        assert (await authenticator.authenticate(issuer.token(sub="e"))).name == "e"


async def test_fresh_keys_are_not_fetched_again(issuer: Issuer) -> None:
    issuer.cache_control = "public, max-age=3600"
    clock = ShiftedClock()
    async with started(issuer.config(), clock) as authenticator:
        await authenticator.authenticate(issuer.token())
        for shift, fetches in ((60, 1), (3601, 2)):
            clock.shift = timedelta(seconds=shift)
            with pytest.raises(TokenError):
                await authenticator.authenticate(issuer.token(key=new_key(), exp=int(time.time()) + 9999))
            assert issuer.key_fetches == fetches


async def test_critical_extension_is_rejected(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    encode = json_codec.encode
    crit = {"crit": ["exp"], "exp": 1}
    monkeypatch.setattr(json_codec, "encode", lambda value: encode({**value, **crit} if "alg" in value else value))
    token = issuer.token()
    monkeypatch.undo()
    async with started(issuer.config()) as authenticator:
        with pytest.raises(TokenError, match="failed to verify id token signature"):
            await authenticator.authenticate(token)
        assert issuer.key_fetches == 0


async def test_other_spelling_of_a_token_is_rejected(issuer: Issuer) -> None:
    token = issuer.token()
    async with started(issuer.config()) as authenticator:
        await authenticator.authenticate(token)
        for spelling in (f"{token}=", f"{token}!", token.replace(".", "=.", 1)):
            with pytest.raises(TokenError, match="malformed jwt"):
                await authenticator.authenticate(spelling)


async def test_failed_fetches_of_keys_are_not_repeated_at_once(issuer: Issuer) -> None:
    clock = ShiftedClock()
    async with started(issuer.config(), clock) as authenticator:
        issuer.keys = [object()]  # type: ignore[list-item]  # the provider responds 500
        for shift, fetches in ((0, 1), (0, 1), (5, 1), (11, 2)):
            clock.shift = timedelta(seconds=shift)
            with pytest.raises(TokenError, match="failed to verify signature"):
                await authenticator.authenticate(issuer.token(key=new_key()))
            assert issuer.key_fetches == fetches


async def test_flood_of_unknown_keys_causes_one_fetch(issuer: Issuer) -> None:
    async with started(issuer.config()) as authenticator:
        for _ in range(5):
            with pytest.raises(TokenError):
                await authenticator.authenticate(issuer.token(key=new_key()))
        assert issuer.key_fetches == 1


async def test_provider_that_starts_late_is_found(issuer: Issuer) -> None:
    issuer.available = False
    authenticator = JWTAuthenticator(issuer.config(), ALGORITHMS, SystemClock(), retry_seconds=0.01)
    with pytest.raises(TokenError, match="authenticator not initialized"):
        await authenticator.authenticate(issuer.token())
    authenticator.start()
    async with asyncio.timeout(20):
        await eventually_async(lambda: "503" in authenticator.problem)
        issuer.available = True
        await eventually_async(lambda: not authenticator.problem)
    assert (await authenticator.authenticate(issuer.token())).name == "jane"
    await authenticator.close()


async def test_discovery_document_of_another_issuer_is_rejected(issuer: Issuer) -> None:
    issuer.discovery = {"issuer": "https://other.example.com"}
    authenticator = JWTAuthenticator(issuer.config(), ALGORITHMS, SystemClock(), retry_seconds=0.01)
    authenticator.start()
    await eventually_async(lambda: "issuer did not match" in authenticator.problem)
    await authenticator.close()


async def test_expired_token_is_rejected_although_its_user_is_cached(issuer: Issuer) -> None:
    clock = ShiftedClock()
    async with started(issuer.config(), clock) as authenticator:
        token = issuer.token(exp=int(time.time()) + 5)
        assert (await authenticator.authenticate(token)).name == "jane"
        clock.shift = timedelta(seconds=6)
        with pytest.raises(TokenError, match="expired"):
            await authenticator.authenticate(token)
