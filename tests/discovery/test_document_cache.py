from __future__ import annotations

from polykind.discovery.document_cache import DocumentCache


def test_document_is_built_once() -> None:
    shelf, built = DocumentCache(), []

    def build() -> bytes:
        built.append(1)
        return b"body"

    assert shelf.get("A", build) == shelf.get("A", build) == (b"body", "A")
    assert len(built) == 1


def test_least_recently_used_document_is_evicted_first() -> None:
    shelf = DocumentCache(capacity=8)
    shelf.get("A", lambda: b"1234")
    shelf.get("B", lambda: b"5678")
    shelf.get("A", lambda: b"")
    shelf.get("C", lambda: b"9")
    assert shelf.get("A", lambda: b"anew").body == b"1234"
    assert shelf.get("B", lambda: b"anew").body == b"anew"


def test_document_above_the_capacity_is_not_cached() -> None:
    shelf = DocumentCache(capacity=4)
    shelf.get("A", lambda: b"12")
    assert shelf.get("L", lambda: b"12345").body == b"12345"
    assert shelf.get("L", lambda: b"x").body == b"x"
    assert shelf.get("A", lambda: b"anew").body == b"12"
