"""The names in the serving certificate."""

from __future__ import annotations

import socket

import pytest

from polykind.server.network_identity import is_server_name, serving_names

LOCAL = ["127.0.0.1", "::1", "localhost", "kubernetes.default.svc"]


def test_names_of_one_address() -> None:
    assert serving_names("127.0.0.1", "", ()) == LOCAL
    assert serving_names("192.0.2.1", "192.0.2.1", ("api.example.com",)) == [*LOCAL, "192.0.2.1", "api.example.com"]


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_names_of_all_addresses(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "build-7.example.com")
    names = serving_names(address, "192.0.2.1", ())
    assert names[:4] == LOCAL
    assert "build-7.example.com" in names
    assert names[-1] == "192.0.2.1"
    assert address not in names
    # A packet to another host would be sent from an address of this host. No packet is sent.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this host has no route to other hosts")
        assert probe.getsockname()[0] in names


def test_unusable_host_name_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "my host!")
    assert "my host!" not in serving_names("0.0.0.0", "", ())


@pytest.mark.parametrize("name", ["a", "a.b-c.example.com", "*.example.com", "10.0.0.1", "2001:db8::1", "under_score"])
def test_valid_names(name: str) -> None:
    assert is_server_name(name)


@pytest.mark.parametrize("name", ["", "a b", "-a", "a..b", "https://a", "a:6443", "x" * 64, "a.*.b", "é"])
def test_invalid_names(name: str) -> None:
    assert not is_server_name(name)
