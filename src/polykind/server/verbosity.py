"""The log level that a verbosity stands for (the flag -v)."""

from __future__ import annotations

import logging

_DEBUG = 4
"""From this verbosity on, debug messages are logged."""


def log_level(verbosity: int) -> int:
    """Return the log level of a verbosity."""
    return logging.DEBUG if verbosity >= _DEBUG else logging.INFO
