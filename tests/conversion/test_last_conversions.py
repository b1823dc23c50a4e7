from __future__ import annotations

from datetime import UTC, datetime

from polykind.conversion.last_conversions import LastConversion, LastConversions

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def conversion(size: int) -> LastConversion:
    return LastConversion(b"x" * size, 1, NOW)


def test_least_recently_used_conversion_is_dropped_first() -> None:
    conversions = LastConversions(max_bytes=3000)
    for key in ("a", "b"):
        conversions.put("crd", "v2", key, conversion(1000))
    assert conversions.get("crd", "v2", "a") is not None
    conversions.put("crd", "v2", "c", conversion(1000))
    assert conversions.get("crd", "v2", "b") is None
    assert conversions.get("crd", "v2", "a") is not None


def test_replaced_conversion_is_counted_once() -> None:
    conversions = LastConversions()
    conversions.put("crd", "v2", "a", conversion(1000))
    before = conversions.bytes
    conversions.put("crd", "v2", "a", conversion(1000))
    assert conversions.bytes == before


def test_conversions_of_a_deleted_crd_are_dropped() -> None:
    conversions = LastConversions()
    conversions.put("crd", "v2", "a", conversion(10))
    conversions.put("other", "v2", "a", conversion(10))
    conversions.forget_crd("crd")
    assert conversions.get("crd", "v2", "a") is None
    assert conversions.get("other", "v2", "a") is not None


def test_conversion_larger_than_the_bound_is_not_kept() -> None:
    conversions = LastConversions(max_bytes=100)
    conversions.put("crd", "v2", "a", conversion(1000))
    assert conversions.bytes == 0
