"""Scrapy's scheduler over a frontier.

A request becomes a URL of the frontier, with the request itself as the bytes that travel with it; ``next_request`` is a lease. A lease has
two ends:

- Its host has answered when the downloader is done with the request. Then the slot's clock goes on.
- It is complete when the engine takes the request out of its own slot: after the callback, all requests that it yielded, and all pipelines
  of its items. There is no signal for that, so ``open`` wraps ``remove_request`` of the engine's slot. A lease that was not completed when
  the process ended is lent again.

So whatever a page's callback yielded is on disk before the page counts as done. `feeds` holds pages until their items are, too.

**Clocks.** Scrapy's own, the delays of its slots, are set aside: `clocks` has what goes by the frontier's instead.

**Queues.** A request waits in the queue of its download slot, by `Downloader.get_slot_key`: so what shares a slot has one clock. The
downloader writes the slot's name into each request that it gets, and redirects copy that. It is taken out again, unless the user wrote it.

**Requests that cannot be written** (a lambda as a callback) stay in memory. They hold the lease of the page that they are from: after a kill
the page is asked for again, and yields them again. A page has no more than some dozens of such leases at a time; beyond that they are as
lost by a kill as they are with Scrapy's own scheduler, and counted.

**Start requests** have ``dont_filter``, so that a start URL may be asked for whatever was seen. In a job that goes on, each would come once
more at each start. So the n-th start request of a fingerprint is one request, in all runs together.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import scrapy
from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import NotSupported

from .._native import Fetch, GiveUp, Link, Wait
from .clocks import HostClocks
from .downloads import timer_of_loop
from .keeping import Cookies, Keeper, open_frontier
from .memory import IN_MEMORY, Memory
from .options import connections_of, options_of
from .pages import HELD_OF_QUEUE, Held, Page, most_held
from .payload import Unserializable, dump, load
from .seen import SeenRequests

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from .._native import Frontier, Lease
    from .feeds import FeedHolds

logger = logging.getLogger(__name__)

#: The first byte of what travels with the URL of a request that is on disk.
_PICKLED = b"P"
#: Leases in a row that cannot be read before the engine gets its turn.
_UNREADABLE = 100
#: What the frontier allows at most: bytes that travel with a URL, and the ends of the priorities.
_MOST_BYTES, _MOST_PRIORITY = 1 << 20, (1 << 63) - 1


class Scheduler(BaseScheduler):
    """A scheduler and its duplicates filter, for ``crawler_frontier.scrapy.Addon``.

    Settings:
        JOBDIR: The frontier is in its directory ``frontier``; ``crawler stats`` and ``crawler explain`` read that.
        FRONTIER_ORDER: ``"lifo"``, as Scrapy's own queues, or ``"fifo"``.
        FRONTIER_COOKIES: Whether cookies are kept with each checkpoint, and are there again in the next run. Off by default.
        FRONTIER_CHECKPOINT_INTERVAL: Seconds between two checkpoints, 60 by default.
        FRONTIER_HOLD_FOR_FEEDS: Whether a page is done only when the feeds' batches with its items are stored. Off by default. Each feed
            then needs ``FEED_EXPORT_BATCH_ITEM_COUNT``.
        FRONTIER_OPTIONS: Further options of ``crawler_frontier.Frontier``. Names in its ``hosts`` and ``groups`` are those of slots.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.settings = crawler.settings
        assert crawler.stats is not None
        self.stats = crawler.stats
        self._jobdir: Path | None = Path(self.settings["JOBDIR"]) if self.settings["JOBDIR"] else None
        self._frontier: Frontier | None = None
        #: What the engine works on.
        self._out: dict[Request, Page] = {}
        #: Requests that were found and not scheduled yet: the request whose page they are from, `None` from the spider's start.
        self._found: WeakKeyDictionary[Request, Request | None] = WeakKeyDictionary()
        self._seen = SeenRequests(crawler, self._say)
        self._memory = Memory(self.settings.get("FRONTIER_ORDER", "lifo") == "lifo")
        #: Pages that requests in memory hold.
        self._held = Held(0, HELD_OF_QUEUE)
        self._feeds: FeedHolds | None = None
        self._clocks: HostClocks | None = None
        self._timer: Any = None
        self._timer_at = 0.0
        self._keeper: Keeper | None = None
        self._cookies: Cookies | None = None
        self._is_failed = False
        self._is_closed = False
        #: Requests were scheduled that were not flushed.
        self._is_dirty = False
        self._logs = {"duplicate", "unserializable", "unheld"}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Scheduler:
        """Called by Scrapy."""
        return cls(crawler)

    # The life of a scheduler.

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Called by Scrapy, before the first request.

        Raises:
            NotSupported: If this version of Scrapy lacks a name that is needed here.
            JobError, OptionError: As ``crawler_frontier.Frontier.open``.
        """
        self.spider = spider
        engine: Any = self.crawler.engine
        slot = self._needed(engine, "_slot")
        self._remove_request: Callable[[Request], None] = self._needed(slot, "remove_request")
        self._wake_engine: Callable[[], None] = self._needed(self._needed(slot, "nextcall"), "schedule")
        self._handle: Callable[..., Any] = self._needed(engine, "_handle_downloader_output")
        self._downloader = self._needed(engine, "downloader")
        self._needed(self._downloader, "slots")
        self._get_slot_key: Callable[[Request], str] = self._needed(self._downloader, "get_slot_key")
        self._call_later = timer_of_loop()
        options = options_of(self.settings, spider)
        most = most_held(options)
        self._held = Held(most, HELD_OF_QUEUE)
        if self._jobdir is not None and self.settings.getbool("FRONTIER_HOLD_FOR_FEEDS"):
            from .feeds import FeedHolds

            self._feeds = FeedHolds(self.crawler, most, self._needed, self._out.get, self._let_go, self._fail)
        self._frontier = open_frontier(self._jobdir, options)
        self._clocks = clocks = HostClocks(
            self.crawler,
            self._frontier,
            self._downloader,
            self._get_slot_key,
            connections_of(options),
            self._out,
            self._fail,
        )
        # All names are there, and the frontier is open: only now is anything wrapped.
        slot.remove_request = self._removed
        engine._handle_downloader_output = self._handled
        connect = self.crawler.signals.connect
        connect(clocks.response_downloaded, signals.response_downloaded)
        connect(clocks.request_reached_downloader, signals.request_reached_downloader)
        connect(clocks.request_left_downloader, signals.request_left_downloader)
        if self._feeds is not None and self._feeds.is_on:
            self._feeds.connect()
        if self._jobdir is not None:
            if self.settings.getbool("FRONTIER_COOKIES"):
                self._cookies = Cookies(self._downloader, self._jobdir / "frontier.cookies")
                self._cookies.load()
            self._keeper = Keeper(self._frontier, self.settings.getfloat("FRONTIER_CHECKPOINT_INTERVAL", 60.0))
        return None

    def close(self, reason: str) -> Deferred[None] | None:
        """Called by Scrapy, once all requests are back."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._frontier is None:
            return None
        if self._keeper is not None:
            self._keeper.end()
            if self._cookies is not None:
                self._cookies.save()
        self.stats.set_value("frontier/waiting", len(self._frontier))
        if shared := self._frontier.statistics().shared_priorities:
            self.stats.set_value("frontier/shared_priorities", shared)
        self._is_closed = True
        if self._feeds is not None and self._feeds.is_on:
            # The last batches are stored after this, and let their pages go.
            connect = self.crawler.signals.connect
            connect(self._close_frontier, signals.feed_exporter_closed)
            connect(self._close_frontier, signals.engine_stopped)
        else:
            self._close_frontier()
        return None

    def _close_frontier(self) -> None:
        frontier, self._frontier = self._frontier, None
        if self._clocks is not None:
            self._clocks.close()
        if frontier is not None:
            frontier.close()

    def _needed(self, owner: Any, name: str) -> Any:
        """Something of Scrapy's that is not documented, or was not always there."""
        found = getattr(owner, name, None)
        if found is None:
            raise NotSupported(
                f"Scrapy {scrapy.__version__} has no {type(owner).__name__}.{name}, by which the frontier knows when a page is done. "
                "Scrapy 2.13 to 2.19 have it"
            )
        return found

    # Requests come in.

    def note_found(self, request: Request, page: Request | None) -> None:
        """Called by the spider middleware: a request was found on the page of another one, or at the spider's start."""
        self._found[request] = page

    def enqueue_request(self, request: Request) -> bool:
        """Called by Scrapy. Returns whether the request was scheduled; if not, it was seen before."""
        frontier = self._frontier
        assert frontier is not None
        is_start = False
        parent: Page | None = None
        if request in self._found:
            page = self._found.pop(request)
            is_start = page is None
            parent = self._out.get(page) if page is not None else None
        identity = self._seen.identity(request, is_start)
        if self._jobdir is None:
            return self._enqueue_in_memory(request, identity, is_start)
        try:
            payload = _PICKLED + dump(request, self.spider)
        except Unserializable as error:
            self._say("unserializable", "Unable to serialize request: %s stays in memory: %s", request, error)
            self.stats.inc_value("scheduler/unserializable")
            payload = b""
        if identity is not None and identity in self._seen.in_memory:
            return self._filtered(request, is_start)
        refusal: str | None = "unserializable"
        if 0 < len(payload) <= _MOST_BYTES:
            refusal = self._admit(request, payload, identity)
        if refusal == "seen":
            return self._filtered(request, is_start)
        if refusal is None:
            return self._enqueued("disk")
        # It is too long to be written, or its URL is none that a host's clock is for.
        if identity is not None:
            # The frontier must not remember it: after a kill it is to be found again.
            if frontier.has_seen(Link("http://any.invalid/", identity=identity)):
                return self._filtered(request, is_start)
            self._seen.in_memory.add(identity)
        parent = self._hold(parent)
        if refusal != "unserializable" or self._admit(request, self._memory.remember(request, parent), None) is not None:
            self._memory.push(request, parent)
        return self._enqueued("memory")

    def _enqueue_in_memory(self, request: Request, identity: bytes | None, is_start: bool) -> bool:
        """All that there is to do without a directory."""
        number = self._memory.remember(request, None)
        refusal = self._admit(request, number, identity)
        if refusal is not None:
            self._memory.take(number)
            if refusal == "seen":
                return self._filtered(request, is_start)
            if identity is not None:
                if identity in self._seen.in_memory:
                    return self._filtered(request, is_start)
                self._seen.in_memory.add(identity)
            self._memory.push(request, None)
        return self._enqueued("memory")

    def _enqueued(self, where: str) -> bool:
        self._is_dirty = True
        self.stats.inc_value(f"scheduler/enqueued/{where}")
        self.stats.inc_value("scheduler/enqueued")
        return True

    def _admit(self, request: Request, payload: bytes, identity: bytes | None) -> str | None:
        """Asks the frontier, which says why it refuses. If its disk fails, the page that this is from must not be done."""
        assert self._frontier is not None and self._clocks is not None
        if not request.url.startswith("http"):
            return "unsupported_scheme"
        depth = request.meta.get("depth", 0)
        link = Link(
            request.url,
            priority=max(-_MOST_PRIORITY, min(_MOST_PRIORITY, -request.priority)),
            metadata=payload,
            identity=identity,
            queue=self._clocks.queue_of(request),
            unconditional=identity is None,
            # The spider's own start is no seed here: what is one is not judged as others are.
            depth=depth + 1 if isinstance(depth, int) and 0 <= depth < 1 << 31 else 1,
        )
        try:
            return self._frontier.admit([link])[0]
        except OSError as error:
            self._fail(error)
            raise

    def _filtered(self, request: Request, is_start: bool) -> bool:
        self._seen.note_filtered(request, is_start)
        return False

    def _hold(self, page: Page | None) -> Page | None:
        """A request in memory holds the lease of its page, if not too many do."""
        if page is None or not page.can_be_held:
            return None
        if not page.children:
            if self._held.is_full(page):
                self.stats.inc_value("frontier/unheld")
                self._say(
                    "unheld", "Too many requests in memory hold the leases of their pages: a kill would lose some"
                )
                return None
            self._held.add(page)
        page.children += 1
        page.open += 1
        return page

    # Requests go out.

    def has_pending_requests(self) -> bool:
        """Called by Scrapy: whether any request waits, for its turn or for its host's rest."""
        return self._memory.hostless > 0 or (self._frontier is not None and len(self._frontier) > 0)

    def __len__(self) -> int:
        return self._memory.hostless + (len(self._frontier) if self._frontier is not None else 0)

    def next_request(self) -> Request | None:
        """Called by Scrapy. It never raises: what cannot be read is logged, counted and done."""
        try:
            request = self._next()
        except Exception as error:
            self._fail(error)
            return None
        if request is not None:
            self.stats.inc_value("scheduler/dequeued")
        return request

    def _next(self) -> Request | None:
        frontier = self._frontier
        if frontier is None or self._is_failed or self._is_closed:
            return None
        if self._keeper is not None:
            self._keeper.check(self._cookies)
        if self._is_dirty:
            # Those of a page are flushed with its end. These may be from anywhere.
            self._is_dirty = False
            frontier.flush()
        if hostless := self._memory.pop():
            request, parent = hostless
            self._out[request] = Page(None, parent)
            self.stats.inc_value("scheduler/dequeued/memory")
            return request
        for _ in range(_UNREADABLE):
            found = frontier.next()
            if isinstance(found, (Fetch, GiveUp)):
                lease = found.lease
                loaded = self._load(lease)
                if loaded is None:
                    self._complete(lease, False)
                    continue
                request, parent = loaded
                page = self._out[request] = Page(lease, parent)
                if isinstance(found, GiveUp):
                    failure, words = lease.trouble or ("unreachable", "")
                    page.given_up = f"{lease.queue or lease.origin} is given up for now: {words or failure}"
                return request
            if isinstance(found, Wait):
                self._wake_at(found.until)
            return None
        self._wake_at(frontier.now())
        return None

    def _load(self, lease: Lease) -> tuple[Request, Page | None] | None:
        """The request that travels with a URL; `None` if it cannot be had."""
        payload = lease.metadata
        if payload[:1] == IN_MEMORY:
            kept = self._memory.take(payload)
            if kept is None:
                # It was in the memory of a process that ended. Its page will yield it again.
                self.stats.inc_value("frontier/gone")
            else:
                self.stats.inc_value("scheduler/dequeued/memory")
            return kept
        try:
            request = load(payload[1:], self.spider)
        except Exception as error:
            self.stats.inc_value("frontier/unreadable")
            logger.error(
                "The request to %s cannot be read any more, and is left out: %s",
                lease.url,
                error,
                extra={"spider": self.spider},
            )
            return None
        self.stats.inc_value("scheduler/dequeued/disk")
        return request, None

    def _wake_at(self, until: float) -> None:
        """Wakes the engine at this time, by one timer."""
        assert self._frontier is not None
        if self._timer is not None:
            if self._timer_at <= until:
                return
            self._timer.cancel()
        self._timer_at = until
        # A timer that fires a little early would only be set again.
        self._timer = self._call_later(max(0.0, until - self._frontier.now()) + 0.0005, self._wake)

    def _wake(self) -> None:
        self._timer = None
        if self._frontier is not None:
            self._wake_engine()

    # Requests come back.

    def why_given_up(self, request: Request) -> str | None:
        """Called by a downloader middleware: why a request is not to be downloaded, if it is not."""
        page = self._out.get(request)
        return page.given_up if page is not None else None

    @property
    def clocks(self) -> HostClocks | None:
        """For downloader middlewares: what is told of downloads. `None` before it is open."""
        return self._clocks

    def _handled(self, result: Any, request: Request) -> Any:
        """In the place of the engine's own: a request that a downloader middleware returns goes on for the one that was downloaded."""
        if isinstance(result, Request):
            self._found[result] = request
        return self._handle(result, request)

    def _removed(self, request: Request) -> None:
        """In the place of the engine slot's own: the engine has done all that there is to do for a request."""
        page = self._out.pop(request, None)
        if page is not None:
            self._let_go(page)
        self._remove_request(request)

    def _let_go(self, page: Page) -> None:
        """One of those that hold a page is done."""
        try:
            self._end(page)
        except Exception as error:
            self._fail(error)

    def _end(self, page: Page) -> None:
        page.open -= 1
        if page.open > 0:
            return
        if page.lease is not None:
            self._complete(page.lease, page.answered, page.given_up is not None)
        if (parent := page.parent) is not None:
            parent.children -= 1
            if not parent.children:
                self._held.remove(parent)
            self._end(parent)

    def _complete(self, lease: Lease, is_answered: bool, is_given_up: bool = False) -> None:
        frontier = self._frontier
        if frontier is None or self._is_failed:
            # The lease stays out, and its page is asked for in the next run.
            return
        if is_given_up:
            frontier.give_up(lease)
        else:
            if not is_answered:
                # Its host was not asked: a page from the cache, or one that robots.txt forbids. It need not rest.
                frontier.answered(lease, 200, at=0.0)
            frontier.complete(lease)
        self._is_dirty = False
        frontier.flush()

    def _fail(self, error: BaseException) -> None:
        """The frontier's disk fails: nothing counts as done from here on, and the spider is closed."""
        if self._is_failed:
            return
        self._is_failed = True
        logger.critical("The frontier failed, and the spider is closed", exc_info=error, extra={"spider": self.spider})
        engine: Any = self.crawler.engine
        if hasattr(engine, "close_spider_async"):
            from scrapy.utils.defer import deferred_from_coro

            deferred_from_coro(engine.close_spider_async(reason="frontier_failed"))
        else:
            engine.close_spider(self.spider, "frontier_failed")

    def _say(self, what: str, words: str, *values: object, level: int = logging.WARNING) -> None:
        """Says this once."""
        if what in self._logs:
            self._logs.discard(what)
            logger.log(level, words, *values, extra={"spider": self.spider})
