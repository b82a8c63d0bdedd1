"""Crawlee's request queue on the frontier: its storage interface, pauses for each host, and real kills. Needs Crawlee; ``pip install crawlee``."""

from __future__ import annotations

import asyncio
import gc
import json
import pathlib
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

import pytest

pytest.importorskip("crawlee", reason="Crawlee is not installed")

from crawlee import Request, service_locator
from crawlee.configuration import Configuration
from crawlee.storage_clients import MemoryStorageClient
from crawlee.storages import Dataset, KeyValueStore, RequestQueue

from crawler_frontier import Frontier, JobLockedError, Link
from crawler_frontier.crawlee import FrontierStorageClient
from crawler_frontier.crawlee import store as store_module
from crawler_frontier.crawlee.handled import Handled, digest
from crawler_frontier.crawlee.payload import dump, load
from simulated_web import Web, tree

HERE = pathlib.Path(__file__).parent
T = TypeVar("T")


class Storage:
    """A directory, and queues in it that know no pauses unless they are told."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory

    def configuration(self, *, purges: bool = False) -> Configuration:
        return Configuration(storage_dir=str(self.directory), purge_on_start=purges)

    async def open(self, *, purges: bool = False, **given: Any) -> RequestQueue:
        names = {name: given.pop(name) for name in ("id", "name", "alias") if name in given}
        options: dict[str, Any] = {"host_delay": 0, "connections_per_host": 64, **given}
        client = FrontierStorageClient(others=MemoryStorageClient(), **options)
        return await RequestQueue.open(storage_client=client, configuration=self.configuration(purges=purges), **names)

    def reopens(self) -> None:
        """What comes next has none of the objects that were there before."""
        service_locator.storage_instance_manager.clear_cache()
        gc.collect()


@pytest.fixture
def storage(tmp_path: pathlib.Path) -> Storage:
    service_locator.storage_instance_manager.clear_cache()
    return Storage(tmp_path / "storage")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


async def drained(queue: RequestQueue) -> list[str]:
    """Handles all that may be fetched; the last parts of their URLs."""
    done: list[str] = []
    while (request := await queue.fetch_next_request()) is not None:
        done.append(request.url.rsplit("/", 1)[1])
        await queue.mark_request_as_handled(request)
    return done


async def counts(queue: RequestQueue) -> tuple[int, int, int]:
    metadata = await queue.get_metadata()
    return metadata.total_request_count, metadata.pending_request_count, metadata.handled_request_count


def urls(*pages: str) -> list[str]:
    return [f"https://example.org/{page}" for page in pages]


def test_add_duplicate_request(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        said = [await queue.add_request("https://example.org/a") for _ in range(2)]
        assert [one.was_already_present for one in said if one] == [False, True]
        assert await counts(queue) == (1, 1, 0)
        assert await drained(queue) == ["a"]
        again = await queue.add_request("https://example.org/a")
        assert again is not None and (again.was_already_present, again.was_already_handled) == (True, True)
        assert await counts(queue) == (1, 0, 1)

    run(test())


def test_unique_keys_tell_requests_apart_and_always_enqueue_is_new(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        url = "https://example.org/a"
        requests = [Request.from_url(url, unique_key=key) for key in ("one", "two", "one")]
        requests += [Request.from_url(url, always_enqueue=True) for _ in range(2)]
        await queue.add_requests(requests)
        assert await drained(queue) == ["a"] * 4

    run(test())


def test_add_requests_mixed_forefront(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        await queue.add_requests(urls("normal1", "normal2"))
        await queue.add_requests(urls("front1", "front2"), forefront=True)
        await queue.add_request("https://example.org/normal3")
        # It was looked at, and still something else goes first now.
        assert await queue.is_empty() is False
        await queue.add_request("https://example.org/front3", forefront=True)
        assert await drained(queue) == ["front3", "front1", "front2", "normal1", "normal2", "normal3"]

    run(test())


def test_a_request_that_waits_goes_to_the_front(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        await queue.add_requests(urls("a", "b", "c", "d", "five", "six"))
        await queue.add_requests(urls("front"), forefront=True)
        for handled in ("front", "a"):
            request = await queue.fetch_next_request()
            assert request is not None and request.url == urls(handled)[0]
            await queue.mark_request_as_handled(request)
        out = await queue.fetch_next_request()
        assert out is not None and out.url == urls("b")[0]
        # One is new, two wait, one is done, and one is being worked on.
        await queue.add_requests(urls("d", "new", "a", "b"), forefront=True)
        assert await counts(queue) == (8, 6, 2)
        await queue.add_requests(urls("c"))
        # The newest call goes first.
        await queue.add_request(urls("six")[0], forefront=True)
        # It was looked at, and still something else goes first now.
        assert await queue.is_empty() is False
        await queue.add_request(urls("five")[0], forefront=True)
        await queue.mark_request_as_handled(out)
        del queue
        storage.reopens()
        assert await drained(await storage.open()) == ["five", "six", "new", "d", "c"]

    run(test())


def test_a_large_request_that_waits_goes_to_the_front(storage: Storage) -> None:
    """It is in a file of its own, and another is at no URL."""

    async def test() -> None:
        queue = await storage.open()
        large = Request.from_url("https://example.org/large", user_data={"text": "x" * (1 << 20)})
        odd = Request.from_url("https://example.org/odd", unique_key="odd")
        await queue.add_requests([*urls("a", "b"), large, odd])
        await queue.add_requests([odd, large], forefront=True)
        assert await drained(queue) == ["large", "odd", "a", "b"]

    run(test())


def test_reclaim_request_with_change_state(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        await queue.add_requests(urls("a", "b"))
        request = await queue.fetch_next_request()
        assert request is not None
        request.user_data["state"], request.retry_count = "modified", 3
        reclaimed = await queue.reclaim_request(request)
        assert reclaimed is not None and not reclaimed.was_already_handled
        assert await queue.reclaim_request(request) is None and await counts(queue) == (2, 2, 0)
        other, again = await queue.fetch_next_request(), await queue.fetch_next_request()
        assert other is not None and again is not None
        assert (other.url, again.url) == tuple(urls("b", "a"))
        assert (again.user_data["state"], again.retry_count) == ("modified", 3)
        await queue.reclaim_request(other)
        await queue.reclaim_request(again, forefront=True)
        assert await drained(queue) == ["a", "b"]

    run(test())


def test_get_request_by_id(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        keys = [f"ключ {n} \"\\\n" for n in range(3)]
        await queue.add_requests([Request.from_url("https://example.org/", unique_key=key) for key in keys])
        first = await queue.fetch_next_request()
        second = await queue.fetch_next_request()
        assert first is not None and second is not None
        await queue.mark_request_as_handled(first)
        # Handled, being worked on, and waiting.
        for key in keys:
            found = await queue.get_request(key)
            assert found is not None and found.unique_key == key
        handled = await queue.get_request(keys[0])
        assert handled is not None and handled.handled_at is not None
        # Another one has such a text within.
        nested = Request.from_url("https://example.org/", unique_key="n", user_data={"of": {"unique_key": keys[0], "n": 1}})
        await queue.add_request(nested, forefront=True)
        fetched = await queue.fetch_next_request()
        assert fetched is not None
        await queue.mark_request_as_handled(fetched)
        assert await queue.get_request(keys[0]) == handled
        assert await queue.get_request("non-existent-id") is None
        assert await queue.get_request("") is None

    run(test())


def test_mark_and_reclaim_non_existent_request(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        await queue.add_request("https://example.org/waits")
        for url in urls("waits", "never"):
            request = Request.from_url(url)
            assert await queue.mark_request_as_handled(request) is None
            assert await queue.reclaim_request(request) is None

    run(test())


def test_is_empty_and_is_finished(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        assert (await queue.is_empty(), await queue.is_finished()) == (True, True)
        await queue.add_request("https://example.org/a")
        assert (await queue.is_empty(), await queue.is_finished()) == (False, False)
        request = await queue.fetch_next_request()
        assert request is not None
        assert (await queue.is_empty(), await queue.is_finished()) == (True, False)
        await queue.mark_request_as_handled(request)
        assert (await queue.is_empty(), await queue.is_finished()) == (True, True)

    run(test())


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long each look at a queue meant to wait for a change, in seconds."""
    asked: list[float] = []
    wait = store_module.Store.wait

    async def recorded(store: store_module.Store, timeout: float) -> None:
        asked.append(timeout)
        await wait(store, timeout)

    monkeypatch.setattr(store_module.Store, "wait", recorded)
    return asked


def test_a_host_that_rests_is_empty_and_not_finished(storage: Storage, waits: list[float]) -> None:
    async def test() -> None:
        queue = await storage.open(host_delay=30, connections_per_host=1)
        await queue.add_requests(urls("a", "b"))
        request = await queue.fetch_next_request()
        assert request is not None and await queue.fetch_next_request() is None
        await queue.mark_request_as_handled(request)
        assert await queue.fetch_next_request() is None
        assert (await queue.is_empty(), await queue.is_finished()) == (True, False)
        assert waits == []
        # Another host is not made to wait for it, nor by a look that waits for a host that is due soon.
        await queue.add_request("https://example.com/c")
        assert await queue.is_empty() is False

    run(test())


def test_is_empty_waits_for_a_host_that_is_due_soon(
    storage: Storage, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        queue = await storage.open(host_delay=0.2, connections_per_host=1)
        await queue.add_requests(urls("a", "b", "c"))
        request = await queue.fetch_next_request()
        assert request is not None
        await queue.mark_request_as_handled(request)
        assert await queue.is_empty() is False
        # A busy machine may leave nothing to wait for, or wake it early.
        assert all(wait <= 0.2 for wait in waits)
        request = await queue.fetch_next_request()
        assert request is not None and request.url.endswith("/b")
        await queue.mark_request_as_handled(request)
        # What comes meanwhile ends the wait, which nothing else ends here.
        wait = store_module.Store.wait

        async def forever(store: store_module.Store, timeout: float) -> None:
            await wait(store, 3600)

        monkeypatch.setattr(store_module.Store, "wait", forever)
        looking = asyncio.create_task(queue.is_empty())
        await asyncio.sleep(0)
        await queue.add_request("https://example.com/d")
        assert await asyncio.wait_for(looking, 60) is False

    run(test())


def test_a_blocked_session_makes_its_host_rest(storage: Storage) -> None:
    async def blocked(**options: Any) -> float | None:
        queue = await storage.open(alias=f"a{len(options)}", backoff=60, **options)
        await queue.add_requests(urls("a", "b"))
        request = await queue.fetch_next_request()
        assert request is not None
        request.session_rotation_count = 1
        await queue.reclaim_request(request)
        found = await queue.fetch_next_request()
        assert await queue.is_finished() is False
        return None if found is None else found.retry_count

    assert run(blocked()) is None
    assert run(blocked(rest_when_blocked=False)) == 0


def test_open_by_id_name_and_alias(storage: Storage) -> None:
    async def test() -> None:
        named = await storage.open(name="known")
        default, other = await storage.open(), await storage.open(alias="other")
        assert (named.name, default.name, other.name) == ("known", None, None)
        assert len({named.id, default.id, other.id}) == 3
        await named.add_request("https://example.org/named")
        identity = named.id
        del named, default, other
        storage.reopens()
        found = await storage.open(id=identity)
        assert (found.id, found.name) == (identity, "known") and await drained(found) == ["named"]
        with pytest.raises(ValueError, match='Request queue with ID "none" not found'):
            await storage.open(id="none")
        client = FrontierStorageClient()
        for bad in ("../outside", "..", "/abs/outside", "a/b"):
            with pytest.raises(ValueError, match="Invalid storage name or alias"):
                await client.create_rq_client(alias=bad, configuration=storage.configuration())
        with pytest.raises(ValueError, match=r'Only one of .* were specified: "id", "alias"'):
            await client.create_rq_client(id="a", alias="b", configuration=storage.configuration())
        assert not (storage.directory.parent / "outside").exists()

    run(test())


def test_purge_and_drop(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open(name="a")
        await queue.add_requests(urls("a", "b", "c"))
        fetched = await queue.fetch_next_request()
        assert fetched is not None and await queue.is_empty() is False
        identity = queue.id
        await queue.purge()
        assert (queue.id, await counts(queue)) == (identity, (0, 0, 0)) and await queue.is_finished()
        # What was out before the purge is nobody's.
        assert await queue.mark_request_as_handled(fetched) is None
        await queue.add_request("https://example.org/a")
        assert await drained(queue) == ["a"]
        directory = storage.directory / "request_queues" / "a"
        assert directory.exists()
        await queue.drop()
        assert not directory.exists()
        await queue.drop()
        new = await storage.open(name="a")
        assert new.id != identity and await counts(new) == (0, 0, 0)

    run(test())


@pytest.mark.parametrize("purges", [True, False])
def test_purge_on_start(storage: Storage, purges: bool) -> None:
    async def fill() -> None:
        for names in ({}, {"alias": "b"}, {"name": "c"}):
            queue = await storage.open(purges=purges, **names)
            await queue.add_requests(urls("a", "b", "c"))
            request = await queue.fetch_next_request()
            assert request is not None
            await queue.mark_request_as_handled(request)
            await queue.fetch_next_request()

    async def test() -> None:
        await fill()
        storage.reopens()
        kept, left = (3, 2, 1), (0, 0, 0) if purges else (3, 2, 1)
        for names, expected in (({}, left), ({"alias": "b"}, left), ({"name": "c"}, kept)):
            queue = await storage.open(purges=purges, **names)
            assert await counts(queue) == expected
            # The one that was out is back; the one that was handled stays handled.
            assert await drained(queue) == ([] if expected == left != kept else ["b", "c"])
            said = await queue.add_request("https://example.org/a")
            assert said is not None and said.was_already_handled == (expected == kept)

    run(test())


def test_what_a_client_had_out_comes_back_when_it_is_gone(storage: Storage) -> None:
    async def test() -> None:
        client = FrontierStorageClient(host_delay=0)
        first = await client.create_rq_client(alias="a", configuration=storage.configuration())
        second = await client.create_rq_client(alias="a", configuration=storage.configuration())
        await first.add_batch_of_requests([Request.from_url("https://example.org/a")])
        assert await first.fetch_next_request() is not None and await second.fetch_next_request() is None
        assert await second.is_finished() is False
        with pytest.raises(ValueError, match="open with other options"):
            await FrontierStorageClient(host_delay=1).create_rq_client(alias="a", configuration=storage.configuration())
        del first
        gc.collect()
        assert await second.fetch_next_request() is not None

    run(test())


def test_datasets_and_key_value_stores_are_the_other_clients(storage: Storage) -> None:
    async def test() -> None:
        client = FrontierStorageClient()
        configuration = storage.configuration()
        dataset = await Dataset.open(storage_client=client, configuration=configuration)
        await dataset.push_data({"a": 1})
        values = await KeyValueStore.open(storage_client=client, configuration=configuration)
        await values.set_value("key", "value")
        assert (storage.directory / "datasets" / "default" / "000000001.json").exists()
        assert (storage.directory / "key_value_stores" / "default").exists()
        assert (await dataset.get_data()).items == [{"a": 1}] and await values.get_value("key") == "value"

    run(test())
    with pytest.raises(ValueError, match="respect_robots_txt_file=True"):
        FrontierStorageClient(robots=True)


REQUESTS = {
    "plain": Request.from_url("https://example.org/"),
    "post": Request.from_url("https://example.org/", method="POST", payload="q=größe", use_extended_unique_key=True),
    "bytes": Request.from_url("https://example.org/", method="POST", payload=b"\xff\x00", headers={"a": "b"}),
    "marked": Request.from_url("https://example.org/", label="DETAIL", max_retries=2, enqueue_strategy="all"),
    "no ascii": Request.from_url("https://пример.example/ü", user_data={"a": "記録三", "b": [1, None, {"c": 2.5}]}),
    "session": Request.from_url("https://example.org/#x", session_id="s", keep_url_fragment=True, no_retry=True),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_what_crawlee_would_make_of_it(name: str, storage: Storage) -> None:
    request = REQUESTS[name]
    # As its file system client keeps one; which cannot keep a body that is no text.
    kept = json.loads(json.dumps(request.model_dump(exclude={"payload"})))
    assert load(dump(request)) == Request.model_validate({**kept, "payload": request.payload})
    assert b"\n" not in dump(request)

    async def test() -> None:
        queue = await storage.open()
        await queue.add_request(request)
        fetched = await queue.fetch_next_request()
        assert fetched is not None and fetched == load(dump(request))
        assert (fetched.url, fetched.method, fetched.payload) == (request.url, request.method, request.payload)

    run(test())


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_what_json_has_no_word_for_becomes_text() -> None:
    request = Request.from_url("https://example.org/")
    given: Any = {"when": datetime(2026, 1, 1), "object": Storage}
    request.user_data.update(given)
    read = load(dump(request)).user_data
    assert "Storage" in str(read["object"]) and str(read["when"]).startswith("2026-01-01")


def test_a_request_of_megabytes_has_a_file(storage: Storage) -> None:
    async def test() -> None:
        queue = await storage.open()
        large = Request.from_url("https://example.org/", method="POST", payload="x" * 3_000_000)
        await queue.add_request(large)
        # One that was seen leaves the file as it is.
        await queue.add_request(Request.from_url("https://example.org/", method="POST", payload="y" * 3_000_000))
        files = storage.directory / "request_queues" / "default" / "large"
        assert len(list(files.iterdir())) == 1
        request = await queue.fetch_next_request()
        assert request is not None and request.payload == large.payload
        request.retry_count = 1
        await queue.reclaim_request(request)
        request = await queue.fetch_next_request()
        assert request is not None and (request.payload, request.retry_count) == (large.payload, 1)
        await queue.mark_request_as_handled(request)
        assert not list(files.iterdir())
        found = await queue.get_request(large.unique_key)
        assert found is not None and found.payload == large.payload

    run(test())


def test_a_request_that_cannot_be_read_is_left_out(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        queue = await storage.open()
        await queue.add_requests(urls("a"))
        await queue.add_request(Request.from_url("https://example.org/b", payload="x" * 2_000_000, method="POST"))
        for file in (storage.directory / "request_queues" / "default" / "large").iterdir():
            file.write_bytes(b"{")
        assert await drained(queue) == ["a"]
        assert await counts(queue) == (1, 0, 1)

    run(test())
    assert "https://example.org/b cannot be read any more, and is left out" in caplog.text


def test_a_torn_end_of_the_handled_files_is_mended(storage: Storage) -> None:
    async def handle() -> list[str]:
        queue = await storage.open()
        await queue.add_requests(urls("a", "b", "c"))
        request = await queue.fetch_next_request()
        assert request is not None
        await queue.mark_request_as_handled(request)
        return [request.unique_key]

    async def test(keys: list[str]) -> None:
        directory = storage.directory / "request_queues" / "default"
        for name, torn in (("handled.keys", b"1234567"), ("handled.jsonl", b'{"unique_key":"http')):
            with (directory / name).open("ab") as file:
                file.write(torn)
        queue = await storage.open()
        assert (await counts(queue))[2] == 1 and await drained(queue) == ["b", "c"]
        for key in [*keys, *urls("b", "c")]:
            found = await queue.get_request(key)
            assert found is not None and found.unique_key == key

    async def again() -> None:
        queue = await storage.open()
        assert (await counts(queue)) == (3, 0, 3)
        said = [await queue.add_request(url) for url in urls("a", "b", "c")]
        assert all(one is not None and one.was_already_handled for one in said)

    keys = run(handle())
    storage.reopens()
    run(test(keys))
    storage.reopens()
    run(again())


def test_a_disk_without_room_leaves_no_half_of_a_handled_request(tmp_path: pathlib.Path) -> None:
    handled = Handled(tmp_path)
    handled.add(digest("a"), b'{"unique_key":"a",}')
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        # The line would fit in half.
        resource.setrlimit(resource.RLIMIT_FSIZE, (30, hard))
        with pytest.raises(OSError):
            handled.add(digest("b"), b'{"unique_key":"b",}')
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert len(handled) == 1 and handled.find("b") is None
    handled.add(digest("c"), b'{"unique_key":"c",}')
    assert handled.find("c") == b'{"unique_key":"c",}'
    handled.close()
    again = Handled(tmp_path)
    assert len(again) == 2 and digest("c") in again and digest("b") not in again
    again.close()


def test_a_kill_between_two_writes_repeats_no_request(storage: Storage) -> None:
    first, second, third = (Request.from_url(url) for url in urls("a", "b", "c"))
    path = storage.directory / "request_queues" / "default"

    async def add() -> None:
        queue = await storage.open()
        await queue.add_requests([first, second, third])

    run(add())
    storage.reopens()
    # The first was being handled: the frontier had not been told. The second was being reclaimed: it is there twice.
    with (path / "handled.keys").open("ab") as file:
        file.write(digest(first.unique_key))
    with Frontier.open(path / "frontier", **store_module.OPTIONS) as frontier:
        payload = b"J" + dump(second)
        frontier.admit(
            [Link(second.url, metadata=payload, identity=digest(second.unique_key), unconditional=True, depth=1)] * 2
        )
        assert len(frontier) == 5

    async def test() -> None:
        queue = await storage.open()
        assert await queue.get_request(second.unique_key) is not None
        out = await queue.fetch_next_request()
        assert out is not None and out.url == second.url
        # While it is being worked on, it is not there a second time; nor later.
        rest = await queue.fetch_next_request()
        assert rest is not None and rest.url == third.url and await queue.fetch_next_request() is None
        await queue.mark_request_as_handled(out)
        assert await queue.fetch_next_request() is None and not await queue.is_finished()
        await queue.mark_request_as_handled(rest)
        assert await counts(queue) == (3, 0, 3)

    run(test())


def test_a_checkpoint_is_written_from_time_to_time(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "_CHECKPOINT", 0.0)

    async def test() -> None:
        queue = await storage.open()
        await queue.add_requests(urls("a", "b"))
        assert await drained(queue) == ["a", "b"]

    run(test())
    storage.reopens()
    for thread in threading.enumerate():
        if thread.name == "crawler-frontier checkpoint":
            thread.join()
    path = storage.directory / "request_queues" / "default"
    assert json.loads((path / "__metadata__.json").read_text())["total_request_count"] == 2
    with Frontier.open(path / "frontier", **store_module.OPTIONS) as frontier:
        assert frontier.opening is not None and frontier.opening.checkpoint is not None
        assert frontier.statistics().completed == 2


def test_two_processes_cannot_have_one_queue(storage: Storage) -> None:
    async def test() -> None:
        await storage.open()

    storage.directory.mkdir(parents=True)
    path = storage.directory / "request_queues" / "default"
    with Frontier.open(path / "frontier", **store_module.OPTIONS), pytest.raises(JobLockedError):
        run(test())
    run(test())


# Real processes.


class Crawl:
    """A crawler and its files."""

    def __init__(self, directory: pathlib.Path, **settings: Any) -> None:
        self.directory = directory
        self.settings = {"directory": str(directory), **settings}

    def start(self, name: str, **settings: Any) -> subprocess.Popen[str]:
        command = [sys.executable, str(HERE / "crawlee_crawlers.py"), name, json.dumps({**self.settings, **settings})]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, name: str) -> None:
        process = self.start(name)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0, output

    def lines(self, name: str) -> list[str]:
        path = self.directory / name
        return path.read_text().splitlines() if path.exists() else []


@pytest.mark.skipif(sys.platform != "linux", reason="its hosts are addresses of loopback")
def test_each_of_150_hosts_is_paced(tmp_path: pathlib.Path) -> None:
    hosts, pages, delay = 150, 3, 0.3
    with Web(hosts, tree(0, 1)).running() as web:
        seeds = [[host, f"/p/{page}"] for page in range(pages) for host in range(hosts)]
        options = {"host_delay": delay}
        Crawl(tmp_path, port=web.port, seeds=seeds, options=options).run("tree")
        assert len(web.log) == hosts
        assert all(sorted(path for _, path in log) == ["/p/0", "/p/1", "/p/2"] for log in web.log.values())
        # The server's clock may see two requests some milliseconds closer than they were sent.
        assert len(web.gaps()) == hosts * (pages - 1) and min(web.gaps()) >= delay - 0.02


@pytest.mark.skipif(sys.platform != "linux", reason="its hosts are addresses of loopback")
def test_kill_9_of_a_crawler_loses_no_page_and_repeats_none(tmp_path: pathlib.Path) -> None:
    pages, dice = 150, random.Random(5)
    with Web(3, tree(pages, 3), latency=0.005).running() as web:
        options = {"host_delay": 0.01, "connections_per_host": 2}
        crawl = Crawl(tmp_path, port=web.port, seeds=[[0, "/p/0"]], options=options)
        kills: list[tuple[set[str], int]] = []
        for _ in range(3):
            process, before = crawl.start("tree"), len(crawl.lines("done"))
            # Python's and Crawlee's own start is not what is killed.
            while len(crawl.lines("done")) < before + dice.randint(5, 30) and process.poll() is None:
                time.sleep(0.01)
            process.kill()
            process.communicate()
            kills.append((set(crawl.lines("marked")), len(crawl.lines("started"))))
        crawl.run("tree")
        started = crawl.lines("started")
        assert kills[0][0] and all(not marked & set(started[before:]) for marked, before in kills)
        done = Counter(int(url.rsplit("/", 1)[1]) for url in crawl.lines("done"))
        assert sorted(done) == list(range(pages))
        # What was in flight at a kill may come again.
        assert sum(done.values()) <= pages + 3 * 6


def test_kill_9_leaves_what_had_returned(tmp_path: pathlib.Path) -> None:
    dice = random.Random(9)
    crawl = Crawl(tmp_path, options={"host_delay": 0, "connections_per_host": 64})
    added: set[str] = set()
    for kill in range(5):
        process = crawl.start("churn", first=kill * 1_000_000)
        least = len(crawl.lines("handled")) + dice.randint(1, 200)
        while len(crawl.lines("handled")) < least:
            assert process.poll() is None, process.communicate()
            time.sleep(0.001)
        process.kill()
        process.communicate()
        added = {page for line in crawl.lines("added") for page in line.split()}
    handled = crawl.lines("handled")
    assert len(handled) == len(set(handled))

    async def rest() -> tuple[list[str], list[str]]:
        client = FrontierStorageClient(host_delay=0, connections_per_host=64)
        configuration = Configuration(storage_dir=str(tmp_path / "storage"), purge_on_start=False)
        queue = await RequestQueue.open(storage_client=client, configuration=configuration)
        left = await drained(queue)
        # A request that was handled as the kill came had no time to say so.
        silent = sorted(added - set(left) - set(handled))
        said = [await queue.add_request(url) for url in urls(*silent)]
        assert all(one is not None and one.was_already_handled for one in said), silent
        return left, silent

    left, silent = run(rest())
    assert len(left) == len(set(left)) and not set(left) & set(handled) and len(silent) <= 5
