"""Pages stay out until the feeds have their items: ``FRONTIER_HOLD_FOR_FEEDS``.

A feed gets an item as soon as it is scraped, and writes it when its batch is full. A page that counted as done by then would not be asked
for again after a kill, and its item would be lost. So a page is held by each open batch that has an item of it, and let go when the batch
is stored: Scrapy says so with ``feed_slot_closed``.

**A batch that does not fill** would hold its pages for ever, and the frontier lends nothing more of a queue with 128 pages in hand. So the
batches of all feeds hold at most 512 pages, and 64 of a queue. The item that reaches this bound is its batch's last one: the batch is
stored with fewer items than ``FEED_EXPORT_BATCH_ITEM_COUNT``, which is a maximum, and ``frontier/feed_batches_cut`` counts it.

**A batch that cannot be stored** keeps its pages out for good, and the spider is closed. The next run asks for them.
"""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotSupported
from scrapy.extensions.feedexport import FeedExporter

from .pages import HELD_OF_QUEUE, Held, Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Request

logger = logging.getLogger(__name__)


class _Batch:
    """An open batch of a feed, or one that is being stored."""

    def __init__(self, slot: Any, held: Held) -> None:
        self.slot = slot
        self.held = held
        self.pages: dict[Page, None] = {}


class FeedHolds:
    """Holds pages for the batches of feeds.

    Raises:
        NotSupported: If a feed has no batches, so that its items are out when the spider ends and not before; or if this version of Scrapy
            lacks a name that is needed here.
    """

    def __init__(
        self,
        crawler: Crawler,
        most: int,
        needed: Callable[[Any, str], Any],
        page_of: Callable[[Request], Page | None],
        end: Callable[[Page], None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self._crawler, self._page_of, self._end, self._fail = crawler, page_of, end, fail
        self._batches: dict[int, _Batch] = {}
        self._exporter: Any = crawler.get_extension(FeedExporter)
        if self._exporter is None:
            logger.warning("FRONTIER_HOLD_FOR_FEEDS holds nothing: there is no feed")
            return
        self._feeds: dict[str, dict[str, Any]] = needed(self._exporter, "feeds")
        needed(self._exporter, "slots")
        self._export: Callable[[Any, Any], None] = needed(self._exporter, "item_scraped")
        for uri, feed in self._feeds.items():
            if not feed.get("batch_item_count"):
                raise NotSupported(
                    f"FRONTIER_HOLD_FOR_FEEDS holds pages until the batches with their items are stored, and {uri} has no batches: "
                    "set FEED_EXPORT_BATCH_ITEM_COUNT, and %(batch_time)s in the name"
                )
        if len(self._feeds) > HELD_OF_QUEUE:
            raise NotSupported(f"FRONTIER_HOLD_FOR_FEEDS is for at most {HELD_OF_QUEUE} feeds ({len(self._feeds)} were set)")
        if inspect.iscoroutinefunction(self._export):
            raise NotSupported(f"FRONTIER_HOLD_FOR_FEEDS: {type(self._exporter).__name__}.item_scraped is a coroutine")
        # Each feed has its share, so that no feed is cut because of another one.
        self._bounds = most // len(self._feeds) or 1, HELD_OF_QUEUE // len(self._feeds)

    @property
    def is_on(self) -> bool:
        """Whether there is a feed."""
        return self._exporter is not None

    def connect(self) -> None:
        """Comes between the signal and the feed exporter, so that it is known which batch got an item."""
        connect = self._crawler.signals.connect
        self._crawler.signals.disconnect(self._export, signals.item_scraped)
        connect(self._item_scraped, signals.item_scraped)
        connect(self._slot_closed, signals.feed_slot_closed)

    def _item_scraped(self, item: Any, spider: Spider, response: Any = None) -> None:
        request = getattr(response, "request", None)
        page = self._page_of(request) if request is not None else None
        if page is None or not page.can_be_held:
            self._export(item, spider)
            return
        batches = [(self._batch(slot), slot.itemcount) for slot in self._exporter.slots]
        cut = {
            batch.slot.uri_template
            for batch, _ in batches
            if page not in batch.pages and batch.held.is_full(page, more=1)
        }
        sizes = {uri: self._feeds[uri]["batch_item_count"] for uri in cut}
        try:
            for uri in cut:
                self._feeds[uri]["batch_item_count"] = 1
            self._export(item, spider)
        except OSError as error:
            # The feed does not have it, so its page is not done. What an exporter cannot write at all is no reason to end.
            self._fail(error)
            raise
        finally:
            for uri, size in sizes.items():
                self._feeds[uri]["batch_item_count"] = size
            for batch, before in batches:
                # One whose filter does not take the item has no more than before.
                if batch.slot.itemcount > before:
                    self._hold(page, batch)
                    if batch.slot.uri_template in cut and batch.slot.itemcount < sizes[batch.slot.uri_template]:
                        assert self._crawler.stats is not None
                        self._crawler.stats.inc_value("frontier/feed_batches_cut")

    def _hold(self, page: Page, batch: _Batch) -> None:
        # A batch may be stored within the call that gave it its last item.
        is_stored = id(batch.slot) not in self._batches
        if page not in batch.pages and not is_stored:
            batch.pages[page] = None
            batch.held.add(page)
            page.open += 1

    def _batch(self, slot: Any) -> _Batch:
        batch = self._batches.get(id(slot))
        if batch is None:
            batch = self._batches[id(slot)] = _Batch(slot, Held(*self._bounds))
            # A batch that cannot be written says so to nobody.
            slot.finish_exporting = self._watched(slot.finish_exporting)
            slot.storage.store = self._watched(slot.storage.store)
        return batch

    def _watched(self, act: Callable[..., Any]) -> Callable[..., Any]:
        """The same, and if it fails the spider is closed."""

        def watched(*arguments: Any) -> Any:
            try:
                done = act(*arguments)
            except BaseException as error:
                self._fail(error)
                raise
            # A Deferred, or something to be awaited: storages may return either.
            if hasattr(done, "addErrback"):
                return done.addErrback(failed)
            if inspect.isawaitable(done):
                return awaited(done)
            return done

        def failed(failure: Any) -> Any:
            self._fail(failure.value)
            return failure

        async def awaited(done: Any) -> Any:
            try:
                return await done
            except BaseException as error:
                self._fail(error)
                raise

        return watched

    def _slot_closed(self, slot: Any) -> None:
        """A batch is stored, or could not be: then all pages stay out."""
        batch = self._batches.pop(id(slot), None)
        if batch is not None:
            for page in batch.pages:
                self._end(page)
