"""The clocks of hosts: what of a download concerns its host, and nothing of the page.

Each download slot is a queue of the frontier, with one clock. Scrapy's own, the delay of its slots, is set aside.

**Requests that pass the scheduler by** (robots.txt, images, ``engine.download``) go by that clock too: before it is downloaded, each waits in
the line of its slot until the host is due and has a connection left, and moves the clock on. A page that was lent by then waits in that line
as well.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from twisted.internet.defer import Deferred

from .._native import Link
from .downloads import retry_after, timer_of_loop
from .options import queue_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response

    from .._native import Frontier
    from .pages import Page


#: A request that passes the scheduler by waits at most this long for its host, in seconds, or twice its delay: a page may depend on it.
_PATIENCE = 60.0
#: Queues whose last answer is kept here. The rest after it shows in the frontier's statistics only if it is more than the plain one.
_ENDS = 4096


class HostClocks:
    """Tells the frontier when hosts were asked, and what they have answered; has requests wait that no lease is for."""

    def __init__(
        self,
        crawler: Crawler,
        frontier: Frontier,
        downloader: Any,
        slot_key: Callable[[Request], str],
        connections: Callable[[str], int],
        out: Mapping[Request, Page],
        fail: Callable[[BaseException], None],
    ) -> None:
        assert crawler.stats is not None
        self._stats, self._downloader, self._slot_key, self._out = crawler.stats, downloader, slot_key, out
        self._connections, self._fail = connections, fail
        self._call_later = timer_of_loop()
        self._frontier: Frontier | None = frontier
        self._by_address = int(crawler.settings["CONCURRENT_REQUESTS_PER_IP"] or 0) > 0
        #: Requests that the downloader gave a slot to.
        self._unslotted: WeakSet[Request] = WeakSet()
        #: Those that wait for a host, by its queue. The first one looks at the clock.
        self._lines: dict[str, deque[Deferred[None]]] = {}
        #: What the first one waits for: a time, or the end of another request.
        self._naps: dict[str, Deferred[None]] = {}
        #: When the last page of a queue was answered, oldest first.
        self._ends: dict[str, float] = {}
        #: Requests of each queue that are being downloaded, and have no lease.
        self._passing: dict[str, set[Request]] = {}

    def close(self) -> None:
        """Tells it nothing more, and has nobody wait."""
        self._frontier = None
        for nap in list(self._naps.values()):
            _wake(nap)

    def queue_of(self, request: Request) -> str:
        """The name of the queue that stands for a request's slot."""
        if self._by_address and request.meta.get("download_slot") is None:
            # The slot has another name once the host's address is known: the host would have two clocks.
            return queue_of(urlparse_cached(request).hostname or "")
        return queue_of(self._slot_key(request))

    def turn(self, request: Request) -> Awaitable[None] | None:
        """A request is about to be downloaded: what it is to wait for first; `None` if it may go."""
        if "download_slot" not in request.meta:
            self._unslotted.add(request)
        frontier = self._frontier
        if frontier is None or not request.url.startswith("http"):
            return None
        page = self._out.get(request)
        queue = page.queue if page is not None and page.lease is not None else self.queue_of(request)
        if page is not None and page.lease is not None and not page.is_overtaken and queue not in self._passing:
            page.left_at = frontier.now()
            return None
        try:
            if queue not in self._lines and self._rest(request, queue)[0] <= 0:
                self._go(request, page, queue)
                return None
        except Exception as error:
            self._fail(error)
            return None
        return self._wait(request, page, queue)

    async def _wait(self, request: Request, page: Page | None, queue: str) -> None:
        line = self._lines.setdefault(queue, deque())
        mine: Deferred[None] = Deferred()
        line.append(mine)
        try:
            if line[0] is not mine:
                await maybe_deferred_to_future(mine)
            rest, delay = self._rest(request, queue)
            patience = max(_PATIENCE, 2 * delay)
            while rest > 0:
                if patience <= 0:
                    self._stats.inc_value("frontier/impatient")
                    break
                rest = min(rest, patience)
                patience -= rest
                began = self._now()
                await self._nap(queue, rest)
                patience += rest - (self._now() - began)
                rest = self._rest(request, queue)[0]
            self._go(request, page, queue)
        except Exception as error:
            self._fail(error)
        finally:
            line.remove(mine)
            if not line:
                del self._lines[queue]
            else:
                _wake(line[0])

    def _rest(self, request: Request, queue: str) -> tuple[float, float]:
        """How long a queue rests from now on, and its delay: after what the frontier knows of, and after pages that are being downloaded. For
        ever, if all its connections are in use: until one of them is not.
        """
        if self._frontier is None:
            return 0.0, 0.0
        statistics = self._frontier.queue_statistics(Link(request.url, queue=queue))
        if statistics is None or statistics.is_retired:
            return 0.0, 0.0
        left = [page.left_at for page in self._out.values() if page.queue == queue and page.left_at and not page.answered]
        if len(left) + len(self._passing.get(queue, ())) >= self._connections(queue):
            return float("inf"), statistics.delay
        due = max(statistics.due, max([*left, self._ends.get(queue, 0.0)]) + statistics.delay)
        return due - self._frontier.now(), statistics.delay

    def _now(self) -> float:
        return self._frontier.now() if self._frontier is not None else 0.0

    async def _nap(self, queue: str, seconds: float) -> None:
        """Waits for so long, or until a request of the queue ends."""
        nap: Deferred[None] = Deferred()
        self._naps[queue] = nap
        # A timer that fires a little early would only be set again.
        fired: list[bool] = []

        def fire() -> None:
            fired.append(True)
            _wake(nap)

        timer = self._call_later(seconds + 0.0005, fire)
        try:
            await maybe_deferred_to_future(nap)
        finally:
            del self._naps[queue]
            if not fired:
                timer.cancel()

    def _go(self, request: Request, page: Page | None, queue: str) -> None:
        if self._frontier is None:
            return
        self._frontier.host_was_asked(Link(request.url, queue=queue))
        if page is None or page.lease is None:
            self._passing.setdefault(queue, set()).add(request)
        if page is not None:
            page.left_at, page.is_overtaken = self._frontier.now(), False
        self._overtake(queue)

    def _overtake(self, queue: str) -> None:
        """The clock of a queue was moved on: pages of it that are lent, and not yet under way, are to look at it again."""
        for page in self._out.values():
            if page.queue == queue and not page.left_at:
                page.is_overtaken = True

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
        """Called by Scrapy, before the slot looks at its own clock."""
        slot = self._downloader.slots.get(request.meta.get("download_slot"))
        if slot is not None:
            slot.delay = 0.0

    def request_left_downloader(self, request: Request) -> None:
        """Called by Scrapy."""
        if request in self._unslotted:
            # The downloader has written its slot's name here. A redirect copies it, and would go by the clock of the wrong host.
            self._unslotted.discard(request)
            request.meta.pop("download_slot", None)
        if self._frontier is None or not request.url.startswith("http"):
            return
        page = self._out.get(request)
        queue = page.queue if page is not None and page.lease is not None else self.queue_of(request)
        try:
            if page is None or page.lease is None:
                # The host rests from here on, also for a page that was lent while this one was on its way.
                self._frontier.host_was_asked(Link(request.url, queue=queue))
                self._overtake(queue)
                if (passing := self._passing.get(queue)) is not None:
                    passing.discard(request)
                    if not passing:
                        del self._passing[queue]
        except Exception as error:
            self._fail(error)
        if (nap := self._naps.get(queue)) is not None:
            _wake(nap)

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
        self._ends.pop(page.queue, None)
        self._ends[page.queue] = self._frontier.now()
        if len(self._ends) > _ENDS:
            del self._ends[next(iter(self._ends))]


def _wake(waiting: Deferred[None]) -> None:
    if not waiting.called:
        waiting.callback(None)
