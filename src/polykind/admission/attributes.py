"""The attributes of a request that admission plugins see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from polykind.admission.admission_chain import Reinvocation
from polykind.apply.model import Type
from polykind.auth.authorizer import AlwaysAllow, Authorizer
from polykind.auth.user import User
from polykind.contract import JsonObject
from polykind.operations.charges import QuotaCharge
from polykind.operations.notes import Notes

if TYPE_CHECKING:
    from polykind.cel.library.authz import AuthorizationAttributes, AuthorizationResult

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"

Convert = Callable[[JsonObject, str], Awaitable[JsonObject | None]]
"""A function that converts an object to another apiVersion of its resource, or returns None if that version is not
served.
"""


T = TypeVar("T")


class Compute(Protocol):
    """Runs a computation and returns its result."""

    def __call__(self, step: Callable[..., T], /, *args: Any) -> Awaitable[T]: ...


async def compute_inline(step: Callable[..., T], *args: Any) -> T:
    """Run a computation on small objects."""
    return step(*args)


class RequestResource(msgspec.Struct, frozen=True):
    """The resource of a request and the kind of the object in its body, which is Scale for the subresource `scale`."""

    group: str
    version: str
    plural: str
    subresource: str
    kind: str
    kind_version: str
    """The apiVersion of the object in the request body."""
    namespaced: bool
    versions: tuple[str, ...]
    """All served versions of the resource."""
    equivalents: tuple[str, ...]
    """The served apiVersions that have the request's subresource, also in other groups that serve the same objects.

    matchPolicy Equivalent matches at all of them.
    """

    @property
    def api_version(self) -> str:
        """The apiVersion of the resource in the request's path."""
        return f"{self.group}/{self.version}" if self.group else self.version


class Attributes(msgspec.Struct):
    """The attributes of one write or connection (admission.Attributes in Go)."""

    operation: str
    resource: RequestResource
    namespace: str
    """The namespace of the object, or "" if the object is cluster-scoped."""
    name: str
    """The name of the object. Empty if unknown: for an object with generateName, and in a deletecollection."""
    obj: JsonObject | None
    """The new object at the request's version. Mutating plugins replace it. None for DELETE.

    For CONNECT, it is the options of the connection, such as a PodExecOptions.
    """
    old: JsonObject | None
    """The existing object. None for CREATE and CONNECT."""
    options: JsonObject | None
    """The CreateOptions, UpdateOptions or DeleteOptions of the request. None for CONNECT."""
    dry_run: bool
    user: User
    convert: Convert
    default: Callable[[JsonObject], JsonObject]
    """A function that decodes and defaults an object that a mutating plugin has changed."""
    namespace_object: Callable[[], JsonObject | None]
    """A function that returns the namespace of the object, or the object itself if it is a Namespace.

    The function returns None if the object is cluster-scoped.
    """
    notes: Notes
    """Warnings for the client, and annotations and latencies for the audit."""
    apply_type: Callable[[str], Type | None] = msgspec.field(default=lambda api_version: None)
    """A function that returns the field types of the object at an apiVersion, or None if they are unknown."""
    strict_error: Callable[[JsonObject], str] = msgspec.field(default=lambda obj: "")
    """A function that returns the strict decoder's error about an object that a mutating plugin has changed, or ""."""
    authorizer: Authorizer = msgspec.field(default_factory=AlwaysAllow)
    authorization_results: dict[AuthorizationAttributes, AuthorizationResult] = {}
    """The results of authorizer checks by CEL expressions. A repeated check returns the same result."""
    reinvocation: Reinvocation = msgspec.field(default_factory=Reinvocation)
    changed: bool = False
    """True if a mutating plugin has replaced `obj`."""
    implied_type: bool = False
    """True if an object without apiVersion and kind gets those of the resource, as for built-in types."""
    charge: QuotaCharge | None = None
    """The usage of quotas that the ResourceQuota plugin has recorded for the request."""
    compute: Compute = compute_inline
    """A function that runs a computation on the objects: in a worker thread if they are large."""
    grow: Callable[[], None] = lambda: None
    """A function that is called when a large object may be made of a small one. Computations move to worker threads."""
    deadline: float | None = None
    """The time.monotonic() at which the client's timeout ends the request, or None if the request has no timeout."""
