"""Records of what clients of the HTTP API did and saw, and of what the store wrote to its log.

Times are seconds of the monotonic clock of the process in which all clients run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class State(NamedTuple):
    """An object as a client saw it or as the store holds it. Each write has a value that no other write has."""

    revision: int
    uid: str
    value: str
    side: str
    """The value of the object's label, which selectors choose by."""


class Change(NamedTuple):
    """One entry of the store's log: a new state of an object, or None if the object was deleted."""

    revision: int
    name: str
    state: State | None


@dataclass(slots=True)
class Write:
    """One request to create, change or delete an object."""

    verb: str
    """create, update, patch, apply or delete. Only a create and an apply may create an object."""
    name: str
    begin: float
    end: float
    outcome: str
    """The meaning of the answer.

    done; unknown: there is no answer, or an error that leaves the outcome open; rejected: nothing was written, or the
    request was a dry run; conflict: `expect` is not the object's revision; exists: a create found the object; absent:
    there is no such object.
    """
    expect: int | None = None
    """The revision that the object must have, 0 if it must not exist, or None if any state will do."""
    value: str = ""
    side: str = ""
    revision: int = 0
    """The revision in the answer. The answer to a deletion has none."""
    uid: str = ""
    """The uid in the answer."""


@dataclass(slots=True)
class Read:
    """One GET. `state` is None if the answer is 404."""

    name: str
    begin: float
    end: float
    state: State | None
    fresh: bool = True
    """True if the read must see all writes that ended before it began."""
    not_older_than: int = 0


class Selection(NamedTuple):
    """The objects that a list or a watch selects: all, those with a label, or the one with a name."""

    side: str = ""
    name: str = ""

    def matches(self, name: str, state: State) -> bool:
        return (not self.side or state.side == self.side) and (not self.name or name == self.name)


EVERYTHING = Selection()


class ListPage(NamedTuple):
    """One page: the revision in its metadata, the names and states of its objects, and remainingItemCount or None."""

    revision: int
    items: list[tuple[str, State]]
    remaining: int | None = None


@dataclass(slots=True)
class ListRead:
    """One LIST, of one or several pages."""

    begin: float
    end: float
    pages: list[ListPage]
    selection: Selection = EVERYTHING
    fresh: bool = True
    not_older_than: int = 0
    exact: int = 0
    """The revision that the client asked for, or 0."""


class Event(NamedTuple):
    """One event of a watch. A BOOKMARK has a state with nothing but a revision."""

    kind: str
    name: str
    state: State
    at: float
    """The time at which the client received it."""
    initial_end: bool = False
    """True for the bookmark that ends the initial events."""


@dataclass(slots=True)
class Stream:
    """One watch, from its request to its end. Watches resume: each attempt is a stream of its own."""

    begin: float
    after: int
    """The revision from which the client watches, or -1 if it asks for initial events."""
    selection: Selection = EVERYTHING
    events: list[Event] = field(default_factory=list)
    expired: str = ""
    """The server's message if it said that the revision is too old (410)."""
    must_reach: int = 0
    """The revision of an event that the client has waited for until it gave up, or 0."""


@dataclass(slots=True)
class History:
    """All that the clients of one run recorded."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    lists: list[ListRead] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    expired_reads: list[int] = field(default_factory=list)
    """The revisions of lists that the server refused to read because they are too old (410)."""


@dataclass(slots=True)
class Log:
    """What the store wrote, in its own order, which is the order of revisions."""

    changes: Sequence[Change]
    compacted: int = 0
    """The highest revision that may have been compacted. Older revisions may be refused."""
    watchable_since: int = 0
    """The revision of the CRD's last change, after which watches from older revisions may be refused."""
    rewrites: bool = False
    """True if something in the run, such as a migration, writes objects again without changing them."""
    initial: dict[str, State] = field(default_factory=dict)
    """The objects before the first change."""
    start: int = 0
    """The revision of `initial`."""
