"""Crawlee for Python (1.11) on this frontier: a request queue that goes on after any end of its process, and paces every host.

One argument is all of it::

    from crawlee.configuration import Configuration
    from crawlee.crawlers import HttpCrawler
    from crawler_frontier.crawlee import FrontierStorageClient

    crawler = HttpCrawler(
        storage_client=FrontierStorageClient(host_delay="1s"),
        configuration=Configuration(purge_on_start=False),
    )

Kill the crawler however you like, and start it again: each request that was added is still there, and no request that was handled comes
again. What was in flight is asked for again. With Crawlee's default, ``purge_on_start=True``, unnamed queues begin anew at each start, as
those of its other storage clients do; queues with a name never do.

Datasets and key-value stores are those of Crawlee's file system client, or of the client that you name. The guide tells the rest:
``docs/guide/python.md``.
"""

from __future__ import annotations

from .client import FrontierStorageClient
from .queue import FrontierRequestQueueClient

__all__ = ["FrontierRequestQueueClient", "FrontierStorageClient"]
