"""Log lines as JSON, in the shape of kube-apiserver's `--logging-format=json`."""

from __future__ import annotations

import json
import logging
from typing import Any

_VERBOSITY = {logging.DEBUG: 4, logging.INFO: 2, logging.WARNING: 0}
"""The value of `v` by the level. kube-apiserver logs warnings with v 0, and errors without v."""


class JsonFormatter(logging.Formatter):
    """Formats a record as one line: `ts` in milliseconds, `caller`, `msg`, `v` or `err`, and the record's fields.

    A logger adds fields with `extra={"fields": {...}}`; then `msg` is the record's attribute `title`.
    """

    def format(self, record: logging.LogRecord) -> str:
        folder, _, file = record.pathname.replace("\\", "/").rpartition("/")
        fields: dict[str, Any] | None = getattr(record, "fields", None)
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 4),
            "caller": f"{folder.rpartition('/')[2]}/{file}:{record.lineno}",
            "msg": record.title if fields and hasattr(record, "title") else record.getMessage(),
        }
        if record.levelno < logging.ERROR:
            line["v"] = _VERBOSITY.get(record.levelno, 0)
        if record.exc_info and record.exc_info[1] is not None:
            line["err"] = str(record.exc_info[1]) or type(record.exc_info[1]).__name__
            line["stacktrace"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stacktrace"] = record.stack_info
        line |= fields or {"logger": record.name}
        return json.dumps(line, separators=(",", ":"), default=str)
