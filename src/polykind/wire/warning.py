"""Warning headers: advice that comes with an answer."""

from __future__ import annotations

import unicodedata

_TOTAL = 4096
_EACH = 256


def headers(texts: list[str]) -> tuple[tuple[bytes, bytes], ...]:
    """Each text once; if they are too long together, each is cut short."""
    texts = [t for t in dict.fromkeys(texts) if not any(unicodedata.category(c) == "Cc" for c in t)]
    if sum(map(len, texts)) > _TOTAL:
        texts = [t[:_EACH] for t in texts]
    out, total = [], 0
    for text in texts:
        if total >= _TOTAL:
            break
        total += len(text)
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        out.append((b"Warning", f'299 - "{quoted}"'.encode("utf-8", "replace")))
    return tuple(out)
