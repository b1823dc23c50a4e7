"""Validation of settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from polykind.server.settings import Settings, SettingsError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tls_cert_file": Path("a")}, "--tls-cert-file and --tls-private-key-file must be given together"),
        ({"tls_private_key_file": Path("a")}, "--tls-cert-file and --tls-private-key-file must be given together"),
        (
            {"authorization_mode": ("RBAC", "ABAC")},
            "--authorization-mode ABAC is not supported; supported modes: AlwaysAllow, ",
        ),
        (
            {"authorization_mode": ("RBAC", "RBAC")},
            r'--authorization-mode \["RBAC" "RBAC"\] has mode specified more than once',
        ),
        ({"authorization_mode": ()}, "--authorization-mode needs at least one mode"),
        ({"feature_gates": {"Nonsense": True}}, "--feature-gates: unknown gate Nonsense; known gates: "),
        ({"secure_port": 65536}, "--secure-port must be between 0 and 65535 .0: any free port."),
        ({"secure_port": -1}, "--secure-port must be between 0 and 65535"),
        ({"request_timeout": 0.0}, "--request-timeout must be longer than 0s"),
        ({"request_timeout": -1.0}, "--request-timeout must be longer than 0s"),
        ({"etcd_servers": ("127.0.0.1:2379",)}, "--etcd-servers: 127.0.0.1:2379 is not a URL such as"),
        ({"etcd_certfile": Path("a")}, "--etcd-certfile and --etcd-keyfile must be given together"),
    ],
)
def test_invalid_settings_are_rejected(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Settings(**settings).check()


def test_default_settings_are_valid() -> None:
    Settings().check()


def test_feature_gates_have_defaults_and_can_be_set() -> None:
    assert Settings().gate("CustomResourceDefaulting")
    assert not Settings(feature_gates={"CustomResourceDefaulting": False}).gate("CustomResourceDefaulting")
