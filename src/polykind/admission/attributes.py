"""What admission is asked about: one write, before it happens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polykind.admission.reinvocation import Reinvocation
from polykind.apply.model import Type
from polykind.auth.authorizer import AlwaysAllow, Authorizer
from polykind.auth.user import User
from polykind.contract import JsonObject

if TYPE_CHECKING:
    from polykind.cel.library.authz import AuthorizationAttributes, AuthorizationResult

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"

Convert = Callable[[JsonObject, str], Awaitable[JsonObject | None]]
"""An object at another apiVersion of its resource; None where that is not served."""


@dataclass(frozen=True, slots=True)
class Resource:
    """What is written to: group, version and plural, and the kind of its objects, by apiVersion and name.

    The kind is that of the payload: of a Scale where the subresource is `scale`.
    """

    group: str
    version: str
    plural: str
    subresource: str
    kind: str
    kind_version: str
    """The payload's apiVersion."""
    namespaced: bool
    versions: tuple[str, ...]
    """All versions that the resource is served at, this one among them."""
    equivalents: tuple[str, ...]
    """Those of them that have the subresource, too: a write there is the same as one here."""


@dataclass(slots=True)
class Attributes:
    """One write that is under way."""

    operation: str
    resource: Resource
    namespace: str
    """Empty for what lies in none."""
    name: str
    """Empty while it is not known: of what will be named by its generateName, and of each in a collection."""
    obj: JsonObject | None
    """The object as it shall be, at the request's version; a mutating step replaces it. None when it is deleted."""
    old: JsonObject | None
    """The object as it is; None when it is created."""
    options: JsonObject
    """The CreateOptions, UpdateOptions or DeleteOptions of the request."""
    dry_run: bool
    user: User
    convert: Convert
    default: Callable[[JsonObject], JsonObject]
    """Reads anew what a mutating step has made: its defaults filled in."""
    namespace_object: Callable[[], JsonObject | None]
    """The namespace that the object is, or lies in, as it stands; None for what lies in none."""
    warn: Callable[[str], None]
    model: Callable[[str], Type | None] = field(default=lambda api_version: None)
    """The types of the object at an apiVersion; None if nothing is known of them."""
    complaint: Callable[[JsonObject], str] = field(default=lambda made: "")
    """What a strict reader has against an object that a mutating step has made; empty if it has nothing."""
    authorizer: Authorizer = field(default_factory=AlwaysAllow)
    decided: dict[AuthorizationAttributes, AuthorizationResult] = field(default_factory=dict)
    """What expressions have asked it."""
    again: Reinvocation = field(default_factory=Reinvocation)
    changed: bool = field(default=False)
    """Whether a mutating step has replaced the object."""
    typed: bool = field(default=False)
    """Whether objects are read as what the resource has, unless they say that they are something else."""
    patience: float | None = field(default=None)
    """How many seconds the client is ready to wait, if it says so."""
