"""The frontier without an event loop: what comes out and when, by a time that the test moves; on disk, through kills; by threads."""

from __future__ import annotations

import gc
import os
import pathlib
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from crawler_frontier import (
    AddressError,
    Busy,
    Drained,
    Fetch,
    ForeignLeaseError,
    Frontier,
    FrontierError,
    GiveUp,
    JobLockedError,
    Lease,
    LeaseOverError,
    Link,
    MetadataError,
    OptionError,
    SeenError,
    Wait,
)


def due(frontier: Frontier, now: float) -> Lease:
    """The lease that is due."""
    match frontier.next(now=now):
        case Fetch(lease):
            return lease
        case other:
            raise AssertionError(f"{other} at {now}")


def crawl(frontier: Frontier, web: dict[str, list[str]], now: float = 0.0) -> list[tuple[float, str]]:
    """Crawls all that there is, and says when each page was asked for."""
    visits: list[tuple[float, str]] = []
    while True:
        match frontier.next(now=now):
            case Fetch(lease):
                visits.append((round(now, 3), lease.url))
                links = web.get(lease.url)
                frontier.answer(lease, 404 if links is None else 200, links=links, now=now)
            case Wait(until):
                now = until
            case GiveUp(lease):
                frontier.give_up(lease, now=now)
            case Busy():
                raise AssertionError("nothing is out")
            case Drained():
                return visits


def test_each_host_has_its_pace_and_each_url_comes_once() -> None:
    web = {
        "https://a.example/": ["/1", "/2", "/1?utm_source=x", "https://b.example/"],
        "https://a.example/1": ["/", "#top"],
        "https://b.example/": ["https://a.example/2"],
    }
    frontier = Frontier(scope="any", host_delay="500ms", hosts={"b.example": {"host_delay": 3}})
    frontier.seed("https://a.example/", now=0.0)
    assert crawl(frontier, web) == [
        (0.0, "https://a.example/robots.txt"),
        (0.5, "https://a.example/"),
        (0.5, "https://b.example/robots.txt"),
        (1.0, "https://a.example/1"),
        (1.5, "https://a.example/2"),
        (3.5, "https://b.example/"),
    ]
    assert frontier.statistics().completed == 4
    assert frontier.refusals() == {"seen": 4}


def test_a_robots_txt_is_minded() -> None:
    frontier = Frontier(agent="bookworm")
    frontier.admit(["https://example.org/private/a", "https://example.org/b"], now=0.0)
    robots = due(frontier, 0.0)
    assert (robots.kind, robots.position, robots.is_first_contact) == ("robots", None, True)
    frontier.answer(
        robots,
        200,
        body=b"User-agent: *\nDisallow: /\n\nUser-agent: bookworm\nDisallow: /private/\nCrawl-delay: 7",
        now=0.0,
    )
    assert due(frontier, 7.0).url == "https://example.org/b"
    assert frontier.explain("https://example.org/private/b").verdict.endswith(
        "robots.txt disallows it: Disallow: /private/"
    )


def test_a_redirect_leads_on() -> None:
    frontier = Frontier(robots=False, host_delay=0)
    frontier.seed(Link("https://example.org/old", metadata=b"shelf 7"), now=0.0)
    frontier.answer(due(frontier, 0.0), 301, location="/new", now=0.0)
    lease = due(frontier, 0.0)
    assert (lease.url, lease.metadata, lease.referrer) == (
        "https://example.org/new",
        b"shelf 7",
        "https://example.org/old",
    )


def test_retry_after_and_failures_rest_a_host_and_leave_the_page() -> None:
    frontier = Frontier(robots=False, attempts=2, backoff=10)
    frontier.seed("https://example.org/", now=0.0)
    assert frontier.complete(due(frontier, 0.0), 429, retry_after=30, now=0.0) == 30.0
    lease = due(frontier, 30.0)
    assert frontier.fail(lease, "timeout", "no byte for 10 s", now=30.0) == 50.0
    lease = due(frontier, 50.0)
    assert (lease.attempt, lease.is_last_try) == (2, True)
    assert frontier.complete(lease, 500, now=50.0) is None
    assert isinstance(frontier.next(now=50.0), Drained)


def test_a_host_that_is_not_to_be_had_is_given_up_and_asked_again() -> None:
    frontier = Frontier(robots=False, host_failures=1)
    frontier.seed("https://example.org/", now=0.0)
    frontier.fail(due(frontier, 0.0), "no_such_host", now=0.0)
    match frontier.next(now=1000.0):
        case GiveUp(lease):
            assert lease.trouble == ("no_such_host", "no_such_host")
            frontier.give_up(lease, now=1000.0)
        case other:
            raise AssertionError(other)
    assert isinstance(frontier.next(now=1000.0), Drained)
    assert frontier.statistics().unreachable == 1
    assert frontier.ask_again(now=2000.0) == 1
    assert due(frontier, 10_000.0).url == "https://example.org/"


def test_an_answered_page_frees_its_host() -> None:
    frontier = Frontier(robots=False, host_delay=timedelta(milliseconds=250))
    frontier.admit([f"https://example.org/{page}" for page in range(2)], now=0.0)
    first = due(frontier, 0.0)
    assert frontier.next(now=9.0).__class__ is Busy
    frontier.answered(first, 200, latency=0.1, received=1000, now=9.0)
    assert frontier.next(now=9.0).__repr__() == "Wait(until=9.250000)"
    second = due(frontier, 9.25)
    assert frontier.statistics().in_hand == 1
    frontier.complete(first, now=20.0)
    frontier.complete(second, now=20.0)
    assert frontier.statistics().completed == 2


def test_requests_of_others_count_for_the_clock() -> None:
    frontier = Frontier(robots=False)
    frontier.seed("https://example.org/", now=0.0)
    frontier.host_was_asked("https://example.org/logo.png", 0.0)
    match frontier.next(now=0.0):
        case Wait(until):
            assert until == 1.0
        case other:
            raise AssertionError(other)
    queue = frontier.queue_statistics("https://example.org/other", now=0.0)
    assert queue is not None and (queue.due, queue.waiting, queue.lent, queue.delay) == (1.0, 1, 0, 1.0)
    assert frontier.queue_statistics("https://elsewhere.example/") is None
    assert [(host, queue.waiting) for host, queue in frontier.queues(now=0.0)] == [("https://example.org", 1)]


def test_a_request_is_more_than_its_url() -> None:
    frontier = Frontier(robots=False, host_delay=0, connections_per_host=4, first_contacts_per_host=4)
    api = "https://example.org/api"
    links = [Link(api, metadata=body, identity=body) for body in (b"q=red", b"q=blue", b"q=red")]
    assert frontier.admit(links, now=0.0) == [None, None, "seen"]
    assert frontier.has_seen(links[0]) and not frontier.has_seen(api)
    assert frontier.seed(Link(api, unconditional=True), now=0.0) is None
    assert not frontier.has_seen(api)
    assert frontier.seed(Link(api, unconditional=True, remembered=True), now=0.0) is None
    assert frontier.has_seen(api)
    leases, _ = frontier.next_batch(10, now=0.0)
    assert [(lease.url, lease.metadata, lease.identity) for lease in leases] == [
        (api, b"q=red", b"q=red"),
        (api, b"q=blue", b"q=blue"),
        (api, b"", None),
        (api, b"", None),
    ]
    assert len({lease.position for lease in leases}) == 4
    assert "queue" in str(frontier.explain(api, identity=b"q=red"))


def test_priorities_and_orders() -> None:
    frontier = Frontier(robots=False, host_delay=0, order="lifo")
    frontier.admit(
        [Link(f"https://example.org/{page}", priority=priority) for page, priority in [("a", 5), ("b", -7), ("c", 5)]],
        now=0.0,
    )
    assert [url[-1] for _, url in crawl(frontier, {})] == ["b", "c", "a"]


def test_what_is_found_again_moves_up() -> None:
    frontier = Frontier(robots=False, host_delay=0, move_up=True)
    found = [("a", 5), ("b", 6), ("b", 4), ("a", 9)]
    links = [Link(f"https://example.org/{page}", priority=priority) for page, priority in found]
    assert frontier.admit(links, now=0.0) == [None, None, "seen", "seen"]
    assert [url[-1] for _, url in crawl(frontier, {})] == ["b", "a"]
    statistics = frontier.statistics()
    assert (statistics.moved_up, statistics.not_looked_at) == (1, 0)


def test_a_queue_stands_for_its_hosts(tmp_path: pathlib.Path) -> None:
    options: dict[str, Any] = {
        "scope": "any",
        "robots": False,
        "hosts": {"@slow": {"host_delay": 5}, "@*": {"connections_per_host": 2}},
        "groups": {"paid": {"hosts": ["@paid one", "@paid two"], "delay": 3}},
        "first_contacts_per_host": 2,
    }
    job = tmp_path / "job"
    with Frontier.open(job, **options) as frontier:
        links = [
            Link(f"https://{host}.example/{page}", queue=queue)
            for page, (host, queue) in enumerate([("a", "slow"), ("b", "slow"), ("a", "quick"), ("a", None)])
        ]
        assert repr(links[0]) == "Link('https://a.example/0', queue='slow')" and links[3].queue is None
        assert frontier.admit(links, now=0.0) == [None] * 4
        assert frontier.admit([links[0], "https://a.example/0"], now=0.0) == ["seen"] * 2
    # The names are there again in the next process.
    with Frontier.open(job, **options) as frontier:
        now = frontier.now()
        queues = {name: queue.waiting for name, queue in frontier.queues(now=now)}
        assert queues == {"@slow": 2, "@quick": 1, "https://a.example": 1}
        leases, _ = frontier.next_batch(10, now=now)
        # One host in three queues has three clocks, and two hosts in one queue have one.
        lent = {lease.url[8:]: (lease.queue, lease.origin, lease.delay) for lease in leases}
        assert lent["a.example/0"] == ("slow", "https://a.example", 5.0)
        assert lent["a.example/2"] == ("quick", "https://a.example", 1.0)
        assert lent["a.example/3"] == (None, "https://a.example", 1.0)
        assert "b.example/1" not in lent
        for lease in leases:
            frontier.complete(lease, now=now)
        match frontier.next(now=now):
            case Wait(until):
                assert until == pytest.approx(now + 5, abs=1e-5)
            case other:
                raise AssertionError(other)
        for asked in ("@slow", links[1], "https://a.example/any"):
            assert frontier.queue_statistics(asked, now=now) is not None
        assert frontier.queue_statistics("@nobody") is None and frontier.queue_statistics("https://b.example/") is None
        # What others have asked counts for the queue.
        frontier.host_was_asked(links[1], at=now + 60)
        frontier.host_was_asked("https://b.example/", at=now + 90)
        queue = frontier.queue_statistics("@slow", now=now)
        assert queue is not None and queue.waiting == 1 and queue.due == pytest.approx(now + 65, abs=1e-5)
        assert "@slow" in str(frontier.explain(links[1], now=now))
        # All of a queue can be dropped, and brought back.
        frontier.drop_queue("slow", now=now)
        assert frontier.dropped() == ["queue slow"] and isinstance(frontier.next(now=now + 100), Drained)
        assert frontier.undo_drop("queue slow", now=now) and not frontier.undo_drop("queue slow", now=now)
        assert due(frontier, now + 100).url == "https://b.example/1"
    for name in ("", "*", " a", "x" * 65, "a\nb"):
        with pytest.raises(ValueError, match="is not a queue name"):
            Link("https://a.example/", queue=name)


def test_a_link_on_a_page_may_name_a_queue() -> None:
    frontier = Frontier(robots=False, host_delay=0)
    frontier.seed(Link("https://example.org/", queue="pages"), now=0.0)
    frontier.answer(due(frontier, 0.0), 200, links=["/a", Link("/b", queue="b")], now=0.0)
    assert {lease.url[-1]: lease.queue for lease in frontier.next_batch(9, now=0.0)[0]} == {"a": None, "b": "b"}


def test_all_of_a_host_and_what_a_pattern_matches_can_be_dropped() -> None:
    frontier = Frontier(robots=False, scope="any", host_delay=0)
    frontier.admit(["https://a.example/1", "https://b.example/2", Link("https://b.example/3", queue="q")], now=0.0)
    frontier.drop_host("b.example", now=0.0)
    frontier.drop_urls("/1$", now=0.0)
    assert isinstance(frontier.next(now=0.0), Drained)
    assert frontier.admit(["https://b.example/4", "https://c.example/1"], now=0.0) == ["dropped"] * 2
    assert sorted(frontier.dropped()) == ["host b.example", "urls /1$"]
    assert frontier.undo_drop("host b.example", now=0.0)
    assert {lease.url[-1] for lease in frontier.next_batch(9, now=0.0)[0]} == {"2", "3"}
    for act, bad in ((frontier.drop_host, "a b"), (frontier.drop_queue, "*"), (frontier.drop_urls, "(")):
        with pytest.raises(OptionError):
            act(bad)
    with pytest.raises(OptionError, match="expected `host NAME`"):
        frontier.undo_drop("b.example")


@pytest.mark.parametrize("seed", range(20))
def test_priorities_move_as_in_a_sorted_list(seed: int) -> None:
    """Against a naive model: a dict of priorities, whose least goes first, and of equals the one that came there first."""
    dice, now = random.Random(seed), 0.0
    frontier = Frontier(robots=False, host_delay=0)
    model: dict[str, tuple[int, int]] = {}
    arrivals = iter(range(10**6))
    visits: list[str] = []
    expected: list[str] = []
    for _ in range(60):
        match dice.randrange(3):
            case 0:
                urls = [f"https://example.org/{dice.randrange(10**9)}" for _ in range(dice.randrange(6))]
                links = [Link(url, priority=dice.randrange(-3, 3)) for url in urls]
                assert frontier.admit(links, now=now) == [None] * len(links)
                for link in links:
                    assert link.priority is not None
                    model[link.url] = (link.priority, next(arrivals))
            case 1 if model:
                chosen = dice.sample(sorted(model), dice.randrange(1, len(model) + 1))
                scores = {url: dice.randrange(-5, 5) for url in chosen}
                moved = [url for url in chosen if scores[url] != model[url][0]]
                by_position = [(frontier.positions_of(url)[0], score) for url, score in scores.items()]
                by_fingerprint = [(frontier.fingerprint(url), score) for url, score in scores.items()]
                match dice.randrange(4):
                    case 0:
                        done = frontier.reprioritize(scores, now=now)
                    case 1:
                        done = frontier.reprioritize([(Link(url), score) for url, score in scores.items()], now=now)
                    case 2:
                        done = frontier.reprioritize(by_position, now=now)
                    case _:
                        done = frontier.reprioritize(dict(by_fingerprint), fingerprints=True, now=now)
                assert (done.moved, done.unchanged, done.out, done.unknown) == (len(moved), len(chosen) - len(moved), 0, 0)
                # Those that move together keep their order.
                for url in sorted(moved, key=lambda url: model[url]):
                    model[url] = (scores[url], next(arrivals))
            case _ if model:
                lease = due(frontier, now)
                visits.append(lease.url)
                expected.append(min(model, key=lambda url: model[url]))
                assert lease.priority == model.pop(lease.url)[0]
                frontier.complete(lease, now=now)
            case _:
                pass
    assert visits == expected
    assert frontier.reprioritize([("https://example.org/never", 1)], now=now).unknown == 1
    with pytest.raises(AddressError):
        frontier.reprioritize([("https://example.org/never", 1), ("mailto:x", 1)], now=now)


def test_pages_are_visited_again_and_forgotten() -> None:
    frontier = Frontier(robots=False, layout="exact")
    frontier.seed("https://example.org/", now=0.0)
    lease = due(frontier, 0.0)
    assert frontier.schedule_again(lease, 86_400.0) is None
    frontier.complete(lease, now=0.0)
    assert len(frontier) == 1
    frontier.complete(due(frontier, 86_401.0), now=86_401.0)
    assert frontier.forget("https://example.org/#x") and not frontier.forget("https://example.org/")
    assert frontier.schedule("https://example.org/", 90_000.0) is None
    with pytest.raises(SeenError, match="blocked"):
        Frontier().forget("https://example.org/")


def test_leases_end_and_come_back_by_their_tokens() -> None:
    frontier = Frontier(robots=False, lease_timeout="60s")
    frontier.seed("https://example.org/", now=0.0)
    token = due(frontier, 0.0).token
    assert token is not None
    gc.collect()
    assert frontier.statistics().leased == 1  # Its object is gone, and its token holds it.
    assert frontier.extend_token(token, now=30.0) == 90.0
    assert frontier.redeem(token).url == "https://example.org/"
    match frontier.next(now=30.0):
        case Wait(until):
            assert until == 90.0
        case other:
            raise AssertionError(other)
    assert frontier.expire(now=91.0) == 1
    with pytest.raises(LeaseOverError, match=f"the lease {token} is over"):
        frontier.complete_token(token, now=91.0)
    token = due(frontier, 100.0).token
    assert token is not None
    for _ in range(2):
        assert frontier.answer_token(token, 200, links=["/a", "/b"], now=101.0) is None
    assert frontier.statistics().queued == 2
    token = due(frontier, 110.0).token
    assert token is not None
    frontier.answered_token(token, 200, now=110.0)
    frontier.give_back_token(token, now=110.0)
    frontier.give_back_token(token, now=110.0)
    token = due(frontier, 120.0).token
    assert token is not None
    assert frontier.fail_token(token, "lost", now=120.0) is not None
    with pytest.raises(ForeignLeaseError):
        Frontier(lease_timeout=9).complete_token(token)
    with pytest.raises(ValueError, match="two hexadecimal numbers"):
        frontier.complete_token("another")


def test_a_lease_is_completed_once_and_by_its_frontier() -> None:
    frontier, other = Frontier(robots=False), Frontier()
    frontier.seed("https://example.org/", now=0.0)
    lease = due(frontier, 0.0)
    with pytest.raises(ForeignLeaseError):
        other.complete(lease)
    assert repr(lease) == "<Lease page 'https://example.org/', try 1>" and not lease.is_over
    frontier.complete(lease, now=0.0)
    assert lease.is_over and lease.url == "https://example.org/"
    with pytest.raises(LeaseOverError, match="over: it was completed or given back before"):
        frontier.complete(lease)
    with pytest.raises(LeaseOverError):
        frontier.links(lease, ["/a"])


def test_a_dropped_lease_is_given_back() -> None:
    frontier = Frontier(robots=False)
    frontier.seed("https://example.org/", now=0.0)
    for _ in range(3):
        lease = due(frontier, 0.0)
        assert lease.attempt == 1
        del lease
    with due(frontier, 0.0) as lease:
        assert frontier.statistics().leased == 1
    assert frontier.statistics().leased == 0 and lease.is_over
    with pytest.raises(RuntimeError), due(frontier, 0.0):
        raise RuntimeError
    with due(frontier, 0.0) as lease:
        frontier.release(lease, now=0.0)
    with due(frontier, 0.0) as lease:
        frontier.complete(lease, now=0.0)
    assert frontier.statistics().completed == 1


def test_bad_input_is_a_clear_exception_and_changes_nothing() -> None:
    for options, error, words in [
        ({"host_delai": 1}, TypeError, '"host_delai" is no option of a frontier'),
        ({"host_delay": "3 parsecs"}, OptionError, "host_delay = '3 parsecs': a duration"),
        ({"host_delay": -1}, OptionError, "a duration"),
        ({"host_delay": float("nan")}, OptionError, "a duration"),
        ({"connections_per_host": 0}, OptionError, "politeness.connections_per_host = 0: is from 1 to 64"),
        ({"agent": "a b"}, OptionError, "politeness.agent"),
        ({"layout": "cuckoo"}, OptionError, 'layout = "cuckoo": is one of blocked, counting'),
        ({"scope": "planet"}, OptionError, "is one of any, domain"),
        ({"exclude": ["("]}, OptionError, "scope.exclude"),
        ({"exclude": "abc"}, OptionError, "is a list of texts"),
        ({"metadata_bytes": "2MiB"}, OptionError, "metadata.bytes = 2097152: is at most 1048576"),
        ({"hours": "25:00-26:00"}, OptionError, "hours"),
        ({"hosts": {"a.example": {"delay": 1}}}, OptionError, "is no setting of a host"),
        ({"dropped": ["page x"]}, OptionError, "expected `host NAME`, `queue NAME` or `urls REGEX`"),
        ({"robots": "no"}, TypeError, "bool"),
    ]:
        with pytest.raises(error, match=None) as raised:
            Frontier(**options)  # type: ignore[arg-type]
        assert words in str(raised.value), str(raised.value)
    frontier = Frontier(metadata_bytes=10)
    with pytest.raises(AddressError, match="scheme `mailto` is not crawled"):
        frontier.seed("mailto:a@example.org")
    with pytest.raises(UnicodeEncodeError):
        frontier.admit(["https://a.example/", "https://b.example/\ud800"])
    with pytest.raises(TypeError, match="a single str"):
        frontier.admit("https://a.example/")
    with pytest.raises(MetadataError, match="11 bytes of metadata: metadata.bytes leaves room for 10"):
        frontier.admit(["https://a.example/", Link("https://b.example/", metadata=b"x" * 11)])
    with pytest.raises(ValueError, match="identity"):
        Link("https://a.example/", identity=b"x" * 65)
    with pytest.raises(OptionError, match="now"):
        frontier.next(now=-1.0)
    assert (len(frontier), frontier.has_seen("https://a.example/")) == (0, False)
    frontier.seed("https://a.example/", now=0.0)
    with pytest.raises(OptionError, match='failure = "bored": is one of'):
        frontier.fail(due(frontier, 0.0), "bored")  # type: ignore[arg-type]
    assert frontier.statistics().leased == 0


def test_a_job_goes_on_where_it_stood(tmp_path: pathlib.Path) -> None:
    job = tmp_path / "deep" / "job"
    with Frontier.open(job, robots=False, lease_timeout=None) as frontier:
        assert frontier.opening is not None and frontier.opening.is_new
        frontier.admit([Link(f"https://example.org/{page}", metadata=str(page).encode()) for page in range(3)], now=0.0)
        frontier.answer(due(frontier, 0.0), 200, links=["/more"], now=0.0)
        out = due(frontier, 1.0)
        cost = frontier.checkpoint()
        assert cost is not None and cost.bytes > 0 and cost.longest_pause <= cost.seconds
        with pytest.raises(JobLockedError, match="is locked: another process crawls into this directory"):
            Frontier.open(job)
    with pytest.raises(FrontierError, match="the frontier was closed"):
        frontier.complete(out)
    frontier.close()
    assert repr(frontier) == "<Frontier in a directory, closed>"
    with Frontier.open(str(job), robots=False) as frontier:
        assert frontier.opening is not None and frontier.opening.checkpoint is not None
        assert frontier.admit([f"https://example.org/{page}" for page in (0, 1, 2, "more")]) == ["seen"] * 4
        visits = [url for _, url in crawl(frontier, {}, now=time.time() + 10)]
        assert visits == [f"https://example.org/{page}" for page in (1, 2, "more")]
    with pytest.raises(OptionError, match="seen.capacity cannot be changed"):
        Frontier.open(job, capacity=5)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(FrontierError, match=r"notes.txt is not part of a job"):
        Frontier.open(tmp_path)
    with pytest.raises((OSError, FrontierError), match="null"):
        Frontier.open("/dev/null/x")


CRAWLER = """
import sys
from crawler_frontier import Frontier

# Pages of a tree of 300 on 5 hosts; each page's line is written after its links are queued.
def links(url):
    number = int(url.rsplit("/", 1)[1])
    return [f"https://h{child % 5}.example/{child}" for child in (2 * number + 1, 2 * number + 2) if child < 300]

done = open(sys.argv[2], "a", buffering=1)
with Frontier.open(sys.argv[1], scope="any", robots=False, host_delay=0.001, lease_timeout=None) as frontier:
    frontier.seed("https://h0.example/0")
    for number, lease in enumerate(frontier.leases()):
        done.write(lease.url + "\\n")
        frontier.answer(lease, 200, links=links(lease.url))
        if number % 50 == 49:
            frontier.checkpoint()
print("drained")
"""


def test_kill_9_loses_nothing(tmp_path: pathlib.Path) -> None:
    dice, kills = random.Random(7), 0
    while True:
        crawler = subprocess.Popen(
            [sys.executable, "-c", CRAWLER, str(tmp_path / "job"), str(tmp_path / "done")], stdout=subprocess.PIPE
        )
        try:
            # Mostly it is killed on its way; when that has happened often enough, it may end.
            output, _ = crawler.communicate(timeout=None if kills >= 12 else dice.uniform(0.05, 0.25))
            assert (crawler.returncode, output) == (0, b"drained\n")
            break
        except subprocess.TimeoutExpired:
            crawler.kill()
            crawler.communicate()
            kills += 1
    visits = Counter((tmp_path / "done").read_text().split())
    assert len(visits) == 300
    assert sum(visits.values()) <= 300 + kills, "again only what was in flight"


def test_ctrl_c_is_heard_while_it_waits() -> None:
    frontier = Frontier(robots=False, host_delay=60)
    frontier.admit(["https://example.org/a", "https://example.org/b"])
    frontier.complete(next(frontier.leases()))
    # A shell starts what runs in the background deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        frontier.lease()
    timer.join()
    signal.signal(signal.SIGINT, before)
    with pytest.raises(TimeoutError, match="no URL may be fetched yet"):
        frontier.lease(timeout=0.01)
    assert frontier.statistics().queued == 1


def test_threads_share_a_frontier(tmp_path: pathlib.Path) -> None:
    web = {
        f"https://h{page % 7}.example/{page}": [
            f"https://h{(3 * page + to) % 7}.example/{3 * page + to}" for to in range(3)
        ]
        for page in range(400)
    }
    for frontier in (
        Frontier(scope="any", robots=False, host_delay=0.0005),
        Frontier.open(tmp_path, scope="any", robots=False, host_delay=0.0005),
    ):
        visits: list[str] = []
        frontier.seed("https://h0.example/0")

        def work(frontier: Frontier = frontier, visits: list[str] = visits) -> None:
            for lease in frontier.leases():
                visits.append(lease.url)
                frontier.answer(lease, 200, links=web.get(lease.url, []))

        def keep(frontier: Frontier = frontier) -> None:
            for _ in range(5):
                frontier.checkpoint()

        workers, keeper = [threading.Thread(target=work) for _ in range(8)], threading.Thread(target=keep)
        for thread in [*workers, keeper]:
            thread.start()
        for thread in [*workers, keeper]:
            thread.join()
        reached = {"https://h0.example/0"} | {link for links in web.values() for link in links}
        assert Counter(visits) == Counter(reached)
        frontier.close()


@pytest.mark.parametrize("seed", range(10))
def test_random_acts_lose_no_url(seed: int, tmp_path: pathlib.Path) -> None:
    """Against a naive model: every URL that was found is done once at the end, whatever was dropped, released, failed or reopened."""
    dice, now = random.Random(seed), 1000.0
    options = {
        "scope": "any",
        "robots": False,
        "host_delay": 1,
        "attempts": 200,
        "host_failures": 60_000,
        "patience": "100d",
    }
    frontier = Frontier.open(tmp_path, **options)  # type: ignore[arg-type]
    found: set[str] = set()
    done: Counter[str] = Counter()
    out: list[Lease] = []
    for _ in range(400):
        now += dice.choice([0.0, 0.1, 1.0, 5.0])
        match dice.randrange(8):
            case 0:
                urls = [f"https://h{dice.randrange(6)}.example/{dice.randrange(60)}" for _ in range(dice.randrange(5))]
                for url, verdict in zip(urls, frontier.admit(urls, now=now), strict=True):
                    assert (verdict == "seen") == (url in found)
                    found.add(url)
            case 1 | 2 | 3:
                out += frontier.next_batch(dice.randrange(3), now=now)[0]
            case 4 | 5 if out:
                lease = out.pop(dice.randrange(len(out)))
                if dice.random() < 0.5:
                    frontier.answered(lease, 200, now=now)
                if frontier.complete(lease, dice.choice([200, 404, 200]), now=now) is None:
                    done[lease.url] += 1
            case 6 if out:
                lease = out.pop(dice.randrange(len(out)))
                match dice.randrange(3):
                    case 0:
                        frontier.release(lease, now=now)
                    case 1:
                        frontier.fail(lease, dice.choice(["connect", "timeout", "incomplete"]), now=now)
                    case _:
                        del lease
            case 7 if dice.random() < 0.2:
                out.clear()
                frontier.close()
                frontier = Frontier.open(tmp_path, **options)  # type: ignore[arg-type]
                now = max(now, frontier.now())
            case _:
                pass
    out.clear()
    while not isinstance(following := frontier.next(now=now), Drained):
        match following:
            case Fetch(lease):
                frontier.complete(lease, now=now)
                done[lease.url] += 1
            case Wait(until):
                now = until
            case other:
                raise AssertionError(other)
    assert done == Counter(found)
    frontier.close()
