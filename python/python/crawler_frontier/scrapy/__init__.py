"""Scrapy (2.13 and later) on this frontier: a crawl that goes on after any end of its process.

Two settings are all of it::

    ADDONS = {"crawler_frontier.scrapy.Addon": 100}
    JOBDIR = "job"

Kill the spider however you like, and start it again with the same ``JOBDIR``: each request that was scheduled is still there, and each
page's callback runs to its end, items and pipelines included. What was in flight is asked for again: so an item may come twice, and none
is missing. Without ``JOBDIR`` the frontier is in memory.

A request that was seen stays seen, by Scrapy's own fingerprints. Each download slot has its own clock, which outlives the process:
``DOWNLOAD_DELAY``, ``CONCURRENT_REQUESTS_PER_DOMAIN`` and ``DOWNLOAD_SLOTS`` say how it goes. The guide tells the rest:
``docs/guide/python.md``.
"""

from __future__ import annotations

from .addon import Addon
from .middlewares import GivenUpMiddleware, HostGivenUp, OutcomeMiddleware, PageMiddleware
from .scheduler import Scheduler

__all__ = ["Addon", "GivenUpMiddleware", "HostGivenUp", "OutcomeMiddleware", "PageMiddleware", "Scheduler"]
