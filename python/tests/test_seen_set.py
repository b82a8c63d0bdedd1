"""The seen set: as a set, as a filter, in a file, by threads."""

from __future__ import annotations

import copy
import itertools
import json
import os
import pathlib
import pickle
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawler_frontier import (
    AddressError,
    Canonicalizer,
    CrawlerError,
    Key,
    OptionError,
    SeenError,
    SeenSet,
    SnapshotError,
    Url,
)

LAYOUTS = ["blocked", "quotient", "standard", "partitioned", "counting", "exact", "verified"]
FORGETFUL = ["counting", "exact"]


@pytest.fixture
def make(tmp_path: pathlib.Path) -> Callable[..., SeenSet]:
    """Makes a set; of the verified layout, in a directory of this test."""
    return lambda *args, **options: SeenSet(*args, directory=tmp_path, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_new_is_said_once(make: Callable[..., SeenSet], layout: str) -> None:
    seen = make(1000, layout=layout)
    assert seen.layout == layout
    assert (seen.add("http://a.org/"), seen.add("http://a.org/")) == (True, False)
    assert "http://a.org/" in seen
    assert "http://a.org/b" not in seen
    assert len(seen) == 1
    assert not SeenSet(10)
    assert seen


def test_spellings_are_one_url_and_bytes_are_what_they_are() -> None:
    seen = SeenSet(1000)
    assert seen.add("HTTP://A.org:80/%7eann?b=1&a=2&utm_source=x#top")
    assert not seen.add("http://a.org/~ann?a=2&b=1")
    assert not seen.add(Url("http://a.org/~ann?a=2&b=1"))
    # A key's bytes are the key.
    assert not seen.add(b"http://a.org/~ann?a=2&b=1")
    assert seen.add(b"HTTP://A.org:80/")
    other = SeenSet(1000, canonicalizer=Canonicalizer(drop_tracking=False))
    assert other.add("http://a.org/?utm_source=x") and other.add("http://a.org/")


def test_raw_texts_are_what_they_are() -> None:
    seen = SeenSet(1000, raw=True)
    texts: list[str | bytes] = ["ann", "Ann", "", "ann ", "ann", "né", "né".encode()]
    assert [seen.add(text) for text in texts] == [True, True, True, True, False, True, False]
    assert seen.raw and not SeenSet(10).raw


def test_what_is_no_item_is_refused() -> None:
    seen = SeenSet(1000)
    cases: list[tuple[Any, type[Exception]]] = [
        ("mailto:ann", AddressError),
        ("http://[", AddressError),
        (7, TypeError),
        (None, TypeError),
    ]
    for bad, error in cases:
        with pytest.raises(error):
            seen.add(bad)
        with pytest.raises(error):
            assert bad in seen
    with pytest.raises(UnicodeEncodeError):
        SeenSet(10, raw=True).add("\ud800")
    assert issubclass(AddressError, ValueError) and issubclass(AddressError, CrawlerError)
    # A text alone would be taken for a list of its letters.
    alone: list[Any] = ["http://a.org/", b"http://a.org/"]
    for one in alone:
        with pytest.raises(TypeError, match="use add"):
            seen.add_many(one)
        with pytest.raises(TypeError, match="use add"):
            seen.update(one)
    with pytest.raises(TypeError):
        seen.add_many(7)  # type: ignore[arg-type]
    assert len(seen) == 0


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("bad", ["\ud800", 7, "mailto:ann"])
def test_a_bad_item_changes_nothing(raw: bool, bad: Any) -> None:
    if raw and bad == "mailto:ann":
        return
    seen = SeenSet(100_000, raw=raw)
    before = seen.to_bytes()
    urls = [f"http://a.org/{n}" for n in range(20_000)]
    for place in [0, 10_000, 20_000]:
        with pytest.raises((ValueError, TypeError)) as raised:
            seen.add_many([*urls[:place], bad, *urls[place:]])
        told = str(raised.value) + "".join(getattr(raised.value, "__notes__", []))
        assert f"item {place}" in told or not hasattr(raised.value, "add_note")
        assert seen.to_bytes() == before
    assert sum(seen.add_many(urls)) == 20_000


def test_bad_items_can_be_skipped() -> None:
    seen = SeenSet(1000)
    links = ["mailto:a", "http://a.org/", "http://a.org/#b", "javascript:", "http://b.org/", "tel:1"]
    assert list(seen.add_many(links, errors="skip")) == [2, 1, 0, 2, 1, 2]
    assert list(seen.contains_many([*links, "http://c.org/"], errors="skip")) == [2, 1, 1, 2, 1, 2, 0]
    with pytest.raises(OptionError, match="errors = ignore"):
        seen.add_many(links, errors="ignore")  # type: ignore[arg-type]
    # Half a character is no mistake of a page.
    with pytest.raises(UnicodeEncodeError):
        seen.add_many(["\ud800"], errors="skip")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shards", [1, 16, 64])
def test_batches_answer_as_single_tests(make: Callable[..., SeenSet], layout: str, shards: int) -> None:
    texts = [f"item {n * n % 30_011}" for n in range(40_000)]
    one, batch = [make(1000, 0.1, layout=layout, raw=True, shards=shards) for _ in range(2)]
    single = bytes(one.add(text) for text in texts)
    assert batch.add_many(texts) == single
    assert batch.contains_many(texts) == bytes([1]) * len(texts)
    assert len(one) == len(batch) == sum(single)


def test_any_iterable_is_a_list() -> None:
    for items in [("a", "b", "a"), iter(["a", "b", "a"]), {"a": 1, "b": 2}, {"a", "b"}]:
        seen = SeenSet(100, raw=True)
        assert sum(seen.add_many(items)) == 2
    assert seen.add_many([]) == b""
    known = SeenSet(100_000, raw=True)
    known.update((f"{n}" for n in range(50_000)), ["x"], ("y",), [])
    assert len(known) > 49_900 and "49999" in known and "x" in known and "y" in known
    assert list(itertools.compress("abca", SeenSet(10, raw=True).add_many(list("abca")))) == ["a", "b", "c"]


@given(st.lists(st.tuples(st.sampled_from("adru"), st.integers(0, 40)), max_size=200))
@settings(max_examples=60, deadline=None)
def test_the_exact_layout_is_a_set(actions: list[tuple[str, int]]) -> None:
    seen, model = SeenSet(50, layout="exact", raw=True), set[str]()
    for action, number in actions:
        item = str(number)
        if action == "a":
            assert seen.add(item) == (item not in model)
            model.add(item)
        elif action == "d":
            seen.discard(item)
            model.discard(item)
        elif action == "r" and item not in model:
            with pytest.raises(KeyError):
                seen.remove(item)
        elif action == "r":
            seen.remove(item)
            model.remove(item)
        else:
            seen.update([item, item + "!"])
            model |= {item, item + "!"}
        assert len(seen) == len(model)
    assert all((str(n) in seen) == (str(n) in model) for n in range(41))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_only_some_layouts_forget(make: Callable[..., SeenSet], layout: str) -> None:
    seen = make(100, layout=layout)
    seen.add("http://a.org/")
    if layout in FORGETFUL:
        seen.remove("http://a.org/")
        assert seen.add("http://a.org/")
    else:
        with pytest.raises(SeenError, match=f"the {layout} layout cannot remove"):
            seen.discard("http://a.org/")


@pytest.mark.parametrize("layout", [layout for layout in LAYOUTS if layout != "counting"])
def test_unions(make: Callable[..., SeenSet], layout: str) -> None:
    one, other = make(1000, layout=layout, raw=True), make(1000, layout=layout, raw=True)
    one.update(["a", "b"])
    other.update(["b", "c"])
    both = one | other
    assert [item in both for item in "abcd"] == [True, True, True, False]
    assert "c" not in one and "a" not in other
    name = one
    one |= other
    assert one is name and "c" in one and len(one) == 3
    one |= one
    one.update(one)
    assert len(one) == 3


def test_sets_that_differ_are_not_united() -> None:
    base = SeenSet(1000, raw=True)
    base.add("a")
    before = base.to_bytes()
    others = [SeenSet(2000), SeenSet(1000, layout="exact"), SeenSet(1000, shards=4), SeenSet(1000, key=Key(1))]
    for other in others:
        other.add(b"b")
        for unite in (base.__ior__, base.update, base.__or__):
            with pytest.raises(SnapshotError):
                unite(other)
    with pytest.raises(TypeError):
        _ = base | {"b"}  # type: ignore[operator]
    assert base.to_bytes() == before


@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_comes_back_from_its_file(tmp_path: pathlib.Path, make: Callable[..., SeenSet], layout: str) -> None:
    seen = make(1000, layout=layout, key=Key(7))
    seen.add_many([f"http://a.org/{n}" for n in range(3000)])
    path = tmp_path / "seen.bin"
    seen.save(path)
    for known in [
        SeenSet.load(path),
        SeenSet.load(str(path)),
        SeenSet.from_bytes(seen.to_bytes(), directory=tmp_path),
        pickle.loads(pickle.dumps(seen)),
        copy.copy(seen),
        copy.deepcopy(seen),
        seen.copy(),
    ]:
        assert (len(known), known.key, known.layout, known.capacity) == (len(seen), Key(7), layout, 1000)
        assert not any(known.add_many([f"http://A.org:80/{n}" for n in range(3000)]))
    assert [file.name for file in tmp_path.iterdir()] == ["seen.bin"]


def test_a_raw_set_is_pickled_as_one() -> None:
    seen = SeenSet(100, raw=True)
    seen.add("Ann")
    again = pickle.loads(pickle.dumps(seen))
    assert again.raw and "Ann" in again and again.add("ann")
    rules = Canonicalizer(drop_tracking=False)
    again = pickle.loads(pickle.dumps(SeenSet(100, canonicalizer=rules)))
    assert again.add("http://a.org/?utm_source=x") and again.add("http://a.org/")


def test_files_that_are_none_are_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "seen.bin"
    with pytest.raises(FileNotFoundError) as missing:
        SeenSet.load(path)
    assert missing.value.filename == str(path) and missing.value.errno == 2
    path.write_bytes(b"<html>")
    with pytest.raises(SnapshotError, match="seen.bin"):
        SeenSet.load(path)
    good = SeenSet(1000).to_bytes()
    for bad in [good[:-1], good + b"x", good[:100] + b"\xff" + good[101:]]:
        with pytest.raises(SnapshotError):
            SeenSet.from_bytes(bad)
    with pytest.raises(IsADirectoryError):
        SeenSet(10).save(tmp_path)
    with pytest.raises(FileNotFoundError):
        SeenSet(10).save(tmp_path / "none" / "seen.bin")
    with pytest.raises(CrawlerError):
        SeenSet.load(tmp_path)  # A directory that is no job.
    with pytest.raises(TypeError, match="needs a path"):
        SeenSet(10).save()


def test_a_with_block_saves_at_its_end(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "seen.bin"
    with SeenSet.open(path, capacity=100) as seen:
        assert seen.add("http://a.org/")
        with pytest.raises(OSError, match="busy"):
            SeenSet.open(path)
        assert not path.exists()
        seen.save()
        assert len(SeenSet.load(path)) == 1
        assert seen.add("http://a.org/b")
    with pytest.raises(RuntimeError), SeenSet.open(path) as seen:
        assert (seen.capacity, len(seen)) == (100, 2)
        assert seen.add("http://a.org/c")
        raise RuntimeError
    with SeenSet.open(path) as seen:
        assert len(seen) == 2, "what came in a block that failed comes again"
    with pytest.raises(TypeError), SeenSet.open(path, capacty=7):  # type: ignore[call-arg]
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["seen.bin"]
    # Without `open` there is nothing to save.
    with SeenSet(10) as seen:
        seen.add("http://a.org/")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_any_number_of_threads_gets_the_same_answers(make: Callable[..., SeenSet], layout: str, threads: int) -> None:
    texts = [f"item {n}" for n in range(12_000)]
    seen = make(20_000, layout=layout, raw=True)
    answers = [b""] * threads
    barrier = threading.Barrier(threads)

    def show(thread: int) -> None:
        barrier.wait()
        mine = [seen.add(text) for text in texts[:3000]]
        answers[thread] = bytes(mine) + seen.add_many(texts[3000:])

    crew = [threading.Thread(target=show, args=(thread,)) for thread in range(threads)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    news = [sum(answer[place] for answer in answers) for place in range(len(texts))]
    assert max(news) == 1, "new is said once"
    assert sum(news) == len(seen) >= 11_990
    alone = make(20_000, layout=layout, raw=True)
    alone.add_many(texts)
    assert alone.contains_many(texts) == seen.contains_many(texts)
    if threads == 1 or layout in ("exact", "verified"):
        assert len(alone) == len(seen)


def test_other_threads_run_while_a_batch_does() -> None:
    seen = SeenSet(100_000)
    urls = [f"http://a.org/{n}?b={n}&a=1" for n in range(300_000)]
    done = threading.Event()
    turns = 0

    def add() -> None:
        seen.add_many(urls)
        done.set()

    thread = threading.Thread(target=add)
    thread.start()
    while not done.is_set():
        turns += 1
        seen.add("http://b.org/")
    thread.join()
    assert turns > 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"capacity": 0}, "capacity = 0: at least 1 URL"),
        ({"rate": 0.0}, "false_positive_rate = 0: above 0 and below 1"),
        ({"rate": float("nan")}, "false_positive_rate = NaN"),
        ({"shards": 3}, "shards = 3: a power of two from 1 to 65536"),
        ({"layout": "round"}, "layout = round: one of blocked, "),
        ({"on_full": "burst"}, "on_full = burst: one of grow, stop, warn"),
        ({"audit": 3}, "audit = 3"),
        ({"probes": 8}, "probes = 8: only with bits_per_url"),
        ({"layout": "exact", "identity_bits": 8}, "identity_bits = 8: from 16 to 56"),
        ({"layout": "verified"}, "directory = none"),
        ({"layout": "quotient", "rate": 1e-13}, "at least 1e-12 in the quotient layout"),
        ({"raw": True, "canonicalizer": Canonicalizer()}, "canonicalizer = given"),
    ],
)
def test_options_out_of_their_range_are_named(options: dict[str, object], words: str) -> None:
    with pytest.raises(OptionError) as error:
        SeenSet(**options)  # type: ignore[arg-type]
    assert words in str(error.value)


def test_what_cannot_be_had_is_refused() -> None:
    with pytest.raises(SeenError, match="more than this machine gives"):
        SeenSet(10**16)
    for capacity in [-1, 2**64, "10"]:
        with pytest.raises((OverflowError, TypeError)):
            SeenSet(capacity)  # type: ignore[arg-type]


def test_a_set_that_may_not_grow_says_that_it_is_full() -> None:
    seen = SeenSet(1000, on_full="stop", shards=1, raw=True)
    assert not seen.is_full
    seen.update(f"{n}" for n in range(2000))
    assert seen.is_full


def test_statistics_and_plan() -> None:
    seen = SeenSet(1000, 0.01, raw=True, shards=4)
    seen.update(f"{n % 700}" for n in range(1000))
    statistics = seen.statistics()
    merged = statistics["merged"]
    assert (merged["tests"], merged["capacity"], len(statistics["shards"])) == (1000, 1000, 4)
    assert merged["inserted"] == len(seen) and merged["bytes"] == seen.nbytes
    audit = merged["audit"]
    assert audit is not None and audit["sample"] == 1 and audit["shown"] == 700
    rows = SeenSet.plan(10_000_000, 1e-4)
    blocked = next(row for row in rows if row["name"] == "blocked")
    assert 28_000_000 < blocked["bytes"] < 30_000_000 and blocked["is_layout"]
    for bad in [{"urls": 0}, {"urls": 10, "rate": 1.0}]:
        with pytest.raises(OptionError):
            SeenSet.plan(**bad)  # type: ignore[arg-type]


def test_it_can_be_read() -> None:
    seen = SeenSet(10_000_000)
    seen.add("http://a.org/")
    assert repr(seen).startswith("<SeenSet of 1: blocked, sized for 10,000,000 at 1e-4, ")
    assert repr(SeenSet(raw=True)).startswith("<SeenSet of 0: raw, blocked, growing from 1,000,000 at 1e-4, ")
    assert repr(SeenSet(10, layout="exact")).startswith("<SeenSet of 0: exact, sized for 10, ")


@pytest.mark.skipif("CRAWLER" not in os.environ, reason="the command is elsewhere")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_are_those_of_the_command(tmp_path: pathlib.Path, make: Callable[..., SeenSet], layout: str) -> None:
    def crawler(*words: str, lines: str = "") -> str:
        command = [os.environ["CRAWLER"], "seen", *words]
        done = subprocess.run(command, cwd=tmp_path, input=lines, capture_output=True, text=True, check=True)
        return done.stdout

    urls = "http://a.org/\nhttp://b.org/%7Eann?b=1&a=2\n"
    crawler("build", "theirs", "--seen", layout, lines=urls)
    theirs = SeenSet.load(tmp_path / "theirs")
    assert list(theirs.add_many(["HTTP://A.org", "http://b.org/~ann?a=2&b=1", "http://c.org/"])) == [0, 0, 1]

    ours = make(1000, layout=layout)
    ours.add_many(urls.split())
    ours.save(tmp_path / "ours")
    assert crawler("query", "ours", lines=f"{urls}http://c.org/\n") == "seen\nseen\nnew\n"
    told = json.loads(crawler("info", "ours", "--json"))
    again = SeenSet.load(tmp_path / "ours").statistics()
    assert again["merged"] == told["merged"] and again == told
