"""The embedded store: one SQLite file, written by one thread with group commit."""

from polykind.store.sqlite.store import SingleReplicaLeadership, SqliteStore, Stats

__all__ = ["SingleReplicaLeadership", "SqliteStore", "Stats"]
