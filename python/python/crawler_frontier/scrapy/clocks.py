"""The clocks of hosts: what of a download concerns its host, and nothing of the page.

Each download slot is a queue of the frontier, with one clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from scrapy.utils.httpobj import urlparse_cached

from .._native import Link
from .downloads import retry_after
from .options import queue_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from .._native import Frontier
    from .pages import Page


class HostClocks:
    """Tells the frontier when hosts were asked, and what they have answered."""

    def __init__(
        self,
        crawler: Crawler,
        frontier: Frontier,
        slot_key: Callable[[Request], str],
        out: Mapping[Request, Page],
        fail: Callable[[BaseException], None],
    ) -> None:
        assert crawler.stats is not None
        self._stats, self._slot_key, self._out, self._fail = crawler.stats, slot_key, out, fail
        self._frontier: Frontier | None = frontier
        self._by_address = int(crawler.settings["CONCURRENT_REQUESTS_PER_IP"] or 0) > 0
        #: Requests that the downloader gave a slot to.
        self._unslotted: WeakSet[Request] = WeakSet()

    def close(self) -> None:
        """Tells it nothing more."""
        self._frontier = None

    def queue_of(self, request: Request) -> str:
        """The name of the queue that stands for a request's slot."""
        if self._by_address and request.meta.get("download_slot") is None:
            # The slot has another name once the host's address is known: the host would have two clocks.
            return queue_of(urlparse_cached(request).hostname or "")
        return queue_of(self._slot_key(request))

    def note_leaving(self, request: Request) -> None:
        """A request is about to be downloaded."""
        if "download_slot" not in request.meta:
            self._unslotted.add(request)

    def note_failed(self, request: Request, error: Exception) -> None:
        """A download ended without a response."""
        page = self._out.get(request)
        if page is not None and not page.answered and page.given_up is None:
            name = type(error).__name__
            self._stats.inc_value(f"frontier/failed/{name}")
            # A page that is cut off, since it is too large, is not its host's failure.
            self._answered(page, 200 if "Cancelled" in name else 503)

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Called by Scrapy."""
        page = self._out.get(request)
        if page is not None and not page.answered:
            latency = request.meta.get("download_latency", 0.0)
            self._answered(page, response.status, latency, len(response.body), retry_after(response))

    def request_reached_downloader(self, request: Request) -> None:
        """Called by Scrapy."""
        if request not in self._out:
            self._note_asked(request)

    def request_left_downloader(self, request: Request) -> None:
        """Called by Scrapy."""
        if request in self._unslotted:
            # The downloader has written its slot's name here. A redirect copies it, and would go by the clock of the wrong host.
            self._unslotted.discard(request)
            request.meta.pop("download_slot", None)
        if request not in self._out:
            self._note_asked(request)

    def _note_asked(self, request: Request) -> None:
        """A request that no scheduler has seen (robots.txt, an image) counts for its slot's clock."""
        if self._frontier is not None and request.url.startswith("http"):
            try:
                self._frontier.host_was_asked(Link(request.url, queue=self.queue_of(request)))
            except Exception as error:
                self._fail(error)

    def _answered(
        self, page: Page, status: int, latency: float = 0.0, received: int = 0, retry_after: float | None = None
    ) -> None:
        """The host of a page is done."""
        page.answered = True
        if page.lease is None or self._frontier is None:
            return
        try:
            self._frontier.answered(
                page.lease, status, latency=max(0.0, latency), received=received, retry_after=retry_after
            )
        except Exception as error:
            self._fail(error)
