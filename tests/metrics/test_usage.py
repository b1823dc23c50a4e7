"""Client usage of a served version."""

from __future__ import annotations

from polykind.metrics.usage import MAX_CLIENTS, VersionUsage


def test_clients_are_separated_by_user_and_user_agent() -> None:
    usage = VersionUsage()
    usage.record("admin", b"kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd", 1.0, writes=False)
    usage.record("admin", b"kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd", 4.0, writes=True)
    usage.record("reports", b"curl/8.0", 3.0, writes=False)
    usage.record("admin", b"curl/8.0", 2.0, writes=False)
    assert [(client.user, client.agent, client.reads, client.writes, client.last) for client in usage] == [
        ("admin", "kubectl/v1.32.4", 1, 1, 4.0),
        ("reports", "curl/8.0", 1, 0, 3.0),
        ("admin", "curl/8.0", 1, 0, 2.0),
    ]


def test_invalid_user_agents_are_accepted() -> None:
    usage = VersionUsage()
    usage.record("admin", b"\xff\xfe odd", 1.0, writes=False)
    usage.record("admin", b"", 0.0, writes=False)
    assert [client.agent for client in usage] == ["\ufffd\ufffd", ""]


def test_clients_beyond_the_maximum_are_counted_together() -> None:
    usage = VersionUsage()
    for number in range(MAX_CLIENTS + 50):
        usage.record("admin", b"agent-%d" % number, float(number), writes=number % 2 == 0)
    clients = list(usage)
    assert len(clients) == MAX_CLIENTS + 1
    assert (clients[0].user, clients[0].agent, clients[0].reads, clients[0].writes) == ("", "", 25, 25)


def test_long_agents_are_cut() -> None:
    usage = VersionUsage()
    for number in range(5):
        usage.record("ann", b"x" * 200_000 + b"%d" % number, 1.0, writes=False)
    (client,) = usage
    assert (client.reads, len(client.agent)) == (5, 256)
