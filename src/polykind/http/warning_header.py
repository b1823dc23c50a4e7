"""Warning headers: advice that comes with an answer."""

from __future__ import annotations

import unicodedata

_TOTAL = 4096
_EACH = 256

Header = tuple[bytes, bytes]


def headers(texts: list[str]) -> tuple[Header, ...]:
    """Each text once; once they are too long together, each is cut short, and those that then exceed are left out."""
    recorded = [t for t in dict.fromkeys(texts) if t]
    out, total = [], 0
    for index, text in enumerate(recorded):
        header = _header(text)
        if header is None:
            continue
        total += len(text)
        if total > _TOTAL:
            return _cut(recorded, index)
        out.append(header)
    return tuple(out)


def _cut(recorded: list[str], index: int) -> tuple[Header, ...]:
    """All texts up to the one that was too much, and of the rest what fits."""
    out, total = [], 0
    for number, text in enumerate(recorded):
        if number > index and total >= _TOTAL:
            break
        header = _header(text[:_EACH])
        if header is not None:
            total += len(text[:_EACH])
            out.append(header)
    return tuple(out)


def _header(text: str) -> Header | None:
    """None for what cannot stand in a header."""
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
        return None
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return b"Warning", f'299 - "{quoted}"'.encode()
