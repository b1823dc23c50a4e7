"""The process's file descriptors: their limit, and a check that some are left."""

from __future__ import annotations

import os
import resource


def raise_descriptor_limit() -> None:
    """Raise the soft limit of open files to the hard limit, because each connection needs a descriptor."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def descriptor_problem() -> str:
    """Return the reason why no file can be opened, or "" if files can be opened."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return f"no file descriptors are left: {error.strerror}"
    return ""
