"""Read the log of a store without the code of the server: SQLite's table, and etcd's watch through its JSON gateway."""

from __future__ import annotations

import base64
import json
import sqlite3
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.histories.history import Change
from tests.histories.registers import state_of
from tests.support.etcd import Etcd, Member

Opener = Callable[[str, bytes], bytes]
"""Returns the plain value of a key and its stored value."""
MARKER = "histories/marker"
_SECONDS = 60.0


class CompactedLogError(Exception):
    """The store no longer has the revisions that were to be read."""


def plain(key: str, value: bytes) -> bytes:
    return value


def sqlite_changes(database: Path, group: str, after: int, opener: Opener = plain) -> list[Change]:
    """Return the changes above a revision in the log of a SQLite store, which may be in use."""
    prefix = f"/registry/{group}/registers/default/"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10)) as connection:
        [(floor,)] = connection.execute("SELECT number FROM facts WHERE name = 'floor'").fetchall()
        if floor > after:
            raise CompactedLogError(f"revisions up to {floor} are compacted")
        rows = connection.execute(
            "SELECT revision, key, deleted, value FROM log WHERE revision > ? AND key >= ? AND key < ? ORDER BY 1",
            (after, prefix, f"{prefix}\U0010ffff"),
        ).fetchall()
    return [_change(r, key, prefix, None if deleted else opener(key, value)) for r, key, deleted, value in rows]


def etcd_changes(member: Member, group: str, after: int, opener: Opener = plain) -> list[Change]:
    """Return the changes above a revision, as one member of an etcd cluster reports them to a watch."""
    prefix = f"/registry/{group}/registers/default/"
    until = int(_post(member.url, "kv/put", {"key": _base64(MARKER), "value": ""})["header"]["revision"])
    changes = []
    for event in _watch(member, after, until):
        kv = event["kv"]
        key = base64.b64decode(kv["key"]).decode(errors="replace")
        if key.startswith(prefix):
            value = None if event.get("type") == "DELETE" else opener(key, base64.b64decode(kv.get("value", "")))
            changes.append(_change(int(kv["mod_revision"]), key, prefix, value))
    return changes


def _watch(member: Member, after: int, until: int) -> Iterator[dict[str, Any]]:
    """Yield the events of all keys above a revision, until the one at the revision `until`."""
    request = {"create_request": {"key": _base64("\0"), "range_end": _base64("\0"), "start_revision": str(after + 1)}}
    with _open(member.url, "watch", request) as answer:
        for line in answer:
            result = json.loads(line)["result"]
            if int(result.get("compact_revision", 0)):
                raise CompactedLogError(f"revisions up to {result['compact_revision']} are compacted")
            for event in result.get("events", ()):
                yield event
                if int(event["kv"]["mod_revision"]) >= until:
                    return


def compact(cluster: Etcd, revision: int) -> None:
    """Compact etcd up to a revision."""
    _post(cluster.members[0].url, "kv/compaction", {"revision": str(revision)})


def move_leader(cluster: Etcd, chance: int) -> None:
    """Let the leader of etcd hand over to another member."""
    leader = cluster.leader()
    members = _post(leader.url, "cluster/member/list", {})["members"]
    others = [member["ID"] for member in members if member["name"] != leader.name]
    _post(leader.url, "maintenance/transfer-leadership", {"targetID": others[chance % len(others)]})


def _change(revision: int, key: str, prefix: str, value: bytes | None) -> Change:
    return Change(revision, key[len(prefix) :], None if value is None else state_of(json.loads(value), revision))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _open(url: str, what: str, body: object) -> Any:
    request = urllib.request.Request(f"{url}/v3/{what}", json.dumps(body).encode())
    return urllib.request.urlopen(request, timeout=_SECONDS)


def _post(url: str, what: str, body: object) -> Any:
    with _open(url, what, body) as answer:
        return json.loads(answer.read())
