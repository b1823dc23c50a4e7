"""The distributed store: keys and values in etcd, laid out as Kubernetes lays them out."""

from polykind.store.etcd.leader import EtcdLeadership
from polykind.store.etcd.member import Access
from polykind.store.etcd.store import EtcdStore

__all__ = ["Access", "EtcdLeadership", "EtcdStore"]
