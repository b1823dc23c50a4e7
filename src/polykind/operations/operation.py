"""One operation on a resource: what a verb needs to know, whether a client or the server itself wants it done."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, cast

from polykind import errors, names
from polykind.bounded_cache import remember
from polykind.golang.fmt import go_quote
from polykind.golang.query import parse_query
from polykind.operations.charges import Charges
from polykind.operations.lane import Lane
from polykind.operations.notes import Notes
from polykind.operations.options import PatchOptions, WriteOptions

if TYPE_CHECKING:
    from polykind.auth.user import User
    from polykind.contract import RevisionRead
    from polykind.operations.backend import Backend
    from polykind.operations.stream_transport import Transport
    from polykind.resources.resource import Resource, ServedVersion

W = TypeVar("W", bound=WriteOptions)


class Media(NamedTuple):
    """The format of an operation's body, and the formats and the program of its client."""

    content_type: str = ""
    accept: str = ""
    accept_encoding: str = ""
    agent: bytes = b""
    """The program of the client with its version, which is the default of the field manager."""


_NO_MEDIA: Final = Media()


@remember(256 * 1024)
def _write_options(kind: Any, parameters: str) -> Any:
    return kind.from_query(parse_query(parameters))


@remember(256 * 1024)
def _patch_options(parameters: str, apply: bool) -> PatchOptions:
    return PatchOptions.from_query(parse_query(parameters), apply=apply)


@lru_cache(maxsize=64)
def timestamp(second: int) -> str:
    """Return a Unix time as text, as in metadata.creationTimestamp."""
    return datetime.fromtimestamp(second, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Operation:
    """A change or a read of a resource that a client, or the server itself, wants. Verbs do not modify it."""

    __slots__ = (
        "_lane",
        "_now",
        "_query",
        "_transport",
        "backend",
        "body",
        "charges",
        "deadline",
        "media",
        "name",
        "namespace",
        "notes",
        "parameters",
        "resource",
        "revision_read",
        "subresource",
        "user",
        "verb",
        "version",
    )

    def __init__(
        self,
        backend: Backend,
        user: User | None,
        verb: str,
        version: ServedVersion,
        namespace: str | None,
        name: str,
        subresource: str = "",
        parameters: str = "",
        body: bytes = b"",
        media: Media = _NO_MEDIA,
        *,
        notes: Notes | None = None,
        deadline: float | None = None,
        revision_read: RevisionRead | None = None,
        transport: Callable[[], Transport] | None = None,
    ) -> None:
        self.backend = backend
        self.user = user
        """The user who is authorized, or None for an operation that skips authorization and admission."""
        self.verb = verb
        """The verb, as RBAC names it. A watch of a collection is a `list`."""
        self.version = version
        self.resource: Resource = version.resource
        self.namespace = namespace
        """The namespace, or None if the operation concerns all namespaces or has none."""
        self.name = name
        self.subresource = subresource
        self.parameters = parameters
        """The parameters that the options are read from, encoded as in a URL."""
        self.body = body
        self.media = media
        self.notes = Notes() if notes is None else notes
        self.deadline = deadline
        """The time.monotonic() at which the client's timeout ends, or None if the client has set no timeout."""
        self.revision_read = revision_read
        """The pending read of the store's newest revision that was started for this operation, or None."""
        self._transport = transport
        self.charges = Charges()
        self._query: dict[str, list[str]] | None = None
        self._now = ""
        self._lane: Lane | None = None

    @classmethod
    def by_server(
        cls,
        backend: Backend,
        verb: str,
        version: ServedVersion,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str = "",
        user: User | None = None,
        manager: str = "",
        body: bytes = b"",
    ) -> Operation:
        """Return an operation of the server itself. Without a user, it skips authorization and admission.

        `manager` is the field manager if the options of the write do not name one.
        """
        media = Media("application/json", agent=manager.encode())
        operation = cls(backend, user, verb, version, namespace, name, subresource, body=body, media=media)
        operation._lane = Lane(backend.cache.workers, "" if user is None else user.name, version, reports=False)
        return operation

    def at(
        self, version: ServedVersion, *, namespace: str | None, name: str, subresource: str, body: bytes | None = None
    ) -> Operation:
        """Return an operation on another object that is a part of this one: for the same user, with the same notes."""
        part = Operation(
            self.backend,
            self.user,
            self.verb,
            version,
            namespace,
            name,
            subresource,
            self.parameters,
            self.body if body is None else body,
            self.media,
            notes=self.notes,
            deadline=self.deadline,
            revision_read=self.revision_read,
            transport=self._transport,
        )
        part.charges = self.charges
        part._lane = self.lane.at(version)
        return part

    # ------------------------------------------------------------------ options

    @property
    def query(self) -> dict[str, list[str]]:
        """The values of each parameter."""
        if self._query is None:
            self._query = parse_query(self.parameters) if self.parameters else {}
        return self._query

    def options(self, kind: type[W]) -> W:
        """Return the options of a create or an update. Clients repeat their parameters, so the options are cached."""
        if not self.parameters:
            return kind()
        options: W = _write_options(cast(Hashable, kind), self.parameters)
        return options

    def patch_options(self, *, apply: bool) -> PatchOptions:
        """Return the options of a patch, cached like those of a create. `apply` is true for server-side apply."""
        return _patch_options(self.parameters, apply)

    # ------------------------------------------------------------------ running

    @property
    def lane(self) -> Lane:
        """The lane in which the steps run, opened when the first step needs it. A read of stored bytes needs none."""
        if self._lane is None:
            self._lane = Lane(self.backend.cache.workers, "" if self.user is None else self.user.name, self.version)
        return self._lane

    def end(self) -> None:
        """End an operation of a client: forget its large objects and the quotas that it has not used."""
        if self._lane is not None:
            self._lane.end()
        self.charges.close()

    @property
    def client(self) -> User:
        """The user of an operation that has one."""
        if self.user is None:
            raise AssertionError("the operation has no user")
        return self.user

    @property
    def transport(self) -> Transport:
        """The transport of streams to the client. An operation of the server has no client."""
        if self._transport is None:
            raise AssertionError("the operation has no client")
        return self._transport()

    def now(self) -> str:
        """Return the time of the operation. All timestamps that it writes are the same."""
        if not self._now:
            self._now = timestamp(int(self.backend.clock.now().timestamp()))
        return self._now

    # ------------------------------------------------------------------ the object

    @property
    def key(self) -> str:
        """The object's key in the store, without the prefix of its resource."""
        return self.resource.key(self.namespace or "", self.name)

    def not_found(self) -> errors.APIError:
        """Return the error for a missing object, or a BadRequestError if the name is invalid."""
        if reasons := names.path_segment(self.name):
            return errors.BadRequestError(f"Name parameter invalid: {go_quote(self.name)}: {';'.join(reasons)}")
        return self.invalid_key_error(self.name) or self.resource.not_found(self.name)

    def invalid_key_error(self, name: str | None) -> errors.APIError | None:
        """Return kube-apiserver's error for the namespaces "." and "..", whose keys would lie outside its prefix.

        Return None for any other namespace.
        """
        if self.namespace not in (".", ".."):
            return None
        prefix = self.resource.cache.prefix.removeprefix(self.backend.cache.prefix)
        key = "/".join((f"/{prefix.rstrip('/')}", self.namespace, *((name,) if name else ())))
        return errors.UnknownReasonError(f"invalid key: {go_quote(key)}")
