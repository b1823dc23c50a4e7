"""Limits on the requests and watches of each user."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from pathlib import Path

from polykind import errors
from polykind.auth.user import ADMIN_GROUP, User
from polykind.contract import JsonObject
from polykind.metrics.metrics import Metrics
from polykind.operations.responses import Stream
from polykind.server.settings import SettingsError

log = logging.getLogger("polykind.ratelimits")

_MAX_USERS = 10_000
"""The number of users whose buckets are kept. Beyond it, users that are idle are forgotten."""
_OUTDATED = ("",)
"""No user has these groups, so that the limits of a user are looked up again."""
_READS = frozenset(("GET", "HEAD", "OPTIONS"))


class _Bucket:
    """A token bucket: `burst` requests at once, then `rate` requests per second."""

    __slots__ = ("burst", "rate", "since", "tokens")

    def __init__(self, rate: JsonObject, now: float) -> None:
        self.rate = float(rate["perSecond"])
        self.burst = float(rate["burst"])
        self.tokens = self.burst
        self.since = now

    def take(self, now: float) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        tokens = self.tokens + (now - self.since) * self.rate
        self.since = now
        if tokens > self.burst:
            tokens = self.burst
        if tokens >= 1.0:
            self.tokens = tokens - 1.0
            return 0.0
        self.tokens = tokens
        return (1.0 - tokens) / self.rate


class UserLimits:
    """The limits of one user, with the current state."""

    __slots__ = ("_metrics", "_monotonic", "groups", "name", "open_watches", "reads", "watches", "writes")

    def __init__(self, limit: JsonObject, user: User, monotonic: Callable[[], float], metrics: Metrics) -> None:
        now = monotonic()
        self._monotonic = monotonic
        self._metrics = metrics
        self.name: str = limit.get("name", "")
        self.groups = user.groups
        self.reads = _Bucket(limit["reads"], now) if limit.get("reads") else None
        self.writes = _Bucket(limit["writes"], now) if limit.get("writes") else None
        self.watches: int | None = limit.get("watches")
        self.open_watches = 0

    def take(self, method: str) -> None:
        """Count a request. Raise TooManyRequestsError if the user has sent too many."""
        bucket = self.reads if method in _READS else self.writes
        if bucket is None:
            return
        wait = bucket.take(self._monotonic())
        if wait:
            kind = "read" if bucket is self.reads else "write"
            self._metrics.rate_limited.of(self.name, kind).add()
            raise errors.TooManyRequestsError(
                f"too many {kind} requests by this user (limit {self.name}: {bucket.rate:g} per second), "
                "please try again later",
                retry_after=max(1, math.ceil(wait)),
            )

    def begin_watch(self) -> None:
        """Count a watch that begins. Raise TooManyRequestsError if the user has too many open watches."""
        if self.watches is not None and self.open_watches >= self.watches:
            self._metrics.rate_limited.of(self.name, "watch").add()
            raise errors.TooManyRequestsError(
                f"too many open watches by this user (limit {self.name}: {self.watches}), please try again later",
                retry_after=1,
            )
        self.open_watches += 1

    def end_watch(self) -> None:
        self.open_watches -= 1

    def end_with(self, stream: Stream) -> None:
        """Count a watch until its stream ends."""
        end_stream = stream.on_end

        def on_end() -> None:
            self.end_watch()
            end_stream()

        stream.on_end = on_end

    def is_idle(self, now: float) -> bool:
        """True if the limits can be forgotten: no watch is open, and all buckets are full."""
        buckets = [bucket for bucket in (self.reads, self.writes) if bucket is not None]
        full = all(bucket.tokens + (now - bucket.since) * bucket.rate >= bucket.burst for bucket in buckets)
        return full and not self.open_watches


class RateLimits:
    """The limits of all users, as --rate-limit-config-file declares them. Members of system:masters have none."""

    def __init__(self, path: Path, monotonic: Callable[[], float], metrics: Metrics) -> None:
        self._path = path
        self._monotonic = monotonic
        self._metrics = metrics
        self._limits = read_rate_limits(path)
        self._users: dict[str, UserLimits] = {}

    def of(self, user: User) -> UserLimits | None:
        """Return the limits of a user. Return None if the user has no limits."""
        limits = self._users.get(user.name)
        if limits is None or limits.groups is not user.groups:
            if ADMIN_GROUP in user.groups:
                return None
            if limits is None or limits.groups != user.groups:
                limits = self._begin(user)
        return limits

    def reload(self) -> None:
        """Read the file again. If it is invalid, keep the previous limits. Open watches still count."""
        try:
            self._limits = read_rate_limits(self._path)
        except SettingsError as error:
            log.error("rate limits: cannot reload %s, keeping the previous limits: %s", self._path, error)
            return
        self._users = {name: limits for name, limits in self._users.items() if limits.open_watches}
        for limits in self._users.values():
            limits.groups = _OUTDATED
        log.info("rate limits: reloaded %s", self._path)

    def _begin(self, user: User) -> UserLimits:
        previous = self._users.pop(user.name, None)
        if len(self._users) >= _MAX_USERS:
            self._forget()
        limit: JsonObject = next((limit for limit in self._limits if _matches(limit, user)), {})
        limits = UserLimits(limit, user, self._monotonic, self._metrics)
        if previous is not None:
            limits.open_watches = previous.open_watches
        self._users[user.name] = limits
        return limits

    def _forget(self) -> None:
        """Forget idle users, or the oldest ones if none is idle."""
        now = self._monotonic()
        busy = [name for name, limits in self._users.items() if not limits.is_idle(now)]
        kept = busy[-_MAX_USERS // 2 :]
        self._users = {name: self._users[name] for name in kept}


def _matches(limit: JsonObject, user: User) -> bool:
    users, groups = limit.get("users") or (), limit.get("groups") or ()
    return not (users or groups) or user.name in users or any(group in groups for group in user.groups)


def read_rate_limits(path: Path) -> list[JsonObject]:
    """Return the limits of a RateLimitConfiguration. Raise SettingsError if the file is invalid."""
    from polykind.apis.ratelimits.types import CONFIGURATION
    from polykind.server.config_file import ConfigFileError, read_config

    try:
        limits: list[JsonObject] = read_config(path, CONFIGURATION).get("limits") or []
    except ConfigFileError as error:
        raise SettingsError(f"--rate-limit-config-file: {error}") from None
    problems = [problem for index, limit in enumerate(limits) for problem in _problems(limit, f"limits[{index}]")]
    if problems:
        raise SettingsError(f"--rate-limit-config-file: {path}: {'; '.join(problems)}")
    return limits


def _problems(limit: JsonObject, at: str) -> list[str]:
    problems = [] if limit.get("name") else [f"{at}.name: Required value"]
    for field in ("reads", "writes"):
        rate = limit.get(field)
        if rate is not None and not rate.get("perSecond", 0) > 0:
            problems.append(f"{at}.{field}.perSecond: must be greater than 0")
        if rate is not None and not rate.get("burst", 0) >= 1:
            problems.append(f"{at}.{field}.burst: must be at least 1")
    if limit.get("watches") is not None and limit["watches"] < 0:
        problems.append(f"{at}.watches: must not be negative")
    return problems
