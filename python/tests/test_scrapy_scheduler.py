"""The scheduler under an engine that does nothing: what Scrapy's own tests ask of a scheduler, and what is ours alone.

`scrapys_own_tests.py` runs those of Scrapy themselves, and names the ones that do not apply. The tests of `RFPDupeFilter` are about its file
and its methods; that requests are filtered by the fingerprinter of the settings is tested here.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import Mock

import pytest

scrapy: Any = pytest.importorskip("scrapy", reason="Scrapy is not installed")

from crawler_frontier.scrapy import Scheduler
from scrapy.core.downloader import Downloader
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.http import Request
from scrapy.spiders import Spider
from scrapy.utils.misc import load_object

PRIORITIES = [
    ("http://foo.com/a", -2),
    ("http://foo.com/d", 1),
    ("http://foo.com/b", -1),
    ("http://foo.com/c", 0),
    ("http://foo.com/e", 2),
]
URLS = {"http://foo.com/a", "http://foo.com/b", "http://foo.com/c"}


@contextmanager
def scheduler_of(jobdir: pathlib.Path | None, **settings: Any) -> Generator[Scheduler, None, None]:
    """A scheduler under an engine that does nothing."""
    crawler: Any = Crawler(Spider, {"JOBDIR": str(jobdir) if jobdir else None, **settings})
    crawler.engine = Mock()
    crawler.engine.downloader.get_slot_key = Mock(return_value="foo.com")
    crawler.stats = load_object(crawler.settings["STATS_CLASS"])(crawler)
    crawler.request_fingerprinter = load_object("scrapy.utils.request.RequestFingerprinter")()
    scheduler = Scheduler.from_crawler(crawler)
    scheduler.open(Spider(name="spider"))
    try:
        yield scheduler
    finally:
        scheduler.close("finished")


@pytest.fixture(params=["memory", "disk", "reopened"])
def filled(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Callable[..., Any]:
    """A scheduler with requests; if it is to be reopened, in another run than that in which they came."""

    @contextmanager
    def fill(requests: list[Request]) -> Generator[Scheduler, None, None]:
        jobdir = None if request.param == "memory" else tmp_path / "job"
        with scheduler_of(jobdir) as scheduler:
            assert not scheduler.has_pending_requests() and len(scheduler) == 0
            assert all(scheduler.enqueue_request(one) for one in requests)
            if request.param != "reopened":
                yield scheduler
        if request.param == "reopened":
            with scheduler_of(jobdir) as scheduler:
                yield scheduler

    return fill


def test_it_has_the_interface() -> None:
    assert issubclass(Scheduler, BaseScheduler)


def test_length(filled: Callable[..., Any]) -> None:
    with filled([Request(url) for url in URLS]) as scheduler:
        assert scheduler.has_pending_requests() and len(scheduler) == len(URLS)


def test_dequeue(filled: Callable[..., Any]) -> None:
    with filled([Request(url) for url in URLS]) as scheduler:
        found: set[str] = set()
        while scheduler.has_pending_requests():
            found.add(scheduler.next_request().url)
        assert found == URLS
        assert scheduler.next_request() is None


def test_dequeue_priorities(filled: Callable[..., Any]) -> None:
    with filled([Request(url, priority=priority) for url, priority in PRIORITIES]) as scheduler:
        found: list[int] = []
        while scheduler.has_pending_requests():
            found.append(scheduler.next_request().priority)
        assert found == sorted((priority for _, priority in PRIORITIES), reverse=True)


def test_duplicates_are_filtered_and_dont_filter_is_not(filled: Callable[..., Any]) -> None:
    with filled([Request("http://foo.com/a")]) as scheduler:
        assert not scheduler.enqueue_request(Request("http://foo.com/a"))
        assert scheduler.enqueue_request(Request("http://foo.com/a", method="POST", body=b"a"))
        assert scheduler.enqueue_request(Request("http://foo.com/a", dont_filter=True))
        assert scheduler.enqueue_request(Request("http://foo.com/a", dont_filter=True))
        assert scheduler.stats.get_value("dupefilter/filtered") == 1
        assert len(scheduler) == 4


def test_a_queue_is_a_slot(tmp_path: pathlib.Path) -> None:
    """As `Downloader.get_slot_key` says: the bare name of the host, or the user's own."""
    scheduler: Any
    with scheduler_of(tmp_path / "job", CONCURRENT_REQUESTS_PER_DOMAIN=1) as scheduler:
        scheduler.crawler.engine.downloader.ip_concurrency = 0
        scheduler.crawler.engine.downloader.DOWNLOAD_SLOT = "download_slot"
        scheduler.clocks._slot_key = partial(Downloader.get_slot_key, scheduler.crawler.engine.downloader)
        urls = ["http://foo.com/a", "https://foo.com/b", "http://foo.com:8080/c", "http://bar.com/d"]
        requests = [Request(url) for url in urls] + [Request("http://bar.com/e", meta={"download_slot": "foo.com"})]
        requests.append(Request("http://bar.com/f", meta={"download_slot": " * "}))
        assert all(scheduler.enqueue_request(request) for request in requests)
        frontier = scheduler._frontier
        assert frontier is not None
        waiting = {name: queue.waiting for name, queue in frontier.queues()}
        assert [waiting.pop("@foo.com"), waiting.pop("@bar.com"), *waiting.values()] == [4, 1, 1]
        out = [scheduler.next_request() for _ in range(4)]
        assert sum(request is not None for request in out) == 3, "one of each slot"


def test_a_host_has_one_queue_where_slots_are_addresses(tmp_path: pathlib.Path) -> None:
    scheduler: Any
    with scheduler_of(tmp_path / "job", CONCURRENT_REQUESTS_PER_IP=1) as scheduler:
        names: list[str] = []
        for address in ("10.0.0.1", "10.0.0.2"):
            # What the downloader says once the name is resolved.
            scheduler.clocks._slot_key = Mock(return_value=address)
            names.append(scheduler.clocks.queue_of(Request("http://foo.com/a")))
        assert names == ["foo.com", "foo.com"]


def test_unserializable_requests(tmp_path: pathlib.Path) -> None:
    def function(response: Any) -> None: ...

    with scheduler_of(tmp_path / "job") as scheduler:
        assert scheduler.enqueue_request(Request("http://foo.com/a", callback=function))
        assert not scheduler.enqueue_request(Request("http://foo.com/a", callback=function))
        assert scheduler.stats.get_value("scheduler/unserializable") == 2
        assert scheduler.stats.get_value("scheduler/enqueued/memory") == 1
        request = scheduler.next_request()
        assert request is not None and request.url == "http://foo.com/a"


def test_requests_under_way_are_there_again(tmp_path: pathlib.Path) -> None:
    with scheduler_of(tmp_path / "job") as scheduler:
        scheduler.enqueue_request(Request("http://foo.com/a"))
        assert scheduler.next_request() is not None and len(scheduler) == 0
    with scheduler_of(tmp_path / "job") as scheduler:
        request = scheduler.next_request()
        assert request is not None and request.url == "http://foo.com/a"


def test_a_name_of_scrapys_that_is_gone_is_an_error(tmp_path: pathlib.Path) -> None:
    crawler: Any = Mock(settings=Crawler(Spider, {"JOBDIR": str(tmp_path / "job")}).settings)
    crawler.engine._slot.remove_request = None
    with pytest.raises(
        scrapy.exceptions.NotSupported, match=r"has no Mock.remove_request, by which the frontier knows"
    ):
        Scheduler.from_crawler(crawler).open(Spider(name="spider"))
    assert not (tmp_path / "job").exists()


def test_next_request_never_raises(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    scheduler: Any
    with scheduler_of(tmp_path / "job") as scheduler:
        scheduler.enqueue_request(Request("http://foo.com/a"))
        scheduler._frontier.close()
        assert scheduler.next_request() is None and scheduler.next_request() is None
        assert "The frontier failed, and the spider is closed" in caplog.text
        scheduler._frontier = None
