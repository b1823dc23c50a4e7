"""The context of one request to a resource, and the server's backend."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeVar, cast

import msgspec

from polykind import errors, names
from polykind.admission.admission_chain import AdmissionChain
from polykind.apis.core.service_network import ServiceNetwork
from polykind.auth.authorizer import AlwaysAllow, Authorizer
from polykind.auth.service_account_tokens import ServiceAccountTokens
from polykind.auth.user import User
from polykind.bounded_cache import remember
from polykind.cache.watch_cache import WatchCache
from polykind.contract import Clock, IdSource, RevisionRead, StaleValues, Store
from polykind.golang.fmt import go_quote
from polykind.golang.query import parse_query
from polykind.http.messages import Request
from polykind.memory_policy import memory_policy
from polykind.metrics.metrics import Metrics
from polykind.operations.options import PatchOptions, WriteOptions
from polykind.resources.registry import Registry
from polykind.resources.resource import Resource, ServedVersion
from polykind.workers import INLINE_BYTES, Workers

T = TypeVar("T")
W = TypeVar("W", bound=WriteOptions)


_INLINE_CONTAINERS: Final = 500
"""A body with more JSON objects and lists than this is handled in a worker thread. Also limits the nesting depth."""
_INLINE_STEPS: Final = 20_000


def is_large(data: bytes, steps_per_value: int = 1) -> bool:
    """True if work on JSON or YAML of this size belongs in a worker thread.

    `steps_per_value` is the number of steps that a schema may need for one value.
    """
    if len(data) > INLINE_BYTES:
        return True
    # In YAML, lines and "- " separate values, unless the text begins with a bracket, as JSON does.
    in_lines = data[:1] != b"{"
    if not in_lines:
        # One pass is enough for most objects: they have few brackets and commas.
        few = len(data) - len(data.translate(None, b"{[,"))
        if few <= _INLINE_CONTAINERS and few * steps_per_value <= _INLINE_STEPS:
            return False
    containers = data.count(b"{") + data.count(b"[") + (data.count(b"- ") if in_lines else 0)
    if containers > _INLINE_CONTAINERS:
        return True
    if steps_per_value <= 1:
        return False
    values = containers + data.count(b",") + (data.count(b"\n") if in_lines else 0)
    return values * steps_per_value > _INLINE_STEPS


class Backend(msgspec.Struct):
    """The components of the server that verbs and controllers use."""

    store: Store
    cache: WatchCache
    registry: Registry
    clock: Clock
    ids: IdSource
    metrics: Metrics
    admission: AdmissionChain = msgspec.field(default_factory=AdmissionChain)
    authorizer: Authorizer = msgspec.field(default_factory=AlwaysAllow)
    service_network: ServiceNetwork = msgspec.field(default_factory=ServiceNetwork)
    service_account_tokens: ServiceAccountTokens | None = None
    bookmark_interval: float = 60.0
    unsafe_deletion: bool = False
    """True if the feature gate AllowUnsafeMalformedObjectDeletion is enabled."""
    compresses_watch_lists: bool = False
    """True if the feature gate WatchListCompression is enabled."""
    stale_values: StaleValues | None = None
    """Finds objects that are encrypted with an old key. None if values are not encrypted."""

    @property
    def workers(self) -> Workers:
        """The worker threads for computations on large objects."""
        return self.cache.workers


@remember(256 * 1024)
def _write_options(kind: Any, query: str) -> Any:
    return kind.from_query(parse_query(query))


@remember(256 * 1024)
def _patch_options(query: str, apply: bool) -> PatchOptions:
    return PatchOptions.from_query(parse_query(query), apply=apply)


@lru_cache(maxsize=64)
def timestamp(second: int) -> str:
    """Return a Unix time as text, as in metadata.creationTimestamp."""
    return datetime.fromtimestamp(second, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class RequestContext:
    """A request, the resource version that it addresses, and the backend. Verbs do not modify the context."""

    __slots__ = (
        "_body_is_large",
        "_now",
        "_query",
        "backend",
        "name",
        "namespace",
        "request",
        "resource",
        "revision_read",
        "subresource",
        "version",
    )

    def __init__(
        self,
        backend: Backend,
        request: Request,
        version: ServedVersion,
        namespace: str | None,
        name: str,
        subresource: str,
        revision_read: RevisionRead | None = None,
    ) -> None:
        self.backend = backend
        self.request = request
        self.version = version
        self.resource: Resource = version.resource
        self.namespace = namespace
        """The namespace in the path, or None if the path has no namespace."""
        self.name = name
        self.subresource = subresource
        self.revision_read = revision_read
        """The pending read of the store's newest revision that this request has started, or None."""
        self._query: dict[str, list[str]] | None = None
        self._now = ""
        self._body_is_large: bool | None = None

    @property
    def query(self) -> dict[str, list[str]]:
        if self._query is None:
            self._query = parse_query(self.request.query) if self.request.query else {}
        return self._query

    def write_options(self, kind: type[W]) -> W:
        """Return the options of a create or an update. Clients repeat their queries, so the options are cached."""
        text = self.request.query
        options: W = _write_options(cast(Hashable, kind), text)
        return options

    def patch_options(self, *, apply: bool) -> PatchOptions:
        """Return the options of a patch, cached like those of a create. `apply` is true for server-side apply."""
        text = self.request.query
        return _patch_options(text, apply)

    @property
    def user(self) -> User:
        if self.request.user is None:
            raise AssertionError("the request is not authenticated")
        return self.request.user

    @property
    def key(self) -> str:
        """The object's key in the store, without the prefix of its resource."""
        return self.resource.key(self.namespace or "", self.name)

    # ------------------------------------------------------------------ computations on large objects

    def is_large(self, data: bytes) -> bool:
        """True if work on an object of the request's version belongs in a worker thread."""
        version = self.version
        if version.strategy.expensive and version.strategy.is_expensive(data):
            return True
        return len(data) > version.codec.small_bytes and is_large(data, version.codec.steps_per_value)

    @property
    def body_is_large(self) -> bool:
        """True if work on the request's body belongs in a worker thread."""
        if self._body_is_large is None:
            self._body_is_large = self.is_large(self.request.body)
        return self._body_is_large

    async def compute(self, call: Callable[[], T]) -> T:
        """Run a stage of a large write in a worker thread. Users with waiting requests take turns."""
        self._begin_large()
        return await self.backend.workers.run(self._requester, call)

    async def compute_async(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run an asynchronous stage of a large write in a worker thread. Calls of converters still run on the event
        loop.
        """
        self._begin_large()
        return await self.backend.workers.run_coroutine(self._requester, coroutine)

    async def take_turn(self) -> None:
        """Wait until the next slice of a long response may be encoded. Users take turns."""
        await self.backend.workers.turns.take(self._requester)

    def _begin_large(self) -> None:
        request = self.request
        if request.ended_by_router and not request.is_large:
            request.is_large = True
            memory_policy.begin_large()

    def end(self) -> None:
        """End the request. The router calls this when the verb has returned."""
        request = self.request
        if request.is_large:
            memory_policy.end_large()
            request.is_large = False

    @property
    def _requester(self) -> str:
        return self.request.user.name if self.request.user is not None else ""

    def not_found(self) -> errors.APIError:
        """Return the error for a missing object, or a BadRequestError if the name in the URL is invalid."""
        if reasons := names.path_segment(self.name):
            return errors.BadRequestError(f"Name parameter invalid: {go_quote(self.name)}: {';'.join(reasons)}")
        return self.invalid_key_error(self.name) or self.resource.not_found(self.name)

    def invalid_key_error(self, name: str | None) -> errors.APIError | None:
        """Return kube-apiserver's error for the namespaces "." and "..", whose keys would lie outside its prefix.

        Return None for any other namespace.
        """
        if self.namespace not in (".", ".."):
            return None
        key = "/".join(("", self.resource.group, self.resource.plural, self.namespace, *((name,) if name else ())))
        return errors.UnknownReasonError(f"invalid key: {go_quote(key)}")

    def now(self) -> str:
        """Return the time of the request. All timestamps that the request writes are the same."""
        if not self._now:
            self._now = timestamp(int(self.backend.clock.now().timestamp()))
        return self._now
