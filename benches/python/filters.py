#!/usr/bin/env python3
"""The seen set in Python beside its peers: time and memory a URL. Run with the interpreter of a venv that has the package and its peers:

    python3 -m venv /tmp/v && /tmp/v/bin/pip install ./python abloom rbloom w3lib scrapy
    /tmp/v/bin/python benches/python/filters.py [--urls 10M] [--turns 5] [--only PART]...

Each turn is a process of its own, and the order rotates. Its strings are new: Python has not cached their hashes. Time is that of the processor,
so that other programs disturb little; all of it is on one thread. Medians are printed, with the least and the most. A peer that is missing is named and left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

BATCH = 10_000


def urls(count: int, start: int = 0) -> list[str]:
    """URLs of 58 to 65 bytes."""
    return [f"https://www.site{n % 997}.example.org/section/{n % 89}/page-{n:08d}.html" for n in range(start, start + count)]


def messy(count: int) -> list[str]:
    """Links that have to be parsed: a port, dot segments, a query to sort, an escape."""
    return [
        f"https://www.site{n % 997}.example.org:443/a/../section/%7e{n % 89}/page.html?z={n}&id={n % 7}&a=1#top"
        for n in range(count)
    ]


def timed(act, items: int) -> float:
    start = time.process_time()
    act()
    return (time.process_time() - start) / items * 1e9


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def ours(count: int, **options):
    from crawler_frontier import SeenSet

    return SeenSet(count, raw=True, **options)


def in_one_list(seen, items: list[str]) -> float:
    return timed(lambda: seen.add_many(items), len(items))


def in_batches(add_many, items: list[str]) -> float:
    batches = [items[at : at + BATCH] for at in range(0, len(items), BATCH)]

    def act() -> None:
        for batch in batches:
            add_many(batch)

    return timed(act, len(items))


def one_by_one(add, items: list[str]) -> float:
    def act() -> None:
        for item in items:
            add(item)

    return timed(act, len(items))


def abloom(count: int):
    from abloom import BloomFilter

    return BloomFilter(count, 1e-4)


def rbloom(count: int):
    from rbloom import Bloom

    return Bloom(count, 1e-4)


def hashed(items: list[str]) -> list[str]:
    """The same list, with the hashes cached."""
    for item in items:
        hash(item)
    return items


def plain_links(count: int) -> float:
    from crawler_frontier import SeenSet

    seen = SeenSet(count)
    return in_batches(seen.add_many, urls(count))


def messy_links(count: int) -> float:
    from crawler_frontier import SeenSet

    seen = SeenSet(count)
    return in_batches(seen.add_many, messy(count))


def w3lib_links(items: list[str]) -> float:
    from w3lib.url import canonicalize_url

    seen: set[str] = set()

    def act() -> None:
        for item in items:
            key = canonicalize_url(item)
            if key not in seen:
                seen.add(key)

    return timed(act, len(items))


def scrapy_links(items: list[str]) -> float:
    from scrapy import Request
    from scrapy.utils.request import RequestFingerprinter

    fingerprinter, seen = RequestFingerprinter(), set()
    requests = [Request(item) for item in items]

    def act() -> None:
        for request in requests:
            fingerprint = fingerprinter.fingerprint(request)
            if fingerprint not in seen:
                seen.add(fingerprint)

    return timed(act, len(items))


def memory(make, add_many, count: int) -> float:
    """Bytes a URL: what the process holds more once all are in, or what the set says that it has, whichever is more."""
    run = 100_000
    # What the strings themselves take is taken before.
    add_many(make(), urls(run))
    before = resident()
    seen = make()
    for start in range(0, count, run):
        add_many(seen, urls(run, start))
    grown = resident() - before
    return max(grown, getattr(seen, "nbytes", 0)) / count


def ours_memory(count: int, **options) -> float:
    from crawler_frontier import SeenSet

    return memory(lambda: SeenSet(raw=True, **options), lambda seen, items: seen.add_many(items), count)


def digests(count: int) -> float:
    from hashlib import sha1

    return memory(set, lambda seen, items: seen.update(sha1(item.encode()).digest() for item in items), count)


def import_ms(_: int) -> float:
    """Milliseconds to import the package, in a process that has done nothing else."""
    start = time.process_time()
    import crawler_frontier  # noqa: F401

    return (time.process_time() - start) * 1e3


def parts(count: int) -> dict[str, tuple[str, object]]:
    """Each measurement by its name, with its unit."""
    small = min(count, 1_000_000)
    few = min(count, 200_000)
    return {
        "import": ("ms", lambda: import_ms(0)),
        "add_many, sized": ("ns", lambda: in_one_list(ours(count), urls(count))),
        "add_many in lists of 10,000, sized": ("ns", lambda: in_batches(ours(count).add_many, urls(count))),
        "add_many, growing from 1 M": ("ns", lambda: in_one_list(ours(None), urls(count))),
        "add_many, exact, sized": ("ns", lambda: in_one_list(ours(count, layout="exact"), urls(count))),
        "add_many, exact, growing from 1 M": ("ns", lambda: in_one_list(ours(None, layout="exact"), urls(count))),
        "add_many, 1 M sized": ("ns", lambda: in_one_list(ours(small), urls(small))),
        "abloom update, hashes cached": ("ns", lambda: in_batches(abloom(count).update, hashed(urls(count)))),
        "abloom update": ("ns", lambda: in_batches(abloom(count).update, urls(count))),
        "rbloom update, hashes cached": ("ns", lambda: in_batches(rbloom(count).update, hashed(urls(count)))),
        "add": ("ns", lambda: one_by_one(ours(count).add, urls(count))),
        "add, 1 M": ("ns", lambda: one_by_one(ours(small).add, urls(small))),
        "abloom add": ("ns", lambda: one_by_one(abloom(count).add, urls(count))),
        "abloom add, 1 M": ("ns", lambda: one_by_one(abloom(small).add, urls(small))),
        "links, plain": ("ns", lambda: plain_links(small)),
        "links, messy": ("ns", lambda: messy_links(small)),
        "w3lib and a set, plain": ("ns", lambda: w3lib_links(urls(few))),
        "w3lib and a set, messy": ("ns", lambda: w3lib_links(messy(few))),
        "Scrapy's fingerprint and a set, plain": ("ns", lambda: scrapy_links(urls(few))),
        "Scrapy's fingerprint and a set, messy": ("ns", lambda: scrapy_links(messy(few))),
        "memory, sized": ("bytes", lambda: ours_memory(count, capacity=count)),
        "memory, growing from 1 M": ("bytes", lambda: ours_memory(count)),
        "memory, exact, growing from 1 M": ("bytes", lambda: ours_memory(count, layout="exact")),
        "memory, set of SHA-1 digests": ("bytes", lambda: digests(small)),
    }


def number(text: str) -> int:
    return int(float(text.replace("M", "e6").replace("k", "e3")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--urls", type=number, default=10_000_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", action="append", default=[], help="a part's name, or how it begins")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part:
        _, act = parts(given.urls)[given.part]
        print(json.dumps(act()))
        return
    names = [n for n in parts(given.urls) if not given.only or any(n.startswith(only) for only in given.only)]
    measured: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(given.turns):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            command = [sys.executable, __file__, "--urls", str(given.urls), "--part", name]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode == 0:
                measured[name].append(json.loads(done.stdout))
            elif turn == 0:
                print(f"{name}: left out: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    print(f"| {given.urls:,} URLs, {given.turns} turns | median | least | most |\n|---|---|---|---|")
    for name in names:
        if turns := measured[name]:
            unit = parts(given.urls)[name][0]
            print(f"| {name} | {statistics.median(turns):.1f} {unit} | {min(turns):.1f} | {max(turns):.1f} |")


if __name__ == "__main__":
    main()
