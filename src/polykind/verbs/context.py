"""One request that has found its resource: what the verbs work on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from polykind import errors
from polykind.admission.admission import Admission
from polykind.auth.authorizer import AlwaysAllow, Authorizer
from polykind.auth.user import User
from polykind.cache.watch_cache import WatchCache
from polykind.contract import Clock, IdSource, JsonObject, RevisionRead, Store
from polykind.golang.fmt import go_quote
from polykind.http.messages import Request, parse_query
from polykind.metrics.metrics import Metrics
from polykind.resources.registry import Registry
from polykind.resources.resource import Resource, ServedVersion
from polykind.schema import names


@dataclass(slots=True)
class Backend:
    """What every verb needs of the server."""

    store: Store
    cache: WatchCache
    registry: Registry
    clock: Clock
    ids: IdSource
    metrics: Metrics
    admission: Admission = field(default_factory=Admission)
    authorizer: Authorizer = field(default_factory=AlwaysAllow)
    bookmark_interval: float = 60.0


@lru_cache(maxsize=64)
def _stamp(second: int) -> str:
    return datetime.fromtimestamp(second, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class RequestContext:
    """A request, the resource it is about, and which part of it."""

    __slots__ = (
        "_now",
        "_query",
        "asked",
        "backend",
        "misfit",
        "name",
        "namespace",
        "request",
        "resource",
        "subresource",
        "unread",
        "version",
        "was_whole",
        "whole",
    )

    def __init__(
        self, api: Backend, request: Request, version: ServedVersion, namespace: str | None, name: str, subresource: str
    ) -> None:
        self.backend = api
        self.request = request
        self.version = version
        self.resource: Resource = version.resource
        self.namespace = namespace
        """None: not named in the path."""
        self.name = name
        self.subresource = subresource
        self._query: dict[str, list[str]] | None = None
        self._now = ""
        self.asked: RevisionRead | None = None
        """The question for the newest revision, if it was sent when this began."""
        self.whole = False
        """Whether the body is known to have whole numbers only."""
        self.was_whole = False
        """Whether that is known of the object that it changes."""
        self.misfit = ""
        """What a decoder has against the metadata that was applied, or that others have made of the object."""
        self.unread: JsonObject = {}
        """What was applied of the metadata and is stored so, though a read gives it otherwise or not at all."""

    @property
    def query(self) -> dict[str, list[str]]:
        if self._query is None:
            self._query = parse_query(self.request.query) if self.request.query else {}
        return self._query

    @property
    def user(self) -> User:
        if self.request.user is None:
            raise AssertionError("not authenticated")
        return self.request.user

    @property
    def key(self) -> str:
        """The object's key below the resource's prefix."""
        return self.resource.key(self.namespace or "", self.name)

    def missing(self) -> errors.APIError:
        """What is said where there is no object of that name: that there can be none, if so."""
        if why := names.path_segment(self.name):
            return errors.BadRequestError(f"Name parameter invalid: {go_quote(self.name)}: {';'.join(why)}")
        return self.stray(self.name) or self.resource.not_found(self.name)

    def stray(self, name: str | None) -> errors.APIError | None:
        """What is said of keys that would lead out of their namespace's place in the store."""
        if self.namespace not in (".", ".."):
            return None
        kind = self.resource
        key = "/".join(("", kind.group, kind.plural, self.namespace, *((name,) if name else ())))
        return errors.UnknownReasonError(f"invalid key: {go_quote(key)}")

    def now(self) -> str:
        """The time of the request, the same for all that it writes."""
        if not self._now:
            self._now = _stamp(int(self.backend.clock.now().timestamp()))
        return self._now
