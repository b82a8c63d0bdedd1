"""The line of a slot, with a clock that is a variable: who goes when, and who has waited for long enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

scrapy: Any = pytest.importorskip("scrapy", reason="Scrapy is not installed")

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector
from twisted.internet.defer import Deferred, ensureDeferred

from crawler_frontier import Frontier, Link
from crawler_frontier.scrapy import clocks as module
from crawler_frontier.scrapy.clocks import HostClocks
from crawler_frontier.scrapy.pages import Page


Line = tuple[Any, "Clock", Callable[..., list[float]]]


class Clock:
    """A frontier whose time is a variable, and timers that it fires."""

    def __init__(self, frontier: Frontier) -> None:
        self._frontier, self.time = frontier, 1000.0
        self.timers: list[tuple[float, Callable[[], object]]] = []

    def now(self) -> float:
        return self.time

    def queue_statistics(self, link: Link) -> Any:
        return self._frontier.queue_statistics(link, now=self.time)

    def host_was_asked(self, link: Link) -> None:
        self._frontier.host_was_asked(link, self.time)

    def later(self, delay: float, call: Callable[[], object]) -> Any:
        timer = (self.time + delay, call)
        self.timers.append(timer)

        def cancel() -> None:
            self.timers.remove(timer)

        return Mock(cancel=cancel)

    def pass_to(self, time: float) -> None:
        """Lets the time go on to this one."""
        while self.timers and min(at for at, _ in self.timers) <= time:
            at, call = min(self.timers, key=lambda timer: timer[0])
            self.timers.remove((at, call))
            self.time = at
            call()
        self.time = time


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    """Clocks over a frontier with a rest of ten seconds, and what has requests take their turns: it says when each went."""

    def fail(error: BaseException) -> None:
        raise error

    def itself(deferred: Deferred[None]) -> Deferred[None]:
        return deferred

    monkeypatch.setattr(module, "maybe_deferred_to_future", itself)
    crawler: Any = Mock(settings=Crawler(Spider, {}).settings)
    crawler.stats = MemoryStatsCollector(Mock(settings=crawler.settings))
    frontier = Frontier(scope="any", robots=False, host_delay=10.0)
    clock: Any = Clock(frontier)
    monkeypatch.setattr(module, "timer_of_loop", lambda: clock.later)
    slot: Any = Mock(slots={})
    clocks: Any = HostClocks(crawler, clock, slot, lambda request: request.url.split("/")[2], lambda _: 1, {}, fail)

    def ask(*urls: str, took: float = 0.0) -> list[float]:
        went: list[float] = []

        async def download(request: Request) -> None:
            turn = clocks.turn(request)
            if turn is not None:
                await turn
            went.append(round(clock.time, 1))
            clock.later(took, lambda: clocks.request_left_downloader(request))

        for url in urls:
            ensureDeferred(download(Request(url)))
        return went

    return clocks, clock, ask


def test_each_has_its_turn_after_a_rest(line: Line) -> None:
    clocks, clock, ask = line
    went = ask("http://a.example/1", "http://a.example/2", "http://b.example/1", "http://a.example/3", "data:,x")
    assert went == [1000.0, 1000.0, 1000.0]
    clock.pass_to(1015.0)
    later = ask("http://a.example/4")
    clock.pass_to(1100.0)
    assert went == [1000.0, 1000.0, 1000.0, 1010.0, 1020.0] and later == [1030.0]
    assert clocks._lines == clocks._naps == clocks._passing == {} and clock.timers == []


def test_a_rest_begins_at_the_end(line: Line) -> None:
    clocks, clock, ask = line
    went = ask("http://a.example/1", "http://a.example/2", "http://a.example/3", took=15.0)
    clock.pass_to(1200.0)
    assert went == [1000.0, 1025.0, 1050.0] and clocks._passing == {}
    # One that does not end is not waited for without end.
    went = ask("http://a.example/4", "http://a.example/5", took=500.0)
    clock.pass_to(1800.0)
    assert went == [1200.0, 1260.0] and clocks._stats.get_value("frontier/impatient") == 1


def test_patience_ends(line: Line) -> None:
    clocks, clock, ask = line
    # As after a Retry-After of an hour.
    clock.time = 5000.0
    clock.host_was_asked(Link("http://a.example/", queue="a.example"))
    clock.time = 1000.0
    went = ask("http://a.example/2")
    clock.pass_to(1200.0)
    assert went == [1060.0] and clocks._stats.get_value("frontier/impatient") == 1


def test_a_page_that_was_lent_during_another_request_waits_for_the_rest_after_it(line: Line) -> None:
    clocks, clock, ask = line
    # It takes as long as the rest: the frontier lends the next page as it ends.
    assert ask("http://a.example/image", took=10.0) == [1000.0]
    request = Request("http://a.example/page")
    clocks._out[request] = Page(Mock(queue="a.example"), None)
    clock.pass_to(1010.0)
    assert clocks._passing == {}
    wait = clocks.turn(request)
    assert wait is not None
    turn = ensureDeferred(wait)
    clock.pass_to(1019.0)
    assert not turn.called
    clock.pass_to(1021.0)
    assert turn.called and clocks._out[request].left_at == pytest.approx(1020.0, abs=0.1)


def test_a_closed_frontier_holds_nobody_up(line: Line) -> None:
    clocks, _, ask = line
    went = ask(*[f"http://a.example/{n}" for n in range(5)])
    assert went == [1000.0]
    clocks.close()
    assert went == [1000.0] * 5 and clocks._lines == clocks._naps == {}
    assert ask("http://a.example/9") == [1000.0]


