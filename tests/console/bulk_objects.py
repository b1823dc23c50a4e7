"""A server with very many objects, which are written to its store before it starts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from polykind.store.sqlite import SqliteStore
from tests.console.demo import GROUP, Api, order, order_crd
from tests.support.server import ServerProcess, serving

_BATCH = 2000


@contextmanager
def bulk_server(folder: Path, count: int) -> Iterator[ServerProcess]:
    """Start a server with `count` orders, bulk-000000 and so on, in the namespace `bulk`."""
    with serving(folder) as server:
        api = Api(server)
        api.define(order_crd())
        api.send("POST", "/api/v1/namespaces", {"metadata": {"name": "bulk"}})
        created = api.send("POST", f"/apis/{GROUP}/v1/namespaces/bulk/orders", order("bulk-000000", "bulk", 0))
        server.stop()
        # Playwright runs an event loop in this thread.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(lambda: asyncio.run(_write(server.data_dir, created, count))).result()
        server.start()
        yield server


async def _write(data_dir: Path, template: dict[str, object], count: int) -> None:
    """Write copies of a stored object."""
    store = SqliteStore(data_dir, durable=False)
    await store.start()
    text = json.dumps(template)
    metadata: dict[str, str] = template["metadata"]  # type: ignore[assignment]
    text = text.replace(f'"resourceVersion": "{metadata["resourceVersion"]}", ', "")
    for start in range(1, count, _BATCH):
        writes = []
        for number in range(start, min(start + _BATCH, count)):
            value = text.replace("bulk-000000", f"bulk-{number:06}").replace(
                metadata["uid"], f"{number:08}{metadata['uid'][8:]}"
            )
            writes.append(store.put(f"/registry/{GROUP}/orders/bulk/bulk-{number:06}", value.encode(), expect=0))
        await asyncio.gather(*writes)
    await store.close()
