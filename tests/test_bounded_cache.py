from __future__ import annotations

import threading
import tracemalloc

from polykind.bounded_cache import ENTRY_BYTES, MAX_KEY_BYTES, BoundedCache, memory_of, remember

MEGABYTE = 1024 * 1024


def test_unknown_key_is_none_and_assigned_value_is_returned() -> None:
    cache: BoundedCache[str, int] = BoundedCache(MEGABYTE)
    assert cache["a"] is None
    cache["a"] = 1
    assert cache["a"] == 1


def test_long_keys_are_not_kept() -> None:
    cache: BoundedCache[tuple[str, str], int] = BoundedCache(MEGABYTE)
    cache["a", "x" * MAX_KEY_BYTES] = 1
    assert not cache


def test_value_above_half_of_the_cache_is_not_kept() -> None:
    cache: BoundedCache[str, bytes] = BoundedCache(10_000)
    cache["a"] = bytes(6_000)
    assert cache["a"] is None


def test_entries_unused_for_longest_are_dropped_first() -> None:
    cache: BoundedCache[int, int] = BoundedCache(100 * (ENTRY_BYTES + 60))
    for number in range(1_000):
        cache[number] = number
        assert cache[0] == 0  # used all the time
    assert cache[1] is None
    assert cache[999] == 999


def test_replaced_value_counts_once() -> None:
    cache: BoundedCache[str, bytes] = BoundedCache(10_000)
    cache["kept"] = b""
    for _ in range(1_000):
        cache["a"] = bytes(100)
    assert dict.get(cache, "kept") == b""


def test_memory_stays_below_the_bound_for_any_keys() -> None:
    cache: BoundedCache[tuple[str, ...], dict[str, str]] = BoundedCache(MEGABYTE)
    tracemalloc.start()
    try:
        for number in range(20_000):
            cache[f"{number}" * (number % 50), "é" * (number % 300)] = {f"{number}": "v" * (number % 400)}
        assert tracemalloc.get_traced_memory()[0] < MEGABYTE
    finally:
        tracemalloc.stop()


def test_cleared_cache_has_no_entry_of_either_generation() -> None:
    cache: BoundedCache[int, int] = BoundedCache(10_000)
    for number in range(100):
        cache[number] = number
    cache.clear()
    assert [number for number in range(100) if cache[number] is not None] == []


def test_threads_share_a_cache() -> None:
    cache: BoundedCache[int, int] = BoundedCache(20_000)
    wrong: list[int] = []

    def work(offset: int) -> None:
        for number in range(5_000):
            cache[number + offset] = number + offset
            found = cache[number]
            if found not in (None, number):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(offset,)) for offset in (0, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert memory_of(dict(cache)) < 20_000


def test_results_of_a_function_are_remembered_except_none() -> None:
    calls: list[str] = []

    @remember(MEGABYTE)
    def length(text: str) -> int | None:
        calls.append(text)
        return len(text) or None

    assert [length("ab"), length("ab"), length(""), length("")] == [2, 2, None, None]
    assert calls == ["ab", "", ""]
