"""Record what clients did and saw, and check that one order explains all of it.

An object is a register that clients change by compare-and-swap. Every write gets a revision that is larger than all
earlier ones, so the revisions determine the order. A history is linearizable if this order agrees with the values that
each client saw and with the times at which it saw them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Operation:
    """One call. `revision` is None if a write's outcome is unknown or a read found nothing."""

    kind: str
    """read, write, or conflict: a write that the server rejected because of its `expect`."""
    name: str
    begin: float
    end: float
    revision: int | None
    value: str | None
    expect: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """One watch event."""

    name: str
    revision: int
    value: str


def faults(history: Iterable[Operation]) -> list[str]:
    """Return the reasons why no order explains the history, or an empty list."""
    objects: dict[str, list[Operation]] = defaultdict(list)
    for operation in history:
        objects[operation.name].append(operation)
    return [fault for name, operations in objects.items() for fault in _of_object(name, operations)]


def writes(history: Iterable[Operation]) -> dict[int, tuple[str, str | None]]:
    """Return the acknowledged writes: object and value by revision."""
    return {o.revision: (o.name, o.value) for o in history if o.kind == "write" and o.revision is not None}


def _of_object(name: str, operations: Sequence[Operation]) -> list[str]:
    found: list[str] = []
    written: dict[int, Operation] = {}
    unknown = {o.value: o for o in operations if o.kind == "write" and o.revision is None}
    for operation in operations:
        if operation.kind == "write" and operation.revision is not None:
            if operation.revision in written:
                found.append(f"{name}: two writes got revision {operation.revision}")
            written[operation.revision] = operation
    for operation in operations:
        if operation.kind != "read" or operation.revision is None:
            continue
        if operation.revision not in written and operation.value in unknown:
            # The writer never learnt the outcome. This read proves that the write succeeded.
            written[operation.revision] = unknown.pop(operation.value)
        source = written.get(operation.revision)
        if source is None or source.value != operation.value:
            found.append(f"{name}: revision {operation.revision} was read as {operation.value}, which nobody wrote so")
    order = sorted(written)
    before = dict(zip(order, [0, *order], strict=False))
    for revision, operation in written.items():
        if before[revision] != operation.expect:
            found.append(f"{name}: {revision} replaced {before[revision]}, though it expected {operation.expect}")
    return found + _against_time(name, operations, written, bool(unknown))


def _against_time(
    name: str, operations: Sequence[Operation], written: dict[int, Operation], doubtful: bool
) -> list[str]:
    """Check that each operation saw every operation that had ended before it began."""
    found: list[str] = []
    ends = sorted((o.end, o.revision) for o in operations if o.revision is not None)
    begins = sorted(operations, key=lambda o: o.begin)
    newest, at = 0, 0
    for operation in begins:
        while at < len(ends) and ends[at][0] < operation.begin:
            newest = max(newest, ends[at][1])
            at += 1
        if operation.kind == "read" and (operation.revision or 0) < newest:
            found.append(f"{name}: a read gave {operation.revision} when {newest} was known already")
        if operation.kind == "write" and operation.revision is not None and operation.revision <= newest:
            found.append(f"{name}: a write got {operation.revision} when {newest} was known already")
        if operation.kind == "conflict" and not doubtful:
            others = (r for r, w in written.items() if r != operation.expect and w.begin < operation.end)
            if not any(r > operation.expect for r in others):
                found.append(f"{name}: a write over {operation.expect} was refused, but nobody had changed it")
    early = (o for o in operations if o.kind == "read" and o.revision in written and o.end < written[o.revision].begin)
    return found + [f"{name}: {read.revision} was read before it was written" for read in early]


def gaps(history: Iterable[Operation], seen: Sequence[Seen], after: int) -> list[str]:
    """Return the events that a watch from `after` missed, repeated or delivered out of order."""
    found: list[str] = []
    last = after
    for event in seen:
        if event.revision <= last:
            found.append(f"{event.name}: revision {event.revision} came after {last}")
        last = max(last, event.revision)
    told = {event.revision: event for event in seen}
    for revision, (name, value) in sorted(writes(history).items()):
        if revision <= after:
            continue
        known = told.get(revision)
        if known is None:
            found.append(f"{name}: revision {revision} was never told")
        elif (known.name, known.value) != (name, value):
            found.append(f"{name}: revision {revision} was told as {known}")
    return found
