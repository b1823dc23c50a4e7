"""Requests for unserved resources are counted and logged once."""

from __future__ import annotations

import logging

import pytest

from polykind.server.unserved_requests import UnservedRequests


def test_requests_are_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    unserved = UnservedRequests()
    with caplog.at_level(logging.INFO, "polykind.requests"):
        for _ in range(3):
            unserved.record("POST", "a.example.com", "v1", "widgets")
        unserved.record("GET", "", "v1", "saucers")
    assert unserved.lines() == [
        "not served here: POST /apis/a.example.com/v1/widgets (3 times)",
        "not served here: GET /api/v1/saucers",
    ]
    assert [record.getMessage().partition(" is ")[0] for record in caplog.records] == [
        "routes: POST /apis/a.example.com/v1/widgets",
        "routes: GET /api/v1/saucers",
    ]


def test_number_of_resources_is_limited() -> None:
    unserved = UnservedRequests()
    for number in range(1000):
        unserved.record("GET", f"g{number}.example.com", "v1", "widgets")
    assert len(unserved.lines()) == 64
