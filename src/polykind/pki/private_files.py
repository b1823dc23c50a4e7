"""Files with secrets, such as kubeconfigs."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from polykind.contract import JsonObject


def write_private(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write a file atomically, readable by its owner only. If `durable` is true, wait until it is on disk."""
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    temporary.rename(path)


def write_kubeconfig(file: Path, url: str, ca: bytes | None, name: str, user: JsonObject) -> None:
    """Write a kubeconfig with the server's URL, its CA (PEM) and the credentials of one user."""
    cluster: JsonObject = {"server": url}
    if ca is not None:
        cluster["certificate-authority-data"] = to_base64(ca)
    # The server writes the file at each start, so a lost file does no harm.
    write_private(file, kubeconfig(cluster, name, user), durable=False)


def kubeconfig(cluster: JsonObject, name: str, user: JsonObject) -> bytes:
    """Return a kubeconfig with one cluster and the credentials of one user, as JSON."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "polykind", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "polykind", "context": {"cluster": "polykind", "user": name}}],
        "current-context": "polykind",
    }
    return json.dumps(config, indent=2).encode() + b"\n"


def to_base64(data: bytes) -> str:
    """Encode bytes in base64, as in the `...-data` fields of a kubeconfig."""
    return base64.b64encode(data).decode()
