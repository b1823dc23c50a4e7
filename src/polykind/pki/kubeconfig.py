"""The kubeconfig of a server, for one of its users."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from polykind.contract import JsonObject
from polykind.pki.private_files import write_private


def write_kubeconfig(file: Path, url: str, authority: bytes | None, name: str, user: JsonObject) -> None:
    """Write a file that is all a client needs: where the server is, whom to trust (PEM), and what `user` shows."""
    cluster: JsonObject = {"server": url}
    if authority is not None:
        cluster["certificate-authority-data"] = encoded(authority)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "polykind", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "polykind", "context": {"cluster": "polykind", "user": name}}],
        "current-context": "polykind",
    }
    write_private(file, json.dumps(config, indent=2).encode() + b"\n")


def encoded(data: bytes) -> str:
    """Bytes as a kubeconfig has them."""
    return base64.b64encode(data).decode()
