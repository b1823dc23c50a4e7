"""Stores: embedded SQLite, and etcd for several replicas."""
