"""What the scheduler cannot see by itself: which page a request is from, and how a download ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from .scheduler import Scheduler

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response


class HostGivenUp(IgnoreRequest):
    """The request's host failed so often that it is not asked again in this run. The errback is called with it, and the next run asks."""


def _scheduler(crawler: Crawler) -> Scheduler | None:
    """The scheduler that is open, if it is ours."""
    slot = getattr(crawler.engine, "_slot", None)
    scheduler = getattr(slot, "scheduler", None)
    return scheduler if isinstance(scheduler, Scheduler) else None


class PageMiddleware(BaseSpiderMiddleware):
    """Tells the scheduler which requests are from the spider's start, and from which page the others are."""

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        scheduler = _scheduler(self.crawler)
        if scheduler is not None:
            scheduler.note_found(request, response.request if response is not None else None)
        return request


class GivenUpMiddleware:
    """Ends the requests of hosts that are given up, before any other middleware sees them."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> GivenUpMiddleware:
        """Called by Scrapy."""
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> None:
        """Called by Scrapy."""
        scheduler = _scheduler(self.crawler)
        if scheduler is not None and (trouble := scheduler.why_given_up(request)):
            raise HostGivenUp(trouble)


class OutcomeMiddleware:
    """Has requests wait for their hosts that no scheduler has seen, and tells how a download ended without a response. No other middleware is
    closer to the downloader.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OutcomeMiddleware:
        """Called by Scrapy."""
        return cls(crawler)

    def process_request(self, request: Request, spider: Any = None) -> Awaitable[None] | None:
        """Called by Scrapy, as the last one before the downloader."""
        scheduler = _scheduler(self.crawler)
        if scheduler is None or scheduler.clocks is None:
            return None
        return scheduler.clocks.turn(request)

    def process_exception(self, request: Request, exception: Exception, spider: Any = None) -> None:
        """Called by Scrapy, as the first one after the downloader."""
        scheduler = _scheduler(self.crawler)
        if scheduler is not None and scheduler.clocks is not None and not isinstance(exception, IgnoreRequest):
            scheduler.clocks.note_failed(request, exception)
