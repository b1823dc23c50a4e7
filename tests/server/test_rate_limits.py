"""Limits on the requests and watches of each user."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from polykind import errors
from polykind.auth.user import User
from polykind.metrics.metrics import Metrics
from polykind.server import rate_limits
from polykind.server.rate_limits import RateLimits, UserLimits
from polykind.server.settings import SettingsError
from tests.support.client import Client
from tests.support.live import live

CONFIG = """
apiVersion: polykind.dev/v1
kind: RateLimitConfiguration
limits:
- name: robots
  users: [ci]
  groups: [robots]
  writes: {perSecond: 2, burst: 3}
  watches: 1
- name: people
  reads: {perSecond: 0.5, burst: 1}
"""
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


class Now:
    seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def limits(tmp_path: Path, now: Now) -> RateLimits:
    path = tmp_path / "limits.yaml"
    path.write_text(CONFIG)
    return RateLimits(path, now, Metrics())


def user(name: str, *groups: str) -> User:
    return User(name, groups=(*groups, "system:authenticated"))


def of(limits: RateLimits, name: str, *groups: str) -> UserLimits:
    found = limits.of(user(name, *groups))
    assert found is not None
    return found


def rejection(limits: UserLimits, method: str) -> errors.APIError | None:
    try:
        limits.take(method)
    except errors.TooManyRequestsError as error:
        return error
    return None


def test_burst_then_steady_rate(limits: RateLimits, now: Now) -> None:
    ci = of(limits, "ci")
    assert [rejection(ci, "POST") is None for _ in range(4)] == [True, True, True, False]
    now.seconds += 0.5
    assert [rejection(ci, method) is None for method in ("DELETE", "PATCH")] == [True, False]
    now.seconds += 100
    assert sum(rejection(ci, "PUT") is None for _ in range(10)) == 3
    assert all(rejection(ci, "GET") is None for _ in range(100))


def test_error_tells_when_to_retry(limits: RateLimits) -> None:
    person = of(limits, "eve")
    assert rejection(person, "GET") is None
    error = rejection(person, "GET")
    assert error is not None
    status = error.status()
    assert (status["code"], status["reason"]) == (429, "TooManyRequests")
    assert status["details"]["retryAfterSeconds"] == 2
    assert "limit people: 0.5 per second" in status["message"]


def test_first_matching_limit_applies_and_users_do_not_share_it(limits: RateLimits) -> None:
    assert of(limits, "r2", "robots").name == of(limits, "ci").name == "robots"
    assert of(limits, "eve") is of(limits, "eve")
    assert of(limits, "eve") is not of(limits, "bob")
    assert of(limits, "eve", "robots").name == "robots"


def test_administrators_have_no_limits(limits: RateLimits) -> None:
    assert limits.of(user("ci", "system:masters")) is None


def test_open_watches_are_limited(limits: RateLimits) -> None:
    ci = of(limits, "ci")
    ci.begin_watch()
    with pytest.raises(errors.TooManyRequestsError, match="too many open watches"):
        ci.begin_watch()
    ci.end_watch()
    ci.begin_watch()


def test_reload_applies_new_limits_and_keeps_open_watches(limits: RateLimits, tmp_path: Path) -> None:
    of(limits, "ci").begin_watch()
    path = tmp_path / "limits.yaml"
    path.write_text("nonsense")
    limits.reload()
    assert of(limits, "ci").name == "robots"
    path.write_text(CONFIG.replace("robots", "machines").replace("watches: 1", "watches: 2"))
    limits.reload()
    ci = of(limits, "ci")
    assert (ci.name, ci.open_watches, ci.watches) == ("machines", 1, 2)


def test_idle_users_are_forgotten(limits: RateLimits, now: Now, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "_MAX_USERS", 10)
    busy = of(limits, "busy")
    busy.take("GET")
    for number in range(30):
        of(limits, f"u{number}")
    assert of(limits, "busy") is busy
    now.seconds += 10
    for number in range(30):
        of(limits, f"u{number}")
    assert of(limits, "busy") is not busy


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("perSecond: 2", "perSecond: 0", "limits[0].writes.perSecond: must be greater than 0"),
        ("burst: 3", "burst: 0", "limits[0].writes.burst: must be at least 1"),
        ("watches: 1", "watches: -1", "limits[0].watches: must not be negative"),
        ("name: people", "name: ''", "limits[1].name: Required value"),
        ("reads:", "read:", 'unknown field "limits[1].read"'),
        ("polykind.dev/v1", "polykind.dev/v2", "use polykind.dev/v1"),
    ],
)
def test_invalid_configuration(tmp_path: Path, old: str, new: str, problem: str) -> None:
    path = tmp_path / "limits.yaml"
    path.write_text(CONFIG.replace(old, new))
    with pytest.raises(SettingsError) as raised:
        rate_limits.read_rate_limits(path)
    assert problem in str(raised.value)


async def test_server_rejects_and_counts_requests_above_the_limit(tmp_path: Path) -> None:
    config, tokens = tmp_path / "limits.yaml", tmp_path / "tokens.csv"
    config.write_text(CONFIG.replace("perSecond: 2,", "perSecond: 0.001,"))
    tokens.write_text('secret,ci,1,"robots"\n')
    settings: dict[str, Any] = {
        "rate_limit_config_file": config,
        "token_auth_file": tokens,
        "authorization_mode": ("AlwaysAllow",),
    }
    async with live(tmp_path, **settings) as running:
        async with Client(running.server.url, "secret") as ci:
            replies = [await ci.call("POST", CONFIG_MAPS, {"metadata": {"name": f"c{n}"}}) for n in range(4)]
            assert [reply.status for reply in replies] == [201, 201, 201, 429]
            assert replies[3].headers[b"retry-after"] == b"1000"
            assert replies[3].json()["details"] == {"retryAfterSeconds": 1000}

            async def watch_once() -> int:
                async with Client(running.server.url, "secret") as client:
                    async for _ in client.lines(f"{CONFIG_MAPS}?watch=1"):
                        return (await ci.call("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")).status
                raise AssertionError("the watch ended")

            # The first watch is closed with its connection, so that the second one is allowed again.
            assert await watch_once() == 429
            async with asyncio.timeout(20):
                while (await ci.call("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1")).status != 200:
                    await asyncio.sleep(0.01)
        for number in range(9):
            await running.ask("POST", CONFIG_MAPS, {"metadata": {"name": f"admin{number}"}})
        metrics = (await running.ask("GET", "/metrics")).decode()
        assert 'polykind_rate_limited_requests_total{kind="write",limit="robots"} 1' in metrics
        assert 'polykind_rate_limited_requests_total{kind="watch",limit="robots"}' in metrics
