"""Check that the store's log explains everything that clients did and saw.

The log is the order of all writes. Three checks compare a history with it:

- Writes: each entry of the log is the effect of one request, and each acknowledged request is one entry. A
  compare-and-swap replaced the revision that it expected. A request that was refused has no effect, and a request with
  an unknown outcome has one or none.
- States: each object that was read or listed, and each event of a watch, is what the log has at that revision. A list
  is the whole state at its revision, on all of its pages. A watch is the log behind its first revision, without a gap,
  a repetition or another order; a bookmark comes after all events up to its revision.
- Time: for each entry of the log there must be a moment at which it became visible, in the log's order, between begin
  and end of its request, and so that each fresh read and each refusal was true at a moment between its begin and its
  end. Each requirement is a bound on the moment of one entry, so the earliest and latest moments
  follow from one pass in each direction. That is linearizability of all objects together, not only of each one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tests.histories.history import (
    Change,
    Event,
    History,
    ListPage,
    ListRead,
    Log,
    Read,
    Selection,
    State,
    Stream,
    Write,
)

COUNTS = ("times", "writes", "unknown", "reads", "lists", "events", "streams", "changes", "seconds")


@dataclass(slots=True)
class Result:
    """The numbers of what was checked, and the violations in words."""

    writes: int = 0
    unknown: int = 0
    """Writes with unknown outcome."""
    reads: int = 0
    lists: int = 0
    events: int = 0
    streams: int = 0
    changes: int = 0
    times: int = 0
    """The number of faults that were injected."""
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    """Reasons why a history says nothing about the server, because its store broke its own guarantees."""

    def add(self, other: Result) -> None:
        for name in COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.violations += other.violations
        self.disagreements += other.disagreements


def check(history: History, log: Log) -> Result:
    """Check a history against the log of its store."""
    return _Check(history, log).run()


class Bounds:
    """The earliest and the latest moment of each entry of the log, as far as the history restricts them."""

    def __init__(self, changes: list[Change]) -> None:
        self._changes = changes
        self._earliest: list[tuple[float, str]] = [(float("-inf"), "")] * len(changes)
        self._latest: list[tuple[float, str]] = [(float("inf"), "")] * len(changes)
        self.settle()

    def not_before(self, index: int, moment: float, why: str) -> None:
        if 0 <= index < len(self._changes) and moment > self._earliest[index][0]:
            self._earliest[index] = moment, why

    def not_after(self, index: int, moment: float, why: str) -> None:
        if 0 <= index < len(self._changes) and moment < self._latest[index][0]:
            self._latest[index] = moment, why

    def settle(self) -> None:
        """Extend each bound to the entries behind or before it."""
        self.earliest, self.latest = list(self._earliest), list(self._latest)
        for index in range(1, len(self.earliest)):
            self.earliest[index] = max(self.earliest[index], self.earliest[index - 1], key=lambda bound: bound[0])
        for index in range(len(self.latest) - 2, -1, -1):
            self.latest[index] = min(self.latest[index], self.latest[index + 1], key=lambda bound: bound[0])

    def contradictions(self) -> Iterator[str]:
        """Yield each pair of requirements that leaves no moment for an entry, once."""
        told = set()
        for change, (earliest, after), (latest, before) in zip(self._changes, self.earliest, self.latest, strict=True):
            if earliest > latest and (after, before) not in told:
                told.add((after, before))
                yield f"revision {change.revision} ({change.name}) has no moment: {after}, but {before}"


class _Check:
    def __init__(self, history: History, log: Log) -> None:
        self._history, self._log = history, log
        self._changes = list(log.changes)
        self._revisions = [change.revision for change in self._changes]
        self._index = {revision: index for index, revision in enumerate(self._revisions)}
        self._previous: list[State | None] = []
        """The state before each entry of the log."""
        self._next: list[int] = []
        """The index of the next entry about the same object, or the number of entries."""
        self._first: dict[str, int] = {}
        """The index of the first entry about each object."""
        self._entries: dict[str, list[int]] = defaultdict(list)
        self._bounds = Bounds(self._changes)
        self._expected: dict[Selection, tuple[list[Event], list[int]]] = {}
        self._initial_lists: list[ListRead] = []
        """The initial events of watches, as lists."""
        self.result = Result()

    def run(self) -> Result:
        history, result = self._history, self.result
        result.writes, result.unknown = len(history.writes), sum(w.outcome == "unknown" for w in history.writes)
        result.reads, result.lists = len(history.reads), len(history.lists)
        result.streams, result.events = len(history.streams), sum(len(s.events) for s in history.streams)
        result.changes = len(self._changes)
        self._read_log()
        self._check_writes()
        for read in history.reads:
            self._check_read(read)
        for stream in history.streams:
            self._check_stream(stream)
        self._check_lists([*history.lists, *self._initial_lists])
        for revision in history.expired_reads:
            if revision > self._log.compacted:
                self._violation(f"revision {revision} was refused as too old, but was never compacted")
        self._bounds.settle()
        self._check_absences()
        self._bounds.settle()
        for contradiction in self._bounds.contradictions():
            self._violation(contradiction)
        return result

    def _violation(self, text: str) -> None:
        self.result.violations.append(text)

    # ------------------------------------------------------------------ the log

    def _read_log(self) -> None:
        current = dict(self._log.initial)
        last: dict[str, int] = {}
        self._next = [len(self._changes)] * len(self._changes)
        newest = self._log.start
        for index, change in enumerate(self._changes):
            if change.revision <= newest:
                self._violation(f"the log has revision {change.revision} after {newest}")
            newest = change.revision
            self._previous.append(current.get(change.name))
            self._entries[change.name].append(index)
            if change.name in last:
                self._next[last[change.name]] = index
            last[change.name] = index
            if change.state is None:
                current.pop(change.name, None)
            else:
                current[change.name] = change.state

    # ------------------------------------------------------------------ writes

    def _check_writes(self) -> None:
        by_value: dict[str, Write] = {}
        deletions: dict[str, list[Write]] = defaultdict(list)
        for sent in self._history.writes:
            if sent.verb == "delete":
                deletions[sent.name].append(sent)
            else:
                by_value[sent.value] = sent
        effects: dict[int, int] = {}
        """The index in the log of the effect of each write, by the identity of the write."""
        for index, change in enumerate(self._changes):
            before = self._previous[index]
            write: Write | None
            if change.state is None:
                write = self._deletion_of(index, deletions[change.name], effects)
            elif before is not None and change.state[1:] == before[1:]:
                if not self._log.rewrites:
                    self._violation(f"{change.name}: revision {change.revision} repeats the write of {before.revision}")
                continue
            else:
                write = by_value.get(change.state.value)
            if write is None:
                self._violation(f"{change.name}: no client wrote revision {change.revision}: {change.state}")
                continue
            if id(write) in effects:
                first = self._changes[effects[id(write)]].revision
                self._violation(f"{change.name}: one {write.verb} was done at {first} and at {change.revision}")
            effects[id(write)] = index
            self._check_effect(write, index)
        for sent in self._history.writes:
            self._check_outcome(sent, effects.get(id(sent)))

    def _deletion_of(self, index: int, candidates: list[Write], effects: dict[int, int]) -> Write | None:
        """Return the deletion that an entry of the log is the effect of."""
        before = self._previous[index]
        if before is None:
            return None
        done = [w for w in candidates if w.outcome == "done" and w.uid == before.uid]
        if len(done) > 1:
            self._violation(f"{self._changes[index].name}: two deletions of {before.uid} were acknowledged")
        if done:
            return done[0]
        open_ = (w for w in candidates if w.outcome == "unknown" and id(w) not in effects)
        fitting = [w for w in open_ if w.expect in (None, before.revision)]
        return min(fitting, key=lambda w: w.begin, default=None)

    def _check_effect(self, write: Write, index: int) -> None:
        change, before = self._changes[index], self._previous[index]
        where = f"{change.name}: the {write.verb} at {change.revision}"
        if write.name != change.name:
            self._violation(f"{where} was sent to {write.name}")
        if change.state is not None and change.state.side != write.side:
            self._violation(f"{where} stored {change.state}, but was sent with {write.side}")
        replaced = before.revision if before is not None else 0
        if write.expect is not None and write.expect != replaced:
            self._violation(f"{where} replaced {replaced}, but expected {write.expect}")
        if write.verb in ("update", "patch", "delete"):
            if before is None:
                self._violation(f"{where} changed an object that did not exist")
            elif change.state is not None and change.state.uid != before.uid:
                self._violation(f"{where} changed the uid from {before.uid} to {change.state.uid}")
        if change.state is not None and write.uid not in ("", change.state.uid):
            self._violation(f"{where} was acknowledged with the uid {write.uid} instead of {change.state.uid}")
        if write.outcome not in ("done", "unknown"):
            self._violation(f"{where} was refused ({write.outcome}), but is in the log")
        self._bounds.not_before(index, write.begin, f"{where} began at {write.begin:.3f}")
        if write.outcome == "done":
            self._bounds.not_after(index, write.end, f"{where} was acknowledged at {write.end:.3f}")

    def _check_outcome(self, write: Write, index: int | None) -> None:
        if write.outcome == "done":
            if index is None:
                self._violation(f"{write.name}: the {write.verb} that was acknowledged at {write.revision} is lost")
            elif write.verb != "delete" and self._revisions[index] != write.revision:
                self._violation(
                    f"{write.name}: the {write.verb} was acknowledged at {write.revision}, but is at "
                    f"{self._revisions[index]}"
                )
        elif write.outcome == "conflict" and write.expect:
            # The refusal is a read of any state but the expected one.
            end = self._end_of(write.name, write.expect)
            if end is None or end >= len(self._changes):
                self._violation(f"{write.name}: a {write.verb} over {write.expect} was refused, but it is the newest")
            else:
                self._bounds.not_after(end, write.end, f"a {write.verb} was refused at {write.end:.3f}")

    def _end_of(self, name: str, revision: int) -> int | None:
        """Return the index of the entry that replaces a state of an object, or None if there is no such state."""
        index = self._index.get(revision)
        if index is not None:
            return self._next[index] if self._changes[index].name == name else None
        initial = self._log.initial.get(name)
        if initial is None or initial.revision != revision:
            return None
        entries = self._entries.get(name)
        return entries[0] if entries else len(self._changes)

    # ------------------------------------------------------------------ reads

    def _stored(self, name: str, state: State) -> bool:
        index = self._index.get(state.revision)
        if index is None:
            return self._log.initial.get(name) == state
        return self._changes[index] == Change(state.revision, name, state)

    def _check_read(self, read: Read) -> None:
        state = read.state
        if state is None:
            return
        if not self._stored(read.name, state):
            self._violation(f"{read.name}: {state} was read, but the store never had it")
            return
        why = f"{read.name} was read as {state.revision} from {read.begin:.3f} to {read.end:.3f}"
        if (index := self._index.get(state.revision)) is not None:
            self._bounds.not_after(index, read.end, why)
        replaced = self._end_of(read.name, state.revision)
        assert replaced is not None
        if read.fresh:
            self._bounds.not_before(replaced, read.begin, why)
        if replaced < len(self._changes) and read.not_older_than >= self._revisions[replaced]:
            self._violation(f"{why}, but it had to be as new as {read.not_older_than}")

    def _check_absences(self) -> None:
        """Place each answer that an object does not exist, or that it does, in an interval for which that is true."""
        for read in self._history.reads:
            if read.state is None:
                self._check_presence(read.name, read.begin, read.end, present=False, fresh=read.fresh)
        for write in self._history.writes:
            if write.outcome in ("absent", "exists"):
                self._check_presence(write.name, write.begin, write.end, present=write.outcome == "exists", fresh=True)

    def _check_presence(self, name: str, begin: float, end: float, *, present: bool, fresh: bool) -> None:
        fitting = [
            (first, after)
            for first, after in self._intervals(name, present=present)
            if (first < 0 or self._bounds.earliest[first][0] <= end)
            and (not fresh or after >= len(self._changes) or self._bounds.latest[after][0] >= begin)
        ]
        why = f"{name} was {'present' if present else 'absent'} between {begin:.3f} and {end:.3f}"
        if not fitting:
            self._violation(f"{why}, which the log does not allow")
        elif len(fitting) == 1:
            # With several intervals the answer is no bound on any of them.
            [(first, after)] = fitting
            self._bounds.not_after(first, end, why)
            if fresh:
                self._bounds.not_before(after, begin, why)

    def _intervals(self, name: str, *, present: bool) -> Iterator[tuple[int, int]]:
        """Yield the first entry of each time in which an object exists, or not, and the entry that ends it.

        -1 is the beginning of the log, and the number of entries its end.
        """
        start = -1 if (name in self._log.initial) is present else None
        for index in self._entries.get(name, ()):
            if (self._changes[index].state is not None) is present:
                start = index if start is None else start
            elif start is not None:
                yield start, index
                start = None
        if start is not None:
            yield start, len(self._changes)

    # ------------------------------------------------------------------ lists

    def _check_lists(self, lists: list[ListRead]) -> None:
        """Compare each list with the state at its revision, in the order of revisions."""
        current, index = dict(self._log.initial), 0
        for read in sorted(lists, key=lambda read: read.pages[0].revision):
            revision = read.pages[0].revision
            while index < len(self._changes) and self._revisions[index] <= revision:
                change = self._changes[index]
                if change.state is None:
                    current.pop(change.name, None)
                else:
                    current[change.name] = change.state
                index += 1
            self._check_list(read, current)
            why = f"a list showed {revision} from {read.begin:.3f} to {read.end:.3f}"
            self._bounds.not_after(index - 1, read.end, why)
            if read.fresh:
                self._bounds.not_before(index, read.begin, why)

    def _check_list(self, read: ListRead, current: dict[str, State]) -> None:
        revision = read.pages[0].revision
        text = f"the list at {revision} of {read.selection}"
        if any(page.revision != revision for page in read.pages):
            self._violation(f"{text} has pages of revisions {sorted({page.revision for page in read.pages})}")
        if read.exact and revision != read.exact:
            self._violation(f"{text} should be exactly at {read.exact}")
        if revision < read.not_older_than:
            self._violation(f"{text} should not be older than {read.not_older_than}")
        shown = [item for page in read.pages for item in page.items]
        expected = sorted((n, s) for n, s in current.items() if read.selection.matches(n, s))
        if shown != expected:
            self._violation(f"{text} differs from the log: {_difference(dict(shown), dict(expected))}")
        seen = 0
        for page in read.pages:
            seen += len(page.items)
            if page.remaining is not None and page.remaining != len(current) - seen:
                self._violation(f"{text} says that {page.remaining} objects remain, but it is {len(current) - seen}")

    # ------------------------------------------------------------------ watches

    def _events(self, selection: Selection) -> tuple[list[Event], list[int]]:
        """Return the events of the whole log for a selection, and their revisions."""
        known = self._expected.get(selection)
        if known is None:
            events = [e for i, c in enumerate(self._changes) if (e := _event(selection, c, self._previous[i]))]
            known = self._expected[selection] = events, [event.state.revision for event in events]
        return known

    def _check_stream(self, stream: Stream) -> None:
        if stream.expired and not 0 <= stream.after <= max(self._log.compacted, self._log.watchable_since):
            self._violation(f"a watch from {stream.after} was refused ({stream.expired}), but was never compacted")
        self._check_delivery_times(stream)
        events, start = stream.events, stream.after
        if start < 0:
            # kube-apiserver also marks the end for a client that does not ask for initial events, but gets them.
            end = next((i for i, event in enumerate(events) if event.kind == "BOOKMARK"), None)
            if end is None:
                return
            if not events[end].initial_end:
                self._violation(f"the first bookmark of a watch does not end the initial events: {events[end]}")
            self._initial_lists.append(self._initial_list(stream, events[: end + 1]))
            start, events = events[end].state.revision, events[end + 1 :]
        self._check_order(stream, events, start)

    def _check_delivery_times(self, stream: Stream) -> None:
        for event in stream.events:
            index = bisect_right(self._revisions, event.state.revision) - 1
            self._bounds.not_after(index, event.at, f"a watch delivered it at {event.at:.3f}")

    def _initial_list(self, stream: Stream, events: list[Event]) -> ListRead:
        """Return the state to which the initial events of a watch lead, as a list at the revision of their bookmark."""
        shown: dict[str, State] = {}
        for event in events[:-1]:
            before = shown.get(event.name)
            if (before is None) is not (event.kind == "ADDED"):
                self._violation(f"the initial events of a watch have {event[:3]} after {before}")
            if event.kind == "DELETED":
                shown.pop(event.name, None)
            else:
                shown[event.name] = event.state
        end = events[-1]
        return ListRead(stream.begin, end.at, [ListPage(end.state.revision, sorted(shown.items()))], stream.selection)

    def _check_order(self, stream: Stream, events: Iterable[Event], start: int) -> None:
        expected, revisions = self._events(stream.selection)
        at, newest = bisect_right(revisions, start), start
        text = f"a watch from {start} of {stream.selection}"
        for event in events:
            revision = event.state.revision
            if revision < newest or (revision == newest and event.kind != "BOOKMARK"):
                self._violation(f"{text} got {event.kind} {event.name} {revision} after {newest}")
                return
            newest = revision
            if event.kind == "BOOKMARK":
                if at < len(expected) and revisions[at] <= revision:
                    self._violation(f"{text} got a bookmark at {revision} before the event at {revisions[at]}")
                    return
                continue
            if at >= len(expected) or expected[at][:3] != event[:3]:
                wanted = expected[at][:3] if at < len(expected) else "no event"
                self._violation(f"{text} got {event[:3]} instead of {wanted}")
                return
            at += 1
        if stream.must_reach and at < len(expected) and revisions[at] <= stream.must_reach:
            self._violation(f"{text} never got the event at {revisions[at]}")


def _event(selection: Selection, change: Change, before: State | None) -> Event | None:
    """Return the event of a change for a watch with a selection, or None."""
    name, state = change.name, change.state
    matched = before is not None and selection.matches(name, before)
    if state is not None and selection.matches(name, state):
        return Event("MODIFIED" if matched else "ADDED", name, state, 0.0)
    if matched and before is not None:
        # The last state that was selected, at the revision at which the selection lost it.
        return Event("DELETED", name, before._replace(revision=change.revision), 0.0)
    return None


def _difference(shown: dict[str, State], expected: dict[str, State]) -> str:
    names = [name for name in sorted({*shown, *expected}) if shown.get(name) != expected.get(name)]
    if not names:
        return "the order of names"
    return "; ".join(f"{name} is {shown.get(name)}, not {expected.get(name)}" for name in names[:3])
