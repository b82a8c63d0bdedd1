"""Feeds that miss no item after a kill: `FRONTIER_HOLD_FOR_FEEDS`. Needs Scrapy."""

from __future__ import annotations

import json
import pathlib
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("scrapy", reason="Scrapy is not installed")

from crawler_frontier import Frontier
from scrapy_crawls import REACTORS, VERSION, Crawl, all_ok
from simulated_web import Web, tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its hosts are addresses of loopback")


def feed(directory: pathlib.Path, size: int, name: str = "items", **options: Any) -> dict[str, Any]:
    return {
        f"{directory}/{name}-%(batch_time)s.jl": {
            "format": "jsonlines",
            "encoding": "utf8",
            "batch_item_count": size,
            **options,
        }
    }


def items(directory: pathlib.Path, name: str = "items") -> Counter[str]:
    """The items of all batches, by the last parts of their URLs. A kill may leave the beginning of a line at the end of a file."""
    found: Counter[str] = Counter()
    for batch in directory.glob(f"{name}-*.jl"):
        for line in batch.read_text().splitlines():
            if line.endswith("}"):
                found[json.loads(line)["url"].rsplit("/", 1)[1]] += 1
    return found


@pytest.mark.parametrize("reactor", REACTORS)
def test_no_item_is_lost_by_kill_9(reactor: str, serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    if reactor == "none" and VERSION < (2, 15):
        pytest.skip("Scrapy before 2.15 needs a reactor")
    pages, size = 300, 20
    web = serve(tree(pages, 10), 10, latency=0.005)
    crawl = Crawl(
        tmp_path,
        web,
        DOWNLOAD_DELAY=0.03,
        CONCURRENT_REQUESTS=8,
        FRONTIER_HOLD_FOR_FEEDS=True,
        FEEDS=feed(tmp_path, size),
        **REACTORS[reactor],
    )
    kills = crawl.run_with_kills("Tree", 4, seed=5)
    assert kills > 0 and "finished" in crawl.log, crawl.log
    found = items(tmp_path)
    assert set(found) == {str(page) for page in range(pages)}
    # What was in flight, and the batches that were not stored.
    assert found.total() - pages <= kills * (8 + 2 * size)
    assert min(web.gaps()) >= 0.03
    with Frontier.open(crawl.job / "frontier", keep_journal=False, scope="any", robots=False) as frontier:
        assert len(frontier) == 0, "the last batch let its pages go"
    stats = crawl.run("Tree")
    assert "downloader/request_count" not in stats and "is finished" in crawl.log


def test_a_page_is_asked_for_until_its_batch_is_stored(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    web = serve(all_ok, 1)
    crawl = Crawl(tmp_path, web, PAGES=20, FRONTIER_HOLD_FOR_FEEDS=True, FEEDS=feed(tmp_path, 8), DOWNLOAD_DELAY=0.01)
    process = crawl.start("Star", STAYS=True)
    while len(crawl.done()) < 20 or items(tmp_path).total() < 16:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    stored = set(items(tmp_path))
    assert len(stored) == 16
    asked = len(web.log["127.0.1.1"])
    crawl.run("Star")
    again = {path.rsplit("/", 1)[1] for path in web.paths(0)[asked:]}
    assert again == {str(number) for number in range(1, 20)} - stored
    assert set(items(tmp_path)) == {str(number) for number in range(1, 20)}


def numbers_of(batch: pathlib.Path) -> list[str]:
    return [json.loads(line)["url"].rsplit("/", 1)[1] for line in batch.read_text().splitlines()]


def test_a_batch_that_does_not_fill_is_cut(serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    """One host may have 128 pages in hand: without a bound the crawl would stand still."""
    web = serve(all_ok, 1)
    feeds = {**feed(tmp_path, 10**6), **feed(tmp_path, 10**6, "odd", item_filter="scrapy_spiders.Odd")}
    crawl = Crawl(
        tmp_path, web, PAGES=301, FRONTIER_HOLD_FOR_FEEDS=True, FEEDS=feeds, CONCURRENT_REQUESTS_PER_DOMAIN=8
    )
    stats = crawl.run("Star")
    assert stats["finish_reason"] == "finished" and stats["item_scraped_count"] == 300
    # Each of the two feeds holds 32 pages of a host.
    assert stats["frontier/feed_batches_cut"] == 300 // 32 + 150 // 32
    sizes = [len(numbers_of(batch)) for batch in sorted(tmp_path.glob("items-*.jl"))]
    assert sizes == [32] * 9 + [12]
    assert items(tmp_path).total() == 300 and items(tmp_path, "odd").total() == 150
    with Frontier.open(crawl.job / "frontier", keep_journal=False, scope="any", robots=False) as frontier:
        assert len(frontier) == 0 and frontier.statistics().completed == 301


@pytest.mark.parametrize("reactor", ["asyncio", "select"])
def test_few_pages_in_hand_are_enough(reactor: str, serve: Callable[..., Web], tmp_path: pathlib.Path) -> None:
    """Some reactors store a batch within the call that fills it, others after it."""
    web = serve(all_ok, 1)
    crawl = Crawl(
        tmp_path,
        web,
        PAGES=50,
        FRONTIER_HOLD_FOR_FEEDS=True,
        FEEDS=feed(tmp_path, 10**6),
        FRONTIER_OPTIONS={"pages_in_hand": 6},
        **REACTORS[reactor],
    )
    stats = crawl.run("Star")
    assert stats["finish_reason"] == "finished" and items(tmp_path).total() == 49
    assert stats["frontier/feed_batches_cut"] == 49 // 3


def test_a_batch_that_cannot_be_stored_ends_the_run_and_comes_again(
    serve: Callable[..., Web], tmp_path: pathlib.Path
) -> None:
    web = serve(all_ok, 1)
    crawl = Crawl(
        tmp_path,
        web,
        PAGES=31,
        FRONTIER_HOLD_FOR_FEEDS=True,
        FEEDS=feed(tmp_path, 10),
        FEED_STORAGES={"": "scrapy_spiders.Broken", "file": "scrapy_spiders.Broken"},
        DOWNLOAD_DELAY=0.01,
    )
    (tmp_path / "broken").touch()
    output, log = crawl.start("Star").communicate(timeout=60)
    stats = json.loads(output)
    assert stats["finish_reason"] == "frontier_failed" and "no room" in log
    (tmp_path / "broken").unlink()
    lost = {path.name for path in tmp_path.glob("items-*.jl")}
    for name in lost:
        (tmp_path / name).unlink()
    crawl.run("Star")
    assert set(items(tmp_path)) == {str(number) for number in range(1, 31)}


@pytest.mark.parametrize(
    ("size", "words"), [(0, "has no batches: set FEED_EXPORT_BATCH_ITEM_COUNT"), (None, "holds nothing: there is no feed")]
)
def test_what_cannot_be_held_is_said(
    size: int | None, words: str, serve: Callable[..., Web], tmp_path: pathlib.Path
) -> None:
    feeds = feed(tmp_path, size) if size is not None else {}
    crawl = Crawl(tmp_path, serve(all_ok, 1), PAGES=3, FRONTIER_HOLD_FOR_FEEDS=True, FEEDS=feeds)
    _, log = crawl.start("Star").communicate(timeout=60)
    assert words in log
    assert (len(crawl.done()) == 3) == (size is None)
