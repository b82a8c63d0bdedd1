"""Crawlee's own request queues beside ours: `python benches/python/crawlee_queue.py [requests] [runs]`. Needs `crawlee`.

Each run is a process of its own: it adds so many requests (10,000) on 200 hosts in batches of 100, as crawlers do, fetches each, and marks it as
handled. The memory is what a request takes while all wait. The times are the process's own, user and system, so other work on the machine counts
little. Medians of so many runs (3), in turn.
"""

from __future__ import annotations

import asyncio
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

HOSTS, BATCH = 200, 100
CLIENTS = ["memory", "file system", "frontier"]


def client_of(name: str) -> Any:
    from crawlee.storage_clients import FileSystemStorageClient, MemoryStorageClient

    from crawler_frontier.crawlee import FrontierStorageClient

    if name == "frontier":
        # No pauses: what is measured is the queue.
        return FrontierStorageClient(host_delay=0, connections_per_host=64)
    return MemoryStorageClient() if name == "memory" else FileSystemStorageClient()


async def measure(name: str, requests: int, directory: str) -> dict[str, float]:
    from crawlee import Request
    from crawlee.configuration import Configuration

    client = await client_of(name).create_rq_client(configuration=Configuration(storage_dir=directory))

    def batch(first: int) -> list[Request]:
        return [Request.from_url(f"https://host{n % HOSTS}.example/a/page/{n}") for n in range(first, first + BATCH)]

    # Making a request costs Crawlee more than queueing it, and is the same for all: it is not counted.
    memory, spent = rss(), 0.0
    for first in range(0, requests, BATCH):
        new = batch(first)
        began = time.process_time()
        await client.add_batch_of_requests(new)
        spent += time.process_time() - began
        del new
    grown, added = rss() - memory, time.process_time()
    handled = 0
    while (request := await client.fetch_next_request()) is not None:
        await client.mark_request_as_handled(request)
        handled += 1
    assert handled == requests and await client.is_finished(), handled
    ended = time.process_time()
    disk = sum(path.stat().st_blocks * 512 for path in pathlib.Path(directory).rglob("*") if path.is_file())
    return {
        "add": spent / requests * 1e6,
        "handle": (ended - added) / requests * 1e6,
        "memory": grown / requests,
        "disk": disk / requests,
    }


def rss() -> int:
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    if len(sys.argv) == 4 and sys.argv[1] in CLIENTS:
        with tempfile.TemporaryDirectory(dir=sys.argv[3]) as directory:
            print(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2]), directory))))
        return
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in CLIENTS}
    with tempfile.TemporaryDirectory() as directory:
        for _ in range(runs):
            for name in CLIENTS:
                command = [sys.executable, __file__, name, str(requests), directory]
                figures[name].append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    print(f"{'a request':12} {'add, us':>9} {'fetch, handle, us':>18} {'requests/s':>11} {'memory, bytes':>14} {'disk, bytes':>12}")
    for name, rows in figures.items():
        add, handle, memory, disk = (statistics.median(row[key] for row in rows) for key in ("add", "handle", "memory", "disk"))
        print(f"{name:12} {add:9.1f} {handle:18.1f} {1e6 / (add + handle):11,.0f} {memory:14,.0f} {disk:12,.0f}")


if __name__ == "__main__":
    main()
