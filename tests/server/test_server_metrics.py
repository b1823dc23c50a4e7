"""The scrape page of a running server: names, types and labels are those of kube-apiserver 1.36."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from tests.support.etcd import etcd
from tests.support.live import Live
from tests.support.live import live as running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
KIND = {"group", "resource"}
RECORDED = {
    "process_cpu_seconds": ("counter", set()),
    "process_resident_memory_bytes": ("gauge", set()),
    "process_virtual_memory_bytes": ("gauge", set()),
    "process_start_time_seconds": ("gauge", set()),
    "process_open_fds": ("gauge", set()),
    "process_max_fds": ("gauge", set()),
    "kubernetes_build_info": (
        "gauge",
        {"build_date", "compiler", "git_commit", "git_tree_state", "git_version", "go_version", "major", "minor"}
        | {"platform"},
    ),
    "apiserver_resource_objects": ("gauge", KIND),
    "apiserver_storage_objects": ("gauge", {"resource"}),
    "apiserver_storage_size_bytes": ("gauge", {"storage_cluster_id"}),
    "etcd_request_duration_seconds": ("histogram", {"operation", *KIND}),
    "etcd_requests": ("counter", {"operation", *KIND}),
    "leader_election_master_status": ("gauge", {"name"}),
    "apiserver_watch_cache_events_received": ("counter", KIND),
    "apiserver_watch_cache_initializations": ("counter", KIND),
    "apiserver_watch_cache_resource_version": ("gauge", KIND),
    "apiserver_admission_step_admission_duration_seconds": ("histogram", {"type", "operation", "rejected"}),
    "apiserver_flowcontrol_rejected_requests": ("counter", {"priority_level", "flow_schema", "reason"}),
    "apiserver_flowcontrol_current_inqueue_requests": ("gauge", {"priority_level", "flow_schema"}),
    "authentication_attempts": ("counter", {"result"}),
    "authorization_attempts": ("counter", {"result"}),
    "apiserver_current_inflight_requests": ("gauge", {"request_kind"}),
}
"""Metrics of kube-apiserver 1.36.4 with their types and labels; a counter's name is without _total, as parsed.

The leader's status is that of kube-controller-manager.
"""


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[Live]:
    async with running(tmp_path) as server:
        yield server


async def scrape(live: Live) -> dict[str, Metric]:
    page = (await live.ask("GET", "/metrics")).decode()
    # The parser adds _total to the names of counters that lack it, such as authentication_attempts.
    return {family.name: family for family in text_string_to_metric_families(page)}


def value(families: dict[str, Metric], metric: str, /, **labels: str) -> float:
    """Return the value of the only sample with these labels."""
    (found,) = [
        sample.value
        for family in families.values()
        for sample in family.samples
        if sample.name == metric and labels.items() <= sample.labels.items()
    ]
    return found


async def test_names_types_and_labels_are_those_of_kube_apiserver(live: Live) -> None:
    await live.ask("POST", CONFIG_MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "a"}, "spec": claim}
    await live.ask("POST", "/api/v1/namespaces/default/persistentvolumeclaims", body)
    families = await scrape(live)
    for name, (kind, labels) in RECORDED.items():
        assert families[name].type == kind, name
        found = {label for sample in families[name].samples for label in sample.labels} - {"le"}
        assert found == labels, name


async def test_writes_are_measured_where_they_happen(live: Live) -> None:
    before = await scrape(live)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    await live.ask("POST", CONFIG_MAPS, body)
    await live.ask("PUT", f"{CONFIG_MAPS}/a", {**body, "data": {"a": "b"}})
    await live.ask("DELETE", f"{CONFIG_MAPS}/a")
    after = await scrape(live)
    for operation in ("create", "update", "delete"):
        labels = {"operation": operation, "group": "", "resource": "configmaps"}
        assert value(after, "etcd_request_duration_seconds_count", **labels) >= 1
        assert value(after, "etcd_requests_total", **labels) >= 1
    commits = "polykind_sqlite_commit_duration_seconds_count"
    assert value(after, commits) >= value(before, commits) + 3
    writes = "polykind_sqlite_batch_writes_sum"
    assert value(after, writes) >= value(before, writes) + 3
    cache = {"group": "", "resource": "configmaps"}
    events = "apiserver_watch_cache_events_received_total"
    assert value(after, events, **cache) >= 3
    assert value(after, "apiserver_watch_cache_initializations_total", **cache) == 1
    assert value(after, "polykind_store_revision") >= value(before, "polykind_store_revision") + 3
    assert value(after, "apiserver_storage_size_bytes") > 0
    assert value(after, "polykind_sqlite_wal_size_bytes") > 0


async def test_access_is_counted_by_result(live: Live, tmp_path: Path) -> None:
    before = await scrape(live)
    await live.ask("GET", CONFIG_MAPS)
    anonymous = live.another()
    anonymous.token = ""
    async with anonymous:
        assert (await anonymous.call("GET", CONFIG_MAPS)).status == 403
    invalid = live.another()
    invalid.token = "wrong"
    async with invalid:
        assert (await invalid.call("GET", CONFIG_MAPS)).status == 401
    after = await scrape(live)
    assert value(after, "authorization_attempts_total", result="no-opinion") == 1
    assert value(after, "authentication_attempts_total", result="error") == 1
    # The GET, the second scrape, and for authentication also the forbidden request.
    for name, result, more in (
        ("authorization_attempts_total", "allowed", 2),
        ("authentication_attempts_total", "success", 3),
    ):
        assert value(after, name, result=result) == value(before, name, result=result) + more


async def test_the_delay_of_the_event_loop_is_measured(live: Live) -> None:
    http = live.server.http
    http.take_loop_lag()
    http._sweep_due = http.loop.time() - 7.0
    assert 7.0 <= value(await scrape(live), "polykind_event_loop_lag_seconds") < 60
    http._sweep_due = http.loop.time() + 1.0
    assert value(await scrape(live), "polykind_event_loop_lag_seconds") < 7.0


async def test_a_rejected_request_is_counted_and_a_leader_says_so(live: Live) -> None:
    live.server.cache.workers.queue.rejected = 3
    families = await scrape(live)
    assert value(families, "apiserver_flowcontrol_rejected_requests_total", reason="queue-full") == 3
    assert value(families, "leader_election_master_status", name="polykind") == 1
    assert value(families, "polykind_http_connections") == 1


async def test_the_size_of_etcd_and_the_leader_of_replicas(tmp_path: Path) -> None:
    with etcd(tmp_path / "etcd") as cluster:
        async with running(tmp_path, etcd_servers=tuple(cluster.urls)) as one:
            (tmp_path / "two").mkdir()
            async with running(tmp_path / "two", etcd_servers=tuple(cluster.urls)) as two, asyncio.timeout(30):
                while True:
                    pages = [await scrape(one), await scrape(two)]
                    leaders = [value(page, "leader_election_master_status", name="polykind") for page in pages]
                    if sum(leaders):
                        break
                    await asyncio.sleep(0.1)
            assert sorted(leaders) == [0, 1]
            for page in pages:
                assert value(page, "apiserver_storage_size_bytes", storage_cluster_id="etcd-0") > 4096
                assert "polykind_sqlite_wal_size_bytes" not in {s.name for f in page.values() for s in f.samples}
            cluster.members[0].kill()
            # A scrape does not fail with etcd: it has the last known size.
            page = await scrape(one)
            assert value(page, "apiserver_storage_size_bytes", storage_cluster_id="etcd-0") > 4096
