"""Who asks for a version."""

from __future__ import annotations

from polykind.metrics.usage import MAX_CLIENTS, VersionUsage


def test_clients_are_told_apart_by_user_and_program() -> None:
    uses = VersionUsage()
    uses.record("admin", b"kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd", 1.0, writes=False)
    uses.record("admin", b"kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd", 4.0, writes=True)
    uses.record("reports", b"curl/8.0", 3.0, writes=False)
    uses.record("admin", b"curl/8.0", 2.0, writes=False)
    assert [(use.user, use.agent, use.reads, use.writes, use.last) for use in uses] == [
        ("admin", "kubectl/v1.32.4", 1, 1, 4.0),
        ("reports", "curl/8.0", 1, 0, 3.0),
        ("admin", "curl/8.0", 1, 0, 2.0),
    ]


def test_a_program_may_call_itself_whatever_it_likes() -> None:
    uses = VersionUsage()
    uses.record("admin", b"\xff\xfe odd", 1.0, writes=False)
    uses.record("admin", b"", 0.0, writes=False)
    assert [use.agent for use in uses] == ["\ufffd\ufffd", ""]


def test_those_beyond_the_bound_are_counted_together() -> None:
    uses = VersionUsage()
    for number in range(MAX_CLIENTS + 50):
        uses.record("admin", b"agent-%d" % number, float(number), writes=number % 2 == 0)
    found = list(uses)
    assert len(found) == MAX_CLIENTS + 1
    assert (found[0].user, found[0].agent, found[0].reads, found[0].writes) == ("", "", 25, 25)
