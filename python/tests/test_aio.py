"""The frontier in event loops: tasks that wait, are cancelled, and drop their leases."""

from __future__ import annotations

import asyncio
import doctest
import gc
import os
import pathlib
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import crawler_frontier.aio
from crawler_frontier import Drained, JobLockedError, Lease, Link
from crawler_frontier.aio import Frontier

trio: Any
try:
    import trio
except ImportError:
    trio = None

LOOPS = ["asyncio", pytest.param("trio", marks=pytest.mark.skipif(trio is None, reason="trio is not installed"))]
WEB = {
    f"https://h{page % 7}.example/{page}": [f"https://h{(2 * page + to) % 7}.example/{2 * page + to}" for to in (1, 2)]
    for page in range(100)
}
SEED = "https://h0.example/0"


def run(loop: str, main: Callable[[], Awaitable[Any]]) -> Any:
    if loop == "trio":
        return trio.run(main)
    return asyncio.run(main())  # type: ignore[arg-type]


async def pause(loop: str, seconds: float) -> None:
    await (trio if loop == "trio" else asyncio).sleep(seconds)


async def together(loop: str, tasks: list[Callable[[], Awaitable[None]]]) -> None:
    if loop == "trio":
        async with trio.open_nursery() as nursery:
            for task in tasks:
                nursery.start_soon(task)
    else:
        await asyncio.gather(*(task() for task in tasks))


def test_the_example_of_the_module_runs(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert doctest.testmod(crawler_frontier.aio).failed == 0


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("workers", [1, 20])
def test_workers_do_each_page_once(loop: str, workers: int, tmp_path: pathlib.Path) -> None:
    visits: list[str] = []

    async def main() -> None:
        async with Frontier.open(
            tmp_path, scope="any", robots=False, host_delay="1ms", checkpoint_every=0.02
        ) as frontier:
            frontier.seed(SEED)

            async def work() -> None:
                async for lease in frontier.leases():
                    visits.append(lease.url)
                    await pause(loop, 0.002)
                    frontier.answer(lease, 200, links=WEB.get(lease.url, []))

            await together(loop, [work] * workers)
            assert len(frontier) == 0 and frontier.statistics().completed == len(visits)

    run(loop, main)
    assert Counter(visits) == Counter({SEED} | {link for links in WEB.values() for link in links})


def test_one_task_hands_leases_to_others() -> None:
    visits: list[str] = []

    async def main() -> None:
        async with Frontier(scope="any", robots=False, host_delay="1ms") as frontier:
            frontier.seed(SEED)

            async def work(lease: Lease) -> None:
                visits.append(lease.url)
                await asyncio.sleep(0.002)
                frontier.answer(lease, 200, links=WEB.get(lease.url, []))

            tasks: set[asyncio.Task[None]] = set()
            async for lease in frontier.leases():
                task = asyncio.create_task(work(lease))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    asyncio.run(main())
    assert len(visits) == len(set(visits)) == 201


@pytest.mark.parametrize("loop", LOOPS)
def test_a_cancelled_task_gives_its_lease_back(loop: str) -> None:
    async def main() -> None:
        async with Frontier(robots=False, host_delay=0) as frontier:
            frontier.seed("https://example.org/")

            async def hang() -> None:
                async for lease in frontier.leases():
                    with lease:
                        assert lease.url == "https://example.org/"
                        await pause(loop, 3600)

            for _ in range(3):
                if loop == "trio":
                    with trio.move_on_after(0.02):
                        await hang()
                else:
                    with pytest.raises(asyncio.TimeoutError):
                        await asyncio.wait_for(hang(), 0.02)
            lease = await frontier.lease()
            assert lease is not None and (lease.attempt, lease.is_over) == (1, False)
            frontier.complete(lease)
            assert await frontier.lease() is None

    run(loop, main)


def test_a_lease_that_no_task_has_any_more_is_given_back() -> None:
    async def main() -> None:
        async with Frontier(robots=False, host_delay=0) as frontier:
            frontier.seed("https://example.org/")

            async def hang() -> None:
                async for lease in frontier.leases():
                    assert lease.url == "https://example.org/"
                    await asyncio.sleep(3600)

            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(hang(), 0.02)
            gc.collect()  # The cancelled task's frames may hold it in a circle.
            lease = await frontier.lease()
            assert lease is not None and lease.attempt == 1

    asyncio.run(main())


@pytest.mark.parametrize("loop", LOOPS)
def test_a_change_wakes_a_waiting_task(loop: str) -> None:
    """One page is out, and what it brings is waited for: a link, a release, and its end, each by another task."""

    async def main() -> None:
        async with Frontier(robots=False, host_delay=0, connections_per_host=2, first_contacts_per_host=2) as frontier:
            frontier.seed("https://example.org/")
            first = await frontier.lease()
            assert first is not None
            woken: list[str | None] = []

            async def wait() -> None:
                lease = await frontier.lease()
                woken.append(lease and lease.url)
                if lease is not None:
                    frontier.complete(lease)

            async def bring() -> None:
                await pause(loop, 0.01)
                assert woken == []
                frontier.links(first, ["/a"])
                await pause(loop, 0.01)
                assert woken == ["https://example.org/a"]
                frontier.complete(first)

            await together(loop, [wait, wait, wait, bring])
            assert woken == ["https://example.org/a", None, None]

    run(loop, main)


def test_a_wait_for_a_lease_may_be_cancelled() -> None:
    async def main() -> None:
        async with Frontier(robots=False, host_delay=0.05) as frontier:
            frontier.admit(["https://example.org/a", "https://example.org/b"])
            first = await frontier.lease()
            assert first is not None
            waiting = [asyncio.create_task(frontier.lease()) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            waiting[2].cancel()
            frontier.complete(first)
            lease = await asyncio.wait_for(waiting[1], 5)
            assert lease is not None and lease.url == "https://example.org/b"

    asyncio.run(main())


def test_another_thread_drops_a_lease() -> None:
    async def main() -> None:
        async with Frontier(robots=False, host_delay=0) as frontier:
            frontier.seed("https://example.org/")
            holder = [await frontier.lease()]
            waiting = asyncio.create_task(frontier.lease())
            await asyncio.sleep(0.01)
            thread = threading.Thread(target=holder.clear)
            thread.start()
            thread.join()
            lease = await asyncio.wait_for(waiting, 5)
            assert lease is not None and lease.attempt == 1

    asyncio.run(main())


def test_errors_come_from_where_they_belong(tmp_path: pathlib.Path) -> None:
    async def main() -> None:
        frontier = Frontier.open(tmp_path / "job")
        with pytest.raises(RuntimeError, match="the frontier is not open"):
            frontier.seed("https://example.org/")
        async with frontier:
            with pytest.raises(JobLockedError):
                async with Frontier.open(tmp_path / "job"):
                    pass
            assert frontier.opening is not None and frontier.opening.is_new
            cost = await frontier.checkpoint()
            assert cost is not None and cost.bytes > 0
            assert isinstance(frontier.core.next(), Drained)
        await frontier.close()

    asyncio.run(main())


CRAWLER = """
import asyncio, sys
from crawler_frontier.aio import Frontier

def links(url):
    number = int(url.rsplit("/", 1)[1])
    return [f"https://h{child % 5}.example/{child}" for child in (2 * number + 1, 2 * number + 2) if child < 300]

async def main():
    done = open(sys.argv[2], "a", buffering=1)
    async with Frontier.open(sys.argv[1], scope="any", robots=False, host_delay=0.002, checkpoint_every=0.05) as frontier:
        frontier.seed("https://h0.example/0")
        async def work():
            async for lease in frontier.leases():
                await asyncio.sleep(0.001)
                frontier.answer(lease, 200, links=links(lease.url))
                done.write(lease.url + "\\n")
        await asyncio.gather(*(work() for _ in range(8)))
    print("drained")

asyncio.run(main())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_neither_a_kill_nor_ctrl_c_loses_anything(how: signal.Signals, tmp_path: pathlib.Path) -> None:
    stops = 0
    while True:
        crawler = subprocess.Popen(
            [sys.executable, "-c", CRAWLER, str(tmp_path / "job"), str(tmp_path / "done")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            output, errors = crawler.communicate(timeout=None if stops >= 5 else 0.25 + 0.02 * stops)
            assert (crawler.returncode, output) == (0, b"drained\n"), errors.decode()
            break
        except subprocess.TimeoutExpired:
            os.kill(crawler.pid, how)
            crawler.communicate()
            stops += 1
    # A page whose line was not written by the kill is done all the same.
    visits = Counter((tmp_path / "done").read_text().split())
    assert 300 - 8 * stops <= len(visits) <= 300
    assert sum(visits.values()) - len(visits) == 0


def test_queues_and_priorities_that_move() -> None:
    async def crawl() -> list[tuple[str | None, str]]:
        async with Frontier(robots=False, host_delay=0) as frontier:
            frontier.admit([Link(f"https://example.org/{page}", queue="q") for page in "abcd"])
            assert [name for name, _ in frontier.queues()] == ["@q"]
            assert frontier.reprioritize({"https://example.org/c": -1}).moved == 1
            frontier.drop_urls("/b$")
            queue = frontier.queue_statistics("@q")
            assert queue is not None and queue.waiting == 4
            visits: list[tuple[str | None, str]] = []
            async for lease in frontier.leases():
                visits.append((lease.queue, lease.url[-1]))
                frontier.complete(lease)
                if len(visits) == 2:
                    assert frontier.undo_drop("urls /b$")
            return visits

    visits = asyncio.run(crawl())
    assert visits[:2] == [("q", "c"), ("q", "a")] and sorted(visits[2:]) == [("q", "b"), ("q", "d")]
