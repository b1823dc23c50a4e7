from __future__ import annotations

from polykind.discovery.document_cache import DocumentCache


def test_document_is_built_once() -> None:
    shelf, built = DocumentCache(), []

    def build() -> bytes:
        built.append(1)
        return b"body"

    assert shelf.get("A", build) == shelf.get("A", build) == (b"body", "A")
    assert len(built) == 1


def test_least_recently_used_goes_first() -> None:
    shelf = DocumentCache(capacity=8)
    shelf.get("A", lambda: b"1234")
    shelf.get("B", lambda: b"5678")
    shelf.get("A", lambda: b"")
    shelf.get("C", lambda: b"9")
    assert shelf.get("A", lambda: b"anew").body == b"1234"
    assert shelf.get("B", lambda: b"anew").body == b"anew"


def test_what_is_larger_than_the_shelf_is_not_kept() -> None:
    shelf = DocumentCache(capacity=4)
    shelf.get("A", lambda: b"12")
    assert shelf.get("L", lambda: b"12345").body == b"12345"
    assert shelf.get("L", lambda: b"x").body == b"x"
    assert shelf.get("A", lambda: b"anew").body == b"12"
