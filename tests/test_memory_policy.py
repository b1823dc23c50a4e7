"""The policy for garbage collections, on a simulated collector and simulated clocks."""

from __future__ import annotations

import pytest

from polykind.memory_policy import NEVER, YOUNG_OBJECTS, MemoryPolicy, _return_free_memory


class FakeCollector:
    """Records the collections and takes simulated time for full ones."""

    def __init__(self) -> None:
        self.enabled = True
        self.frozen = False
        self.thresholds = (700, 10, 10)
        self.count = (0, 0, 0)
        self.collections: list[int] = []
        self.visited_all: list[bool] = []
        """For each collection, True if no object was frozen."""
        self.now = 1000.0
        self.cpu = 0.0
        self.full_seconds = 0.01
        self.frozen_objects = 100_000
        self.trims = 0

    def collect(self, generation: int = 2) -> int:
        self.collections.append(generation)
        self.visited_all.append(not self.frozen)
        self.now += self.full_seconds
        self.count = (0, 0, 0)
        return 0

    def disable(self) -> None:
        self.enabled = False

    def enable(self) -> None:
        self.enabled = True

    def freeze(self) -> None:
        self.frozen = True
        self.count = (0, 0, 0)

    def unfreeze(self) -> None:
        self.frozen = False

    def get_count(self) -> tuple[int, int, int]:
        return self.count

    def get_freeze_count(self) -> int:
        return self.frozen_objects if self.frozen else 0

    def isenabled(self) -> bool:
        return self.enabled

    def set_threshold(self, young: int, middle: int, full: int, /) -> None:
        self.thresholds = (young, middle, full)

    def trim(self) -> None:
        self.trims += 1


@pytest.fixture
def collector() -> FakeCollector:
    return FakeCollector()


@pytest.fixture
def policy(collector: FakeCollector) -> MemoryPolicy:
    return MemoryPolicy(collector, clock=lambda: collector.now, cpu_clock=lambda: collector.cpu, trim=collector.trim)


def pass_seconds(policy: MemoryPolicy, collector: FakeCollector, seconds: int, load: float = 0.0) -> None:
    for _ in range(seconds):
        collector.now += 1
        collector.cpu += load
        policy.tick()


def test_collector_is_off_while_any_request_holds_a_large_object(
    policy: MemoryPolicy, collector: FakeCollector
) -> None:
    policy.begin_large()
    policy.begin_large()
    policy.end_large()
    assert not collector.isenabled()
    policy.end_large()
    assert collector.isenabled()
    assert collector.thresholds == (700, 10, 10)


def test_disabled_collector_stays_disabled(policy: MemoryPolicy, collector: FakeCollector) -> None:
    collector.enabled = False
    policy.begin_large()
    policy.end_large()
    assert not collector.isenabled()


def test_managed_collector_never_visits_old_objects_by_itself(policy: MemoryPolicy, collector: FakeCollector) -> None:
    collector.enabled = False
    policy.manage()
    assert (collector.enabled, collector.frozen) == (True, True)
    assert collector.thresholds[2] == NEVER


@pytest.mark.parametrize(("left", "visits_all"), [(YOUNG_OBJECTS + 1, True), (100, False)])
def test_objects_left_by_large_requests_wait_for_a_full_collection(
    policy: MemoryPolicy, collector: FakeCollector, left: int, visits_all: bool
) -> None:
    policy.manage()
    policy.begin_large()
    policy.end_large()
    assert not collector.isenabled()
    collector.count = (left, 0, 0)
    pass_seconds(policy, collector, 1)
    assert collector.isenabled()
    assert collector.collections == []
    collector.count = (0, 0, 1)
    pass_seconds(policy, collector, 60)
    assert collector.visited_all == [visits_all]
    collector.count = (0, 0, 1)
    pass_seconds(policy, collector, 60)
    assert collector.visited_all == [visits_all, False]


def test_large_requests_defer_collections_for_a_limited_time(policy: MemoryPolicy, collector: FakeCollector) -> None:
    policy.manage()
    policy.begin_large()
    pass_seconds(policy, collector, 350)
    assert collector.collections == []
    pass_seconds(policy, collector, 50)
    assert collector.collections == [2]
    assert not collector.isenabled()
    policy.end_large()
    pass_seconds(policy, collector, 1)
    assert collector.isenabled()


def test_full_collections_run_when_the_process_is_idle(policy: MemoryPolicy, collector: FakeCollector) -> None:
    policy.manage()
    collector.count = (0, 0, 1)
    pass_seconds(policy, collector, 100, load=0.9)
    assert collector.collections == []
    pass_seconds(policy, collector, 1)
    assert collector.collections == [2]


def test_busy_process_defers_a_full_collection_for_a_limited_time(
    policy: MemoryPolicy, collector: FakeCollector
) -> None:
    policy.manage()
    collector.count = (0, 0, 1)
    pass_seconds(policy, collector, 400, load=0.9)
    assert collector.collections == [2]


def test_no_full_collection_if_no_object_has_become_old(policy: MemoryPolicy, collector: FakeCollector) -> None:
    policy.manage()
    collector.count = (9000, 3, 0)
    pass_seconds(policy, collector, 1000)
    assert collector.collections == []


@pytest.mark.parametrize(("pause", "collections"), [(0.01, 165), (0.02, 165), (0.5, 2)])
def test_long_full_collections_are_rare(
    policy: MemoryPolicy, collector: FakeCollector, pause: float, collections: int
) -> None:
    policy.manage()
    collector.full_seconds = pause
    for _ in range(10_000):
        collector.count = (0, 0, 1)
        pass_seconds(policy, collector, 1)
    assert abs(len(collector.collections) - collections) <= 2


@pytest.mark.parametrize(("objects", "collections"), [(100_000, 1), (3_000_000, 0)])
def test_collection_of_many_frozen_objects_waits(
    policy: MemoryPolicy, collector: FakeCollector, objects: int, collections: int
) -> None:
    policy.manage()
    collector.frozen_objects = objects
    policy.begin_large()
    policy.end_large()
    collector.count = (YOUNG_OBJECTS + 1, 0, 0)
    pass_seconds(policy, collector, 1000)
    assert len(collector.collections) == collections
    pass_seconds(policy, collector, 2100)
    assert collector.visited_all == [True]


def test_freed_memory_is_returned_after_work(policy: MemoryPolicy, collector: FakeCollector) -> None:
    policy.manage()
    pass_seconds(policy, collector, 100)
    assert collector.trims == 0
    pass_seconds(policy, collector, 50, load=0.5)
    assert collector.trims == 10


def test_return_of_free_memory() -> None:
    _return_free_memory()
