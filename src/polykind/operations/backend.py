"""The components of the server that verbs and controllers use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from polykind.operations.watch_queries import WatchQueries

if TYPE_CHECKING:
    from polykind.admission.admission_chain import AdmissionChain
    from polykind.apis.core.service_network import ServiceNetwork
    from polykind.auth.authorizer import Authorizer
    from polykind.auth.service_account_tokens import ServiceAccountTokens
    from polykind.cache.watch_cache import WatchCache
    from polykind.contract import Clock, IdSource, StaleValues, Store
    from polykind.metrics.metrics import Metrics
    from polykind.resources.registry import Registry
    from polykind.workers import Workers


class Backend(msgspec.Struct):
    """The components of the server that verbs and controllers use."""

    store: Store
    cache: WatchCache
    registry: Registry
    clock: Clock
    ids: IdSource
    metrics: Metrics
    admission: AdmissionChain
    authorizer: Authorizer
    service_network: ServiceNetwork
    service_account_tokens: ServiceAccountTokens | None = None
    bookmark_interval: float = 60.0
    allows_privileged: bool = False
    """True if pods may have privileged containers."""
    unsafe_deletion: bool = False
    """True if the feature gate AllowUnsafeMalformedObjectDeletion is enabled."""
    compresses_watch_lists: bool = False
    """True if the feature gate WatchListCompression is enabled."""
    watch_queries: WatchQueries = msgspec.field(default_factory=WatchQueries)
    stale_values: StaleValues | None = None
    """Finds objects that are encrypted with an old key. None if values are not encrypted."""

    @property
    def workers(self) -> Workers:
        """The worker threads for computations on large objects."""
        return self.cache.workers
