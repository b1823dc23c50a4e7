"""A file of accepted findings: breaking changes that a team has decided to make, so that CI passes nevertheless.

    accept:
    - finding: field-removed
      crd: crontabs.stable.example.com
      version: v1
      path: spec.legacy
      why: no object has set it since 2023

`finding` and `why` are required. A missing `crd`, `version` or `path` matches everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from polykind.codec import yaml_codec
from polykind.evolution.change_finding import TRAPS, ChangeFinding

_FIELDS = frozenset({"finding", "crd", "version", "path", "why"})


@dataclass
class AcceptedFinding:
    """An entry of the file. `used` is the number of findings that it has accepted."""

    finding: str
    why: str
    crd: str = "*"
    version: str = "*"
    path: str = "*"
    used: int = 0

    def covers(self, finding: ChangeFinding) -> bool:
        return self.finding == finding.trap and all(
            pattern in ("*", value) or fnmatchcase(value.replace("[*]", "{}"), pattern.replace("[*]", "{}"))
            for pattern, value in (
                (self.crd, finding.crd),
                (self.version, finding.version),
                (self.path, finding.path),
            )
        )

    def __str__(self) -> str:
        fields = (f"{name} {value}" for name, value in (("crd", self.crd), ("version", self.version)) if value != "*")
        return " ".join((self.finding, self.path if self.path != "*" else "", *fields)).replace("  ", " ").strip()


def read_accepted(file: Path) -> list[AcceptedFinding]:
    """Return the entries of a file. Raise ValueError with the place of the first error."""
    try:
        document = yaml_codec.decode(file.read_bytes())
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from None
    except yaml_codec.MalformedYAMLError as error:
        raise ValueError(f"{file}: {error.message}") from None
    entries = document.get("accept") if isinstance(document, dict) and document.keys() == {"accept"} else None
    if not isinstance(entries, list):
        raise ValueError(f"{file}: must have one field, accept, a list of findings")
    out = []
    for number, entry in enumerate(entries):
        place = f"{file}: accept[{number}]"
        if not isinstance(entry, dict) or not {"finding", "why"} <= entry.keys() <= _FIELDS:
            raise ValueError(f"{place} must have finding and why, and optionally crd, version and path")
        if not all(isinstance(value, str) and value.strip() for value in entry.values()):
            raise ValueError(f"{place}: all values must be texts")
        if entry["finding"] not in TRAPS:
            raise ValueError(f"{place}: {entry['finding']} is not a kind of finding")
        out.append(AcceptedFinding(**entry))
    return out
