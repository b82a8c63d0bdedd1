"""Scrapy on the frontier: real processes, on a small web on loopback, killed at random. Needs Scrapy; ``pip install scrapy``."""

from __future__ import annotations

import os
import pathlib
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

scrapy: Any = pytest.importorskip("scrapy", reason="Scrapy is not installed")

from scrapy.http import FormRequest, JsonRequest, Request

from crawler_frontier import Frontier
from crawler_frontier.scrapy.payload import Unserializable, dump, load
from scrapy_crawls import OK, REACTORS, VERSION, Crawl, all_ok, answers
from simulated_web import Reply, Web, tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its hosts are addresses of loopback")


def test_a_crawl_ends_and_a_finished_job_does_nothing(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(tree(60, 3))
    crawl = Crawl(tmp_path, web, DOWNLOAD_DELAY=0.02)
    stats = crawl.run("Tree")
    assert sorted(crawl.done(), key=int) == [str(page) for page in range(60)]
    assert (stats["finish_reason"], stats["scheduler/enqueued/disk"], stats["item_scraped_count"]) == (
        "finished",
        60,
        60,
    )
    assert min(web.gaps()) >= 0.02
    stats = crawl.run("Tree")
    assert stats["finish_reason"] == "finished" and "downloader/request_count" not in stats
    assert stats["frontier/start_requests_done"] == 1
    assert "is finished" in crawl.log and "To begin anew, remove the directory or name another JOBDIR" in crawl.log
    with Frontier.open(crawl.job / "frontier", keep_journal=False, scope="any", robots=False) as frontier:
        assert frontier.statistics().completed == 60 and len(frontier) == 0


# Kills of a crawl, and crawls of each kind: for a night, `SCRAPY_KILLS=10 SCRAPY_CRAWLS=9`.
KILLS, CRAWLS = (int(os.environ.get(name, default)) for name, default in [("SCRAPY_KILLS", "5"), ("SCRAPY_CRAWLS", "1")])


@pytest.mark.parametrize("number", range(CRAWLS))
@pytest.mark.parametrize("reactor", REACTORS)
@pytest.mark.parametrize("spider", ["Tree", "Mixed"])
def test_kill_9_loses_no_page(
    spider: str, reactor: str, number: int, serve: Callable[..., Web], tmp_path: pathlib.Path
) -> None:
    if reactor == "none" and VERSION < (2, 15):
        pytest.skip("Scrapy before 2.15 needs a reactor")
    pages = 80 * KILLS
    web = serve(tree(pages, 10), 10, latency=0.005)
    crawl = Crawl(tmp_path, web, DOWNLOAD_DELAY=0.03, CONCURRENT_REQUESTS=8, **REACTORS[reactor])
    kills = crawl.run_with_kills(spider, KILLS, seed=len(spider + reactor) + 100 * number)
    assert kills > 0
    assert "finished" in crawl.log, crawl.log
    visits = Counter(crawl.done())
    assert set(visits) == {str(page) for page in range(pages)}
    # What was in flight may come again: a page between its download and its end in Scrapy, a tenth of a second later. What the frontier has as
    # done does not. But a request in memory keeps its page out, so that page and what it has done since may come again.
    assert spider == "Mixed" or crawl.done_after_kept() == []
    again = sum(visits.values()) - pages
    print(f"{spider}, {reactor}, {scrapy.__version__}: {kills} kills, {pages} pages, {again} again, {min(web.gaps()):.4f} s")
    assert again <= kills * 80
    assert min(web.gaps()) >= 0.03, "no host is asked sooner than its rest"


def test_ctrl_c_loses_nothing_and_repeats_nothing(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(tree(300, 10), 10, latency=0.005)
    crawl = Crawl(tmp_path, web, DOWNLOAD_DELAY=0.03)
    stops = crawl.run_with_kills("Tree", 3, 7, how=signal.SIGINT)
    assert stops > 0
    assert sorted(crawl.done(), key=int) == [str(page) for page in range(300)]


def test_requests_in_memory_hold_their_pages(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(tree(100, 5), 5, latency=0.01)
    crawl = Crawl(tmp_path, web, DOWNLOAD_DELAY=0.02, CONCURRENT_REQUESTS=4)
    assert crawl.run_with_kills("Lambdas", 2, 3) > 0
    assert set(crawl.done()) == {str(page) for page in range(100)}
    assert "stays in memory" in crawl.log


def test_without_a_directory_it_is_in_memory(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(tree(60, 3))
    stats = Crawl(tmp_path, web, JOBDIR=None, DOWNLOAD_DELAY=0.02).run("Mixed")
    assert stats["item_scraped_count"] == 60 and stats["dupefilter/filtered"] == 59
    assert "scheduler/enqueued/disk" not in stats and "scheduler/unserializable" not in stats
    assert min(web.gaps()) >= 0.02


def test_a_redirect_goes_by_the_clock_of_its_host(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    def pages(host: str, path: str) -> Reply:
        number = int(path.rsplit("/", 1)[1])
        if host == "127.0.1.1" and number > 0:
            return 302, {"Location": f"http://127.0.1.2:{web.port}/p/{number + 100}"}, b""
        return 200, {}, b"0:1 0:2 0:3 1:4 1:5 1:6" if number == 0 else b""

    web = serve(pages, 2)
    crawl = Crawl(tmp_path, web, DOWNLOAD_DELAY=0.1)
    crawl.run("Tree")
    assert set(crawl.done()) == {"0", "4", "5", "6", "101", "102", "103"}
    assert min(web.gaps()) >= 0.1


def test_slots_and_several_connections(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    def pages(host: str, path: str) -> Reply:
        return 200, {}, b"0:1 0:2 0:3 0:4 1:5 1:6 1:7 1:8" if path == "/p/0" else b""

    web = serve(pages, 2, latency=0.5)
    crawl = Crawl(
        tmp_path,
        web,
        CONCURRENT_REQUESTS_PER_DOMAIN=4,
        DOWNLOAD_SLOTS={"127.0.1.2": {"concurrency": 1, "delay": 0.1}},
    )
    crawl.run("Tree")
    assert len(crawl.done()) == 9
    first, second = ([at for at, _ in web.log[host]] for host in ("127.0.1.1", "127.0.1.2"))
    assert first[4] - first[1] < 0.5, "four at once: the last came before the first was answered"
    assert min(later - earlier for earlier, later in zip(second, second[1:], strict=False)) >= 0.6


def test_ports_of_a_host_share_its_slot(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    """One clock, as in Scrapy, also for what no scheduler has seen, and where the meta of a page is copied."""
    webs = [serve(all_ok, 1) for _ in range(3)]
    webs[0].pages = lambda _, path: (200, {}, b"" if "more" in path else webs[1].url(0, f"/more{path}").encode())
    requests = [(webs[n % 2].url(0, f"/{n}"), None) for n in range(10)]
    crawl = Crawl(tmp_path, webs[0], DOWNLOAD_DELAY=0.05, REQUESTS=requests, DOWNLOAD=webs[2].url(0, "/image"))
    crawl.run("Slots")
    assert len(crawl.done()) == 15
    times = sorted(at for web in webs for log in web.log.values() for at, _ in log)
    assert len(times) == 16 and web_gap(times) >= 0.05
    with Frontier.open(crawl.job / "frontier", keep_journal=False, scope="any", robots=False) as frontier:
        assert [name for name, _ in frontier.queues()] == ["@127.0.1.1"]


def test_the_users_slots_are_queues(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(all_ok, 2)
    requests = [(web.url(n % 2, f"/{n}"), "together") for n in range(8)]
    requests += [(web.url(0, f"/apart/{n}"), "x" * 100) for n in range(4)]
    crawl = Crawl(
        tmp_path,
        web,
        DOWNLOAD_SLOTS={"together": {"delay": 0.1}, "x" * 100: {"delay": 0.3}},
        REQUESTS=requests,
        HAS_SLOTS=True,
    )
    crawl.run("Slots")
    assert len(crawl.done()) == 12
    log = [one for log in web.log.values() for one in log]
    assert web_gap(sorted(at for at, path in log if "apart" not in path)) >= 0.1
    assert web_gap(sorted(at for at, path in log if "apart" in path)) >= 0.3
    each = [path for _, path in web.log["127.0.1.1"]]
    assert any("apart" in path for path in each[:2]), "the host has two clocks, since the user says so"


def test_rules_are_for_slots(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(all_ok, 3)
    requests = [(web.url(n % 3, f"/{n}"), None) for n in range(9)]
    crawl = Crawl(
        tmp_path,
        web,
        DOWNLOAD_SLOTS={"127.0.1.1": {"delay": 0.1, "concurrency": 1}},
        FRONTIER_OPTIONS={
            "hosts": {"127.0.1.1": {"max_pages": 2}, "@127.0.1.2": {"host_delay": 0.2}},
            "groups": {"one": {"hosts": ["127.0.1.3"], "delay": 0.15}},
        },
        REQUESTS=requests,
    )
    crawl.run("Slots")
    times = {host[-1]: [at for at, _ in log] for host, log in web.log.items()}
    assert len(times["1"]) == 2 and web_gap(times["1"]) >= 0.1
    assert len(times["2"]) == 3 and web_gap(times["2"]) >= 0.2
    assert len(times["3"]) == 3 and web_gap(times["3"]) >= 0.15
    crawl.settings["FRONTIER_OPTIONS"] = {"hosts": {"*.example": {"host_delay": 1}}}
    _, log = crawl.start("Slots").communicate(timeout=60)
    assert "each rule is for one download slot by its whole name" in log


def web_gap(times: list[float]) -> float:
    return min(later - earlier for earlier, later in zip(times, times[1:], strict=False))


def test_robots_txt_counts_for_the_clock(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(
        answers(
            {"/robots.txt": (200, {}, b"User-agent: *\nDisallow: /p/2"), "/p/0": (200, {}, b"0:1 0:2"), "/p/1": OK}
        ),
        1,
    )
    crawl = Crawl(tmp_path, web, ROBOTSTXT_OBEY=True, DOWNLOAD_DELAY=0.1)
    stats = crawl.run("Tree")
    assert web.paths(0) == ["/robots.txt", "/p/0", "/p/1"]
    assert stats["robotstxt/forbidden"] == 1
    # The page was lent before its robots.txt was asked for, and waits for the rest after it.
    assert min(web.gaps()) >= 0.1


@pytest.mark.parametrize("reactor", REACTORS)
def test_what_no_scheduler_has_seen_waits_for_its_host(
    reactor: str, serve: Callable[..., Web], tmp_path: pathlib.Path
) -> None:
    """Images and pages of one host, all at once, and the host asks for a rest."""
    if reactor == "none" and VERSION < (2, 15):
        pytest.skip("Scrapy before 2.15 needs a reactor")

    def pages(_: str, path: str) -> Reply:
        return (429, {"Retry-After": "1"}, b"") if path == "/0" else OK

    # An answer takes as long as the rest that comes after it.
    web = serve(pages, 2, latency=0.1)
    requests = [(web.url(0, f"/{n}"), None) for n in range(4)]
    images = [web.url(n % 2, f"/image/{n}") for n in range(8)]
    crawl = Crawl(
        tmp_path,
        web,
        DOWNLOAD_DELAY=0.1,
        RETRY_ENABLED=False,
        HTTPERROR_ALLOW_ALL=True,
        FRONTIER_ORDER="fifo",
        REQUESTS=requests,
        DOWNLOAD=images,
        **REACTORS[reactor],
    )
    crawl.run("Slots")
    assert len(web.paths(0)) == 8 and len(web.paths(1)) == 4
    assert min(web.gaps()) >= 0.2
    first = web.log["127.0.1.1"]
    assert first[1][0] - first[0][0] >= 1.0, "images wait for a Retry-After, too"


def test_scrapys_own_clock_is_set_aside(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    """The frontier's rules count, also where they are quicker than the setting that Scrapy's slots go by."""
    web = serve(all_ok, 2)
    requests = [(web.url(n % 2, f"/{n}"), None) for n in range(12)]
    crawl = Crawl(
        tmp_path,
        web,
        DOWNLOAD_DELAY=0.4,
        RANDOMIZE_DOWNLOAD_DELAY=True,
        FRONTIER_OPTIONS={"hosts": {"127.0.1.1": {"host_delay": 0.02}}},
        REQUESTS=requests,
        DOWNLOAD=[web.url(0, "/image")],
    )
    crawl.run("Slots")
    quick, slow = ([at for at, _ in web.log[host]] for host in ("127.0.1.1", "127.0.1.2"))
    assert len(quick) == 7 and web_gap(quick) >= 0.02
    assert min(later - earlier for earlier, later in zip(quick, quick[1:], strict=False)) < 0.4, "as by the setting"
    assert len(slow) == 6 and web_gap(slow) >= 0.4, "not drawn at random"


def test_retry_after_rests_the_host_and_the_page_is_retried(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    asked: Counter[str] = Counter()

    def pages(host: str, path: str) -> Reply:
        asked[path] += 1
        if path == "/p/1" and asked[path] == 1:
            return 429, {"Retry-After": "1"}, b""
        return 200, {}, b"0:1 0:2" if path == "/p/0" else b""

    web = serve(pages, 1)
    crawl = Crawl(tmp_path, web, FRONTIER_ORDER="fifo")
    stats = crawl.run("Tree")
    assert sorted(crawl.done()) == ["0", "1", "2"] and stats["retry/count"] == 1
    assert web.gaps()[1] >= 1.0


def test_a_host_that_is_not_to_be_had_is_given_up_and_asked_in_the_next_run(
    serve: Callable[..., Web], tmp_path: pathlib.Path
) -> None:
    is_down = True

    def pages(host: str, path: str) -> Reply:
        if host == "127.0.1.2" and is_down:
            return 0, {}, b""
        return 200, {}, b"1:1 1:2 1:3 1:4" if path == "/p/0" else b""

    web = serve(pages, 2)
    options = {"host_failures": 2, "backoff": "20ms", "patience": "1s"}
    crawl = Crawl(tmp_path, web, RETRY_TIMES=1, FRONTIER_OPTIONS=options)
    stats = crawl.run("Tree")
    assert crawl.done()[0] == "0" and stats["finish_reason"] == "finished"
    assert any("HostGivenUp" in line for line in crawl.failed()), crawl.failed()
    is_down = False
    crawl.run("Tree")
    given_up = {line.rsplit("/", 1)[1] for line in crawl.failed() if "HostGivenUp" in line}
    assert "given up with their hosts" in crawl.log
    assert given_up <= set(crawl.done()[-len(given_up) :])


def test_a_page_that_is_too_large_is_no_failure_of_its_host(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    def pages(host: str, path: str) -> Reply:
        return 200, {}, b"0:1 0:2 0:3" if path == "/p/0" else b" " * (20_000 if path == "/p/2" else 1)

    web = serve(pages, 1)
    crawl = Crawl(tmp_path, web, DOWNLOAD_MAXSIZE=10_000, FRONTIER_OPTIONS={"backoff": "5s"})
    crawl.run("Tree")
    assert len(crawl.done()) == 4 and [line[-1] for line in crawl.failed()] == ["2"]
    assert max(web.gaps()) < 4, "the host does not rest"


def test_dont_filter_is_as_scrapy_means_it(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(all_ok, 1)
    crawl = Crawl(tmp_path, web)
    crawl.run("Twice")
    # Twice from the start; from each of these once more unfiltered, and once in all filtered.
    assert crawl.done() == ["0"] * 5
    stats = crawl.run("Twice")
    assert crawl.done() == ["0"] * 5 and stats["frontier/start_requests_done"] == 2


@pytest.mark.parametrize(("order", "expected"), [("lifo", "053214"), ("fifo", "035124")])
def test_priorities_and_orders(order: str, expected: str, serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(all_ok, 1)
    crawl = Crawl(tmp_path, web, FRONTIER_ORDER=order, CONCURRENT_REQUESTS=1)
    crawl.run("Ordered")
    assert "".join(crawl.done()) == expected


def test_a_callback_that_is_gone_is_counted_and_the_crawl_goes_on(
    serve: Callable[..., Web], tmp_path: pathlib.Path
) -> None:
    web = serve(all_ok, 1)
    crawl = Crawl(tmp_path, web)
    assert crawl.run("Old")["finish_reason"] == "enough"
    stats = crawl.run("Renamed")
    assert (
        stats["frontier/unreadable"] == 1
        and "cannot be read any more, and is left out: Method 'first' not found" in crawl.log
    )
    assert crawl.done() == ["2"] and stats["finish_reason"] == "finished"


def test_urls_without_a_host(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    crawl = Crawl(tmp_path, serve(all_ok, 1))
    crawl.run("Data")
    assert sorted(crawl.done()) == ["one", "two"]


def test_cookies_are_kept_if_asked(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(answers({"/in": (200, {"Set-Cookie": "who=me"}, b"welcome"), "/page": OK}), 1)
    crawl = Crawl(tmp_path, web, FRONTIER_COOKIES=True)
    crawl.run("Cookies", SEEDS=["/in"])
    stats = crawl.run("Cookies", SEEDS=["/page"])
    assert (crawl.job / "frontier.cookies").exists() and stats["downloader/request_count"] == 1
    assert crawl.done() == ["in welcome", "page "]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"AUTOTHROTTLE_ENABLED": True}, "AUTOTHROTTLE_ENABLED moves the delays of Scrapy's own slots"),
        ({"SCHEDULER": "scrapy.core.scheduler.Scheduler"}, "SCHEDULER is set to scrapy.core.scheduler.Scheduler"),
    ],
)
def test_what_cannot_work_is_refused_by_name(
    settings: dict[str, Any], words: str, serve: Callable[..., Web], tmp_path: pathlib.Path
) -> None:
    crawl = Crawl(tmp_path, serve(all_ok, 1), **settings)
    process = crawl.start("Tree")
    _, log = process.communicate(timeout=60)
    assert words in log and crawl.done() == []


def test_a_request_goes_to_disk_and_back() -> None:
    class Spider(scrapy.Spider):  # type: ignore[misc]
        name = "s"

        def parse(self, response: Any) -> None: ...

        def other(self, failure: Any) -> None: ...

        alias = other

    spider = Spider()
    requests = [
        Request("http://a.example/"),
        Request("http://a.example/?b=é", callback=spider.parse, errback=spider.other, priority=-7, dont_filter=True),
        Request(
            "http://a.example/",
            method="put",
            headers={"X": ["1", "2"]},
            body=b"\xff",
            cookies={"a": "b"},
            meta={"depth": 3},
            encoding="latin-1",
            flags=["f"],
            cb_kwargs={"a": [1]},
        ),
        Request("http://a.example/", callback=spider.alias),
        JsonRequest("http://a.example/", data={"a": 1}),
        FormRequest("http://a.example/", formdata={"a": "1"}),
    ]
    for request in requests:
        back = load(dump(request, spider), spider)
        assert type(back) is type(request)
        assert back.to_dict(spider=spider) == request.to_dict(spider=spider)
    assert len(dump(Request("http://a.example/page", callback=spider.parse, meta={"depth": 3}), spider)) < 130

    def function(response: Any) -> None: ...

    others: list[Any] = [function, Spider().parse, print]
    for callback in others:
        with pytest.raises(Unserializable, match="is no method of"):
            dump(Request("http://a.example/", callback=callback), spider)
    with pytest.raises(Unserializable):
        dump(Request("http://a.example/", meta={"lock": threading.Lock()}), spider)
    with pytest.raises(ValueError, match="not found"):
        load(dump(requests[1], spider), scrapy.Spider("another"))


def test_a_killed_job_is_read_by_this_package(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(tree(200, 2), 2)
    crawl = Crawl(tmp_path, web, DOWNLOAD_DELAY=0.05)
    process = crawl.start("Tree")
    while len(crawl.done()) < 20:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    with Frontier.open(crawl.job / "frontier", keep_journal=False, scope="any", robots=False) as frontier:
        statistics = frontier.statistics()
        # A page is complete once Scrapy has left it, some turns after its callback.
        assert 9 <= statistics.completed <= len(crawl.done()) and statistics.queued > 0
