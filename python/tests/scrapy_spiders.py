"""Spiders for `test_scrapy.py`, each in a process of its own: ``python scrapy_spiders.py NAME SETTINGS``, both as the test says.

A spider writes a line to the file ``done`` when a callback has run to its end, and ``kept URL`` when the frontier has its page as done. Its
statistics come out as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
import scrapy.crawler
from scrapy import signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.extensions.feedexport import FileFeedStorage, ItemFilter
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from crawler_frontier import Lease
from crawler_frontier.scrapy import Scheduler


class Items:
    """A pipeline that takes its time."""

    async def process_item(self, item: dict[str, Any], spider: Any = None) -> dict[str, Any]:
        if (crawler := getattr(spider, "crawler", None)) is not None and crawler.settings.getbool("SLOW_ITEMS"):
            waited: Deferred[None] = Deferred()
            from twisted.internet import reactor as installed

            reactor: Any = installed
            reactor.callLater(0.005, waited.callback, None)
            await maybe_deferred_to_future(waited)
        return item


class Tree(scrapy.Spider):
    """Goes down a tree of pages, whose texts are `host:number` of their children."""

    name = "tree"
    seeds: tuple[str, ...] = ("/p/0",)

    async def start(self) -> AsyncIterator[Any]:
        for path in self.settings.getlist("SEEDS") or self.seeds:
            yield scrapy.Request(self.at(0, path), callback=self.parse, errback=self.failed, dont_filter=True)

    def at(self, host: int, path: str) -> str:
        return f"http://127.0.1.{host + 1}:{self.settings.getint('PORT')}{path}"

    def write(self, line: str) -> None:
        with open(self.settings["DONE"], "a") as done:
            done.write(line + "\n")

    def parse(self, response: Response, **more: Any) -> Any:
        for link in response.text.split():
            host, _, number = link.partition(":")
            yield scrapy.Request(self.at(int(host), f"/p/{number}"), callback=self.parse, errback=self.failed)
        yield {"url": response.url}
        self.write(response.url)

    def failed(self, failure: Failure) -> None:
        self.write(f"failed {type(failure.value).__name__} {failure.request.url}")  # type: ignore[attr-defined]


class Lambdas(Tree):
    """As `Tree`, and its callbacks cannot be written to disk."""

    name = "lambdas"

    def parse(self, response: Response, **more: Any) -> Iterator[Any]:
        for one in super().parse(response):
            if isinstance(one, scrapy.Request):
                one.callback = lambda response: self.parse(response)
            yield one


class Mixed(Tree):
    """Each third callback cannot be written; some requests come twice; some have priorities, headers, bodies."""

    name = "mixed"

    def parse(self, response: Response, **more: Any) -> Iterator[Any]:
        for number, one in enumerate(super().parse(response)):
            if isinstance(one, scrapy.Request):
                which = sum(one.url.encode()) % 3
                if which == 0:
                    one.callback = lambda response: self.parse(response)
                elif which == 1:
                    one = one.replace(priority=number, headers={"X-A": "b"}, cb_kwargs={"one": 1}, meta={"x": (1, 2)})
                yield one.copy()
            yield one


class Renamed(Tree):
    """As `Tree`, and a later version of it: its callback has another name."""

    name = "tree"

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request(self.at(0, "/p/0"), callback=self.other, dont_filter=True)

    def other(self, response: Response) -> None:
        self.write(response.url)

    parse = None  # type: ignore[assignment]


class Old(Tree):
    """The version before, which stops after its first page."""

    name = "tree"

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request(self.at(0, "/p/0"), callback=self.first, dont_filter=True)

    def first(self, response: Response) -> Iterator[Any]:
        yield scrapy.Request(self.at(0, "/p/1"), callback=self.first)
        yield scrapy.Request(self.at(0, "/p/2"), callback=self.other)
        raise CloseSpider("enough")

    def other(self, response: Response) -> None:
        self.write(response.url)


class Twice(Tree):
    """Asks for one page four times: twice at the start, and twice from it, of which once filtered."""

    name = "twice"
    seeds = ("/p/0", "/p/0")

    def parse(self, response: Response, **more: Any) -> Iterator[Any]:
        self.write(response.url)
        if "again" not in response.meta:
            yield response.request.replace(meta={"again": True}, dont_filter=True)  # type: ignore[union-attr]
            yield scrapy.Request(self.at(0, "/p/0"), meta={"again": True})


class Ordered(Tree):
    """Yields pages of three priorities at once."""

    name = "ordered"

    def parse(self, response: Response, **more: Any) -> Iterator[Any]:
        self.write(response.url)
        if response.url.endswith("/p/0"):
            for number, priority in enumerate([0, 0, 7, -3, 7], 1):
                yield scrapy.Request(self.at(0, f"/p/{number}"), priority=priority)


class Data(Tree):
    """Its pages are in its URLs."""

    name = "data"

    async def start(self) -> AsyncIterator[Any]:
        yield scrapy.Request("data:text/plain,one")
        yield scrapy.Request("data:text/plain,one")
        yield scrapy.Request("data:text/plain,two", dont_filter=True)

    def parse(self, response: Response, **more: Any) -> None:
        self.write(response.text)


class Cookies(Tree):
    """Signs in, and asks for a page that only those have who did."""

    name = "cookies"

    async def start(self) -> AsyncIterator[Any]:
        for path in self.settings.getlist("SEEDS"):
            yield scrapy.Request(self.at(0, path))

    def parse(self, response: Response, **more: Any) -> None:
        self.write(f"{response.url.rsplit('/', 1)[1]} {response.text}")


class Star(Tree):
    """A page that links to all others, each of which is an item of one of two kinds."""

    name = "star"

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Star:
        spider: Any = super().from_crawler(crawler, *args, **kwargs)
        if crawler.settings.getbool("STAYS"):
            crawler.signals.connect(spider.stay, signals.spider_idle)
        assert isinstance(spider, Star)
        return spider

    def stay(self) -> None:
        raise DontCloseSpider

    def parse(self, response: Response, **more: Any) -> Iterator[Any]:
        number = int(response.url.rsplit("/", 1)[1])
        if number == 0:
            for other in range(1, self.settings.getint("PAGES")):
                yield scrapy.Request(self.at(0, f"/p/{other}"))
        else:
            yield {"url": response.url, "kind": "odd" if number % 2 else "even"}
        self.write(response.url)


class Odd(ItemFilter):
    """Takes odd items alone."""

    def accepts(self, item: Any) -> bool:
        return bool(item["kind"] == "odd")


class Broken(FileFeedStorage):
    """A storage that fails while a file is there."""

    def store(self, file: Any) -> Any:
        file.close()
        if Path(self.path).parent.joinpath("broken").exists():
            raise OSError("no room")
        return None


class Slots(Tree):
    """Asks for URLs in the slots that the settings name, and for some at once by the engine's own download."""

    name = "slots"
    is_downloaded = False

    async def start(self) -> AsyncIterator[Any]:
        for url, slot in self.settings.getlist("REQUESTS"):
            yield scrapy.Request(url, meta={"download_slot": slot} if slot else {})

    async def parse(self, response: Response, **more: Any) -> AsyncIterator[Any]:
        if not self.is_downloaded:
            self.is_downloaded = True
            engine: Any = self.crawler.engine
            requests = [scrapy.Request(url) for url in self.settings.getlist("DOWNLOAD")]
            if hasattr(engine, "download_async"):
                downloads = [deferred_from_coro(engine.download_async(request)) for request in requests]
            else:
                downloads = [engine.download(request) for request in requests]
            for download in downloads:
                await maybe_deferred_to_future(download)
        self.write(response.url)
        # What a page's meta has is not the slot that the downloader chose for it.
        assert self.settings.getbool("HAS_SLOTS") == ("download_slot" in response.meta), response.meta
        for url in response.text.split():
            yield scrapy.Request(url, meta=response.meta)


SPIDERS = {
    spider.__name__: spider
    for spider in (Tree, Lambdas, Mixed, Renamed, Old, Twice, Ordered, Data, Cookies, Slots, Star)
}


class Told(Scheduler):
    """Writes a line for each page that is done, once the frontier has flushed that."""

    def _complete(self, lease: Lease, is_answered: bool, is_given_up: bool = False) -> None:
        super()._complete(lease, is_answered, is_given_up)
        if self._frontier is not None and not self._is_failed:
            with open(self.crawler.settings["DONE"], "a") as done:
                done.write(f"kept {lease.url}\n")


def main() -> None:
    settings: dict[str, Any] = {
        "ADDONS": {"crawler_frontier.scrapy.Addon": 100},
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0.0,
        "LOG_LEVEL": "INFO",
        "FRONTIER_CHECKPOINT_INTERVAL": 0.2,
        "DOWNLOAD_TIMEOUT": 10,
        "ITEM_PIPELINES": {Items: 1},
        "SCHEDULER": Told,
        **json.loads(sys.argv[2]),
    }
    with_reactor = settings.get("TWISTED_REACTOR_ENABLED", True)
    process: Any = getattr(scrapy.crawler, "CrawlerProcess" if with_reactor else "AsyncCrawlerProcess")(settings)
    crawler = process.create_crawler(SPIDERS[sys.argv[1]])
    process.crawl(crawler)
    process.start()
    assert crawler.stats is not None
    print(json.dumps(crawler.stats.get_stats(), default=str))


if __name__ == "__main__":
    main()
