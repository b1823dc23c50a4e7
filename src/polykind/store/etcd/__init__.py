"""The distributed store: keys and values in etcd, laid out as Kubernetes lays them out."""

from polykind.store.etcd.etcd_client import EtcdAccess
from polykind.store.etcd.leader_election import EtcdLeadership
from polykind.store.etcd.store import EtcdStore

__all__ = ["EtcdAccess", "EtcdLeadership", "EtcdStore"]
