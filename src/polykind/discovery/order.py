"""Which version goes first: stable before beta before alpha, newer before older, other names last."""

from __future__ import annotations

import base64
import hashlib
import re

_KUBE_LIKE = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?")
_STAGES = {None: 0, "beta": 1, "alpha": 2}
_LARGEST = 2**63 - 1


def version_key(version: str) -> tuple[int, int, int, int, str]:
    """A key that sorts the preferred version first; numbers that overflow make a name like any other."""
    match = _KUBE_LIKE.fullmatch(version)
    if match is None:
        return (1, 0, 0, 0, version)
    major, minor = int(match[1][:20]), int((match[3] or "0")[:20])
    if major > _LARGEST or minor > _LARGEST:
        return (1, 0, 0, 0, version)
    return (0, _STAGES[match[2]], -major, -minor, version)


def storage_version_hash(group: str, version: str, kind: str) -> str:
    """What clients compare to learn that objects are stored at another version than before."""
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()
