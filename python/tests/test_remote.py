"""The frontier of a server: `crawler serve` at the other end, kills, and connections that break."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import crawler_frontier.remote
import served
from crawler_frontier import (
    AddressError,
    ForeignLeaseError,
    FrontierError,
    LeaseOverError,
    Link,
    MetadataError,
    OptionError,
    RemoteError,
)
from crawler_frontier.remote import Drained, Fetch, Frontier, Paused, Wait, aio
from served import Served
from simulated_web import Reply, Web

pytestmark = pytest.mark.skipif(not served.is_there(), reason="the command is elsewhere, or does not serve")

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUICK = {"politeness": {"host_delay": "1ms", "robots": False}}
WEB = {
    f"https://h{page % 7}.example/{page}": [f"https://h{(2 * page + to) % 7}.example/{2 * page + to}" for to in (1, 2)]
    for page in range(100)
}
SEED = "https://h0.example/0"
EACH = {SEED} | {link for links in WEB.values() for link in links}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    running = Served(tmp_path_factory.mktemp("served"))
    yield running
    running.end()


@pytest.fixture
def frontier(server: Served, request: pytest.FixtureRequest) -> Iterator[Frontier]:
    """A crawl of this test's own, whose hosts have no robots.txt and hardly rest."""
    name = re.sub(r"[^a-z0-9_]", "-", request.node.name)[:60]
    with Frontier.open(server.url, name, QUICK) as opened:
        yield opened


def one(frontier: Frontier) -> crawler_frontier.remote.Lease:
    lease = frontier.lease(timeout=10)
    assert lease is not None
    return lease


# What is documented.


@pytest.mark.parametrize("module", ["", ".frontier", ".aio"])
def test_the_examples_of_docstrings_run(module: str, server: Served) -> None:
    of: Any = importlib.import_module(f"crawler_frontier.remote{module}")
    text = (of.Frontier.__doc__ if module == ".frontier" else of.__doc__) or ""
    test = doctest.DocTestParser().get_doctest(text.replace("127.0.0.1:7071", server.address), {}, module, module, 0)
    assert test.examples
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0


def test_the_examples_of_the_page_run(server: Served) -> None:
    scope: dict[str, object] = {}
    blocks = (ROOT / "docs/guide/serve.md").read_text().split("```python\n")[1:]
    assert blocks
    for block in blocks:
        code = block.split("```")[0].replace("127.0.0.1:7071", server.address)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(doctest.DocTestParser().get_doctest(code, scope, "serve.md", "serve.md", 0), clear_globs=False)
        assert runner.failures == 0


def test_both_kinds_of_frontier_have_the_same_methods() -> None:
    def public(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert public(Frontier) - public(aio.Frontier) == {"open"}
    assert public(aio.Frontier) <= public(Frontier)
    for kind in (Frontier, aio.Frontier, crawler_frontier.remote.Lease, aio.Lease):
        assert [name for name in public(kind) if not getattr(kind, name).__doc__] == []


def test_the_example_crawls_each_page_once(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed")
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples/python"), *sys.path])
    crawl: Any = importlib.import_module("crawl_served").crawl

    def pages(_: str, path: str) -> Reply:
        web: dict[str, Reply] = {
            "/robots.txt": (200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /secret"),
            "/": (200, {}, b'<a href="/a">a</a> <A HREF=/old>b</A> <a href="/secret">c</a>'),
            "/a": (200, {}, b'<a href="/gone#top">g</a> <a href="/">up</a>'),
            "/old": (301, {"Location": "/new"}, b""),
            "/new": (200, {}, b""),
        }
        return web.get(path, (404, {}, b""))

    with Web(1, pages).running() as web:

        async def twice() -> None:
            await asyncio.gather(
                *(crawl(server.url, "example", [web.url(0, "/")], host_delay="10ms", wait=0.3) for _ in range(2))
            )

        asyncio.run(twice())
        assert sorted(web.paths(0)) == ["/", "/a", "/gone", "/new", "/old", "/robots.txt"]
        assert web.paths(0)[0] == "/robots.txt" and min(web.gaps()) >= 0.009


# Many workers, and kills.


def test_threads_do_each_page_once(frontier: Frontier) -> None:
    visits: list[str] = []
    frontier.seed(SEED)

    def work() -> None:
        for lease in frontier.leases(wait=0.3):
            with lease:
                visits.append(lease.url)
                frontier.answer(lease, 200, links=WEB.get(lease.url, []))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(visits) == Counter(EACH)
    statistics = frontier.statistics()
    assert (statistics.completed, statistics.drained, len(frontier)) == (len(EACH), True, 0)


def test_tasks_do_each_page_once(server: Served) -> None:
    visits: list[str] = []

    async def main() -> None:
        async with aio.Frontier(server.url, "tasks", QUICK) as frontier:
            assert await frontier.seed(SEED) is None

            async def work() -> None:
                async for lease in frontier.leases(wait=0.3):
                    async with lease:
                        visits.append(lease.url)
                        await frontier.answer(lease, 200, links=WEB.get(lease.url, []))

            await asyncio.gather(*(work() for _ in range(20)))
            assert (await frontier.statistics()).completed == len(EACH)

    asyncio.run(main())
    assert Counter(visits) == Counter(EACH)


def test_a_cancelled_task_gives_its_lease_back(server: Served) -> None:
    async def main() -> None:
        async with aio.Frontier(server.url, "cancelled", QUICK) as frontier:
            await frontier.seed(SEED)

            async def hang() -> None:
                async for lease in frontier.leases():
                    async with lease:
                        await asyncio.sleep(3600)

            for _ in range(3):
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(hang(), 0.2)
            lease = await frontier.lease(timeout=5)
            assert lease is not None and lease.attempt == 1
            # A long poll that is cancelled takes nothing with it.
            polls = [asyncio.create_task(frontier.lease()) for _ in range(3)]
            await asyncio.sleep(0.1)
            polls[0].cancel()
            await frontier.answer(lease, 200, links=["https://h0.example/1"])
            done, _ = await asyncio.wait(polls[1:], timeout=5, return_when=asyncio.FIRST_COMPLETED)
            found = done.pop().result()
            assert found is not None and found.url == "https://h0.example/1"
            polls[1].cancel()
            polls[2].cancel()

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["threads", "tasks"])
def test_workers_outlive_kills_of_the_server(kind: str, tmp_path: pathlib.Path) -> None:
    """Each page is completed once, though calls of which nobody knows whether they arrived are sent again."""
    running = Served(tmp_path)
    ended = threading.Event()
    bounced = 0
    settings = {**QUICK, "serve": {"lease_timeout": "2s"}}

    def work(frontier: Frontier) -> None:
        for lease in frontier.leases(wait=0.5):
            try:
                frontier.answer(lease, 200, links=WEB.get(lease.url, []))
            except LeaseOverError:
                pass  # Its deadline passed while the server was away.

    async def work_in_loop() -> None:
        async with aio.Frontier(running.url, "killed") as frontier:

            async def task() -> None:
                async for lease in frontier.leases(wait=0.5):
                    try:
                        await frontier.answer(lease, 200, links=WEB.get(lease.url, []))
                    except LeaseOverError:
                        pass

            await asyncio.gather(*(task() for _ in range(8)))

    with Frontier.open(running.url, "killed", settings) as frontier:
        frontier.seed(SEED)

        def kill() -> None:
            nonlocal bounced
            while not ended.wait(0.15) and bounced < 12:
                running.end()
                bounced += 1
                running.start()

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            if kind == "tasks":
                asyncio.run(work_in_loop())
            else:
                workers = [threading.Thread(target=work, args=[frontier]) for _ in range(8)]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
        finally:
            ended.set()
            killer.join()
        statistics = frontier.statistics()
        assert bounced > 0 and statistics.drained and statistics.completed == len(EACH), statistics
    running.end()


def test_a_fork_has_connections_of_its_own(frontier: Frontier) -> None:
    assert len(frontier) == 0
    child = os.fork()
    if child == 0:
        os._exit(0 if all(len(frontier) == 0 for _ in range(50)) else 1)
    assert all(len(frontier) == 0 for _ in range(50))
    assert os.waitpid(child, 0)[1] == 0


# What a lease has, and how it ends.


@pytest.mark.parametrize("payload", [b'{"a":  [1.50, "\\u00e4"]}', '"ä\\n"'.encode(), b"0", b"{}", b'{"leases":[{}],"b":"}"}'])
def test_what_comes_with_a_url_comes_back_byte_by_byte(payload: bytes, frontier: Frontier) -> None:
    link = Link("https://a.example/ä", metadata=payload, identity="ü".encode(), queue="ann's", priority=-7, depth=2)
    assert frontier.admit([link, link, "HTTPS://A.example"]) == [None, "seen", None]
    [lease], rest = frontier.next_batch(1)
    assert rest is None
    assert (lease.url, lease.metadata, lease.identity) == ("https://a.example/%C3%A4", payload, "ü".encode())
    assert lease.payload == json.loads(payload)
    assert (lease.queue, lease.priority, lease.depth, lease.attempt, lease.kind) == ("ann's", -7, 2, 1, "page")
    assert 100 < lease.deadline - time.time() < 125 and not lease.is_over and lease.token in repr(lease)
    assert frontier.extend(lease) == lease.deadline
    frontier.answer(lease, 200, links=[Link("/b", metadata=payload), "c"])
    assert lease.is_over
    brought = {one.url: one.metadata for one in frontier.next_batch(10, wait=1)[0]}
    assert set(brought.items()) <= {("https://a.example/b", payload), ("https://a.example/", b""), ("https://a.example/c", b"")}


def test_line_breaks_of_json_are_no_line_breaks(frontier: Frontier) -> None:
    value = {"a": [1, 2], "b": "x\r\ny"}
    frontier.admit([Link("https://a.example/", metadata=json.dumps(value, indent=1).encode()), "https://b.example/"])
    assert [lease.payload for lease in frontier.next_batch(2)[0]] in ([value, None], [None, value])


def test_a_lease_ends_once(frontier: Frontier) -> None:
    frontier.seed(SEED)
    lease = one(frontier)
    frontier.release(lease)
    assert lease.is_over
    for late in (frontier.extend, frontier.complete):
        with pytest.raises(LeaseOverError, match="deadline has passed"):
            late(lease)
    frontier.release(lease)
    lease = one(frontier)
    # Twice is as once: the answer may not have arrived.
    assert frontier.complete(lease) is None and frontier.complete(lease) is None
    with Frontier.open(frontier.url.split("/v1")[0], "another", QUICK) as other:
        with pytest.raises(ForeignLeaseError, match="never lent it"):
            other.complete_token(lease.token)
    with lease:
        pass
    assert frontier.next() == Drained()


def test_tokens_stand_for_leases(frontier: Frontier) -> None:
    frontier.admit([f"https://{name}.example/" for name in "abcd"])
    leases, _ = frontier.next_batch(4)
    a, b, c, d = (lease.token for lease in leases)
    assert frontier.extend_token(a) >= leases[0].deadline
    assert frontier.answer_token(a, 200, links=["https://e.example/"], body=b"x") is None
    again = frontier.fail_token(b, "timeout", "after 30 s")
    assert again is not None and again > time.time()
    busy = frontier.complete_token(c, 503, retry_after="1h")
    assert busy is not None and busy - time.time() > 3000
    frontier.give_back_token(d)
    assert {lease.url for lease in frontier.next_batch(10, wait=1)[0]} <= {"https://d.example/", "https://e.example/"}


def test_robots_are_read_by_the_server(server: Served) -> None:
    with Frontier.open(server.url, "robots", {"politeness": {"host_delay": "1ms"}}) as frontier:
        frontier.admit(["https://a.example/", "https://a.example/secret"])
        lease = one(frontier)
        assert (lease.kind, lease.url) == ("robots", "https://a.example/robots.txt")
        frontier.answer(lease, 200, body=b"\xff\x00" * 300_000 + b"\nUser-agent: *\nDisallow: /", etag='"1"')
        lease = one(frontier)
        assert lease.kind == "page"
        frontier.complete(lease)
        frontier.seed("https://b.example/secret")
        lease = one(frontier)
        while lease.kind != "robots":
            # That of the other host, whose rest may be over first.
            frontier.release(lease)
            lease = one(frontier)
        frontier.complete(lease, 200, body=b"User-agent: *\nDisallow: /secret")
        frontier.complete(one(frontier))
        assert frontier.lease(wait=0.1) is None and frontier.statistics().completed == 2


# The crawl.


def test_a_crawl_is_made_changed_and_deleted(server: Served) -> None:
    frontier = Frontier(server.url, "life")
    with pytest.raises(RemoteError, match=r"no crawl .*HTTP 404") as refused:
        frontier.statistics()
    assert refused.value.status == 404
    with pytest.raises(OptionError, match="host_dely"):
        frontier.configure({"politeness": {"host_dely": "1s"}})
    assert [frontier.configure(QUICK) for _ in range(2)] == ["created", "unchanged"]
    assert frontier.settings() == QUICK
    assert frontier.configure({"politeness": {"robots": False}}) == "changed"
    frontier.seed(SEED)
    frontier.pause()
    assert frontier.next() == Paused() and frontier.lease(timeout=0.1) is None and frontier.statistics().paused
    frontier.resume()
    assert isinstance(frontier.next(), Fetch)
    # When the lease is over, if nothing happens before.
    rest = frontier.next()
    assert isinstance(rest, Wait) and 100 < rest.until - time.time() < 125
    frontier.delete()
    with pytest.raises(RemoteError, match="no crawl"):
        frontier.seed(SEED)
    assert frontier.url == f"{server.url}/v1/crawls/life" and "life" in repr(frontier) and bool(frontier)
    frontier.close()
    with pytest.raises(RemoteError, match="is closed"):
        frontier.seed(SEED)


def test_drops_and_questions(frontier: Frontier) -> None:
    frontier.admit(["https://a.example/1", "https://b.example/1", "https://b.example/2", Link("https://c.example/", queue="q")])
    assert {name: queue.waiting for name, queue in frontier.queues()} == {"https://a.example": 1, "https://b.example": 2, "@q": 1}
    assert [name for name, _ in frontier.queues(1)] == ["https://b.example"]
    assert [name for name, _ in frontier.queues(find="q")] == ["@q"]
    frontier.drop_host("a.example")
    frontier.drop_queue("q")
    frontier.drop_urls("/2$")
    assert sorted(frontier.dropped()) == ["host a.example", "queue q", "urls /2$"]
    assert frontier.undo_drop("queue q") and not frontier.undo_drop("queue q")
    for wrong in ("queue", "all x"):
        with pytest.raises(OptionError, match="expected a drop"):
            frontier.undo_drop(wrong)
    with pytest.raises(OptionError):
        frontier.drop_urls("(")
    assert frontier.admit(["https://a.example/3", "mailto:x@a.example"]) == ["dropped", "unsupported_scheme"]
    assert frontier.refusals()["dropped"] == 2  # and the one that waited
    explained = frontier.explain(Link("https://c.example/", queue="q"))
    assert (explained.kind, explained.url) == ("waiting", "https://c.example/") and "waiting" in explained.verdict
    assert len(str(explained).splitlines()) > 1
    assert frontier.explain("https://b.example/1", identity=b"i").kind == "not_found"
    with pytest.raises(AddressError, match="no http or https URL"):
        frontier.explain("mailto:x@a.example")


def test_a_wait_says_until_when(server: Served) -> None:
    with Frontier.open(server.url, "rests", {"politeness": {"host_delay": "1h", "robots": False}}) as frontier:
        frontier.admit(["https://a.example/1", "https://a.example/2"])
        frontier.complete(one(frontier))
        rest = frontier.next()
        assert isinstance(rest, Wait) and 3500 < rest.until - time.time() <= 3600


def test_what_cannot_be_sent_changes_nothing(frontier: Frontier) -> None:
    each: list[tuple[str | Link, type[Exception], str]] = [
        (Link("https://a.example/", metadata=b"q=red"), MetadataError, "json.dumps"),
        (Link("https://a.example/", identity=b"\xff"), OptionError, "hex"),
        (Link("https://a.example/", unconditional=True), OptionError, "unconditional"),
        ("https://a.example/\ud800", AddressError, "surrogate"),
    ]
    for wrong, kind, words in each:
        with pytest.raises(kind, match=words):
            frontier.admit(["https://b.example/", wrong])
    assert len(frontier) == 0
    # What only the server knows to be wrong costs no other line anything.
    with pytest.raises(MetadataError, match=r"a\.example.*payload"):
        frontier.admit([Link("https://a.example/", metadata=b'"%s"' % (b"x" * 10_000)), "https://b.example/"])
    assert len(frontier) == 1
    lease = one(frontier)
    with pytest.raises(FrontierError, match="send some with `admit`"):
        frontier.answer(lease, 200, links=["x" * 600_000] * 2)
    with pytest.raises(OptionError, match="nofollow"):
        frontier.answer(lease, 200, links=[Link("/", nofollow=True)])
    with pytest.raises(OptionError, match="10s"):
        frontier.complete(lease, 503, retry_after="soon")
    with pytest.raises(FrontierError, match="private_address"):
        frontier.fail(lease, "tired")  # type: ignore[arg-type]
    assert not lease.is_over
    with pytest.raises(OptionError, match="1 to 1000"):
        frontier.next_batch(1001)


def test_a_large_call_is_sent_in_parts(frontier: Frontier) -> None:
    urls = [f"https://h{number % 100}.example/{number}" for number in range(25_000)]
    assert frontier.admit(urls) == [None] * len(urls) and len(frontier) == len(urls)
    assert set(frontier.admit(iter(urls))) == {"seen"}


# Who may ask, and whom.


def test_a_server_with_a_token(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text("the token")
    running = Served(tmp_path, "--token", f"file:{tmp_path / 'token'}")
    try:
        with Frontier.open(running.url, "c", token="the token") as frontier:
            assert frontier.seed(SEED) is None
        for token in (None, "the toke"):
            with pytest.raises(RemoteError, match="Bearer TOKEN") as refused:
                Frontier(running.url, "c", token=token).seed(SEED)
            assert refused.value.status == 401

        async def main() -> None:
            async with aio.Frontier(running.url, "c", token="the token") as frontier:
                assert await frontier.seed(SEED) == "seen"
            with pytest.raises(RemoteError, match="Bearer TOKEN"):
                async with aio.Frontier(running.url, "c", {}):
                    pass

        asyncio.run(main())
    finally:
        running.end()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_a_server_with_a_certificate(tmp_path: pathlib.Path) -> None:
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    made += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run(made, check=True, capture_output=True)
    running = Served(tmp_path, "--certificate", certificate, "--key", key, scheme="https")
    try:
        trusting = ssl.create_default_context(cafile=certificate)
        with Frontier.open(running.url, "c", QUICK, context=trusting) as frontier:
            assert frontier.seed(SEED) is None and one(frontier).url == SEED
        # A stranger's certificate is no matter of patience.
        began = time.monotonic()
        with pytest.raises(RemoteError, match="(?i)certificate") as refused:
            Frontier(running.url, "c").seed(SEED)
        assert refused.value.status is None and isinstance(refused.value.__cause__, ssl.SSLError)

        async def main() -> None:
            async with aio.Frontier(running.url, "c", {}, context=trusting) as frontier:
                assert await frontier.seed(SEED) == "seen"
            with pytest.raises(RemoteError, match="(?i)certificate"):
                async with aio.Frontier(running.url, "c", {}):
                    pass

        asyncio.run(main())
        assert time.monotonic() - began < 10
    finally:
        running.end()


@pytest.mark.parametrize("url", ["127.0.0.1:7071", "ftp://a.example", "http://", "http://user@a.example", "http://a.example?x"])
def test_what_is_no_server(url: str) -> None:
    with pytest.raises(OptionError, match="expected a server"):
        Frontier(url, "c")


def test_options_that_cannot_be() -> None:
    with pytest.raises(OptionError, match="SSLContext"):
        Frontier("http://a.example", "c", context=ssl.create_default_context())
    with pytest.raises(OptionError, match="visible"):
        Frontier("http://a.example", "c", token="two\r\nlines")
    assert Frontier("https://a.example/base/", "c d").url == "https://a.example/base/v1/crawls/c%20d"


