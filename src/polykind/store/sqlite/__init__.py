"""The embedded store: one SQLite file, written by one thread that shares each fsync among waiting writers."""

from polykind.store.sqlite.store import SqliteStore, Stats

__all__ = ["SqliteStore", "Stats"]
