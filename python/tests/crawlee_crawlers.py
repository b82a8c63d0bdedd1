"""Crawlers for `test_crawlee.py`, each in a process of its own: ``python crawlee_crawlers.py NAME SETTINGS``, the settings as JSON.

What they have done is in files, a line for each: `started`, `done` and `marked`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from crawlee import ConcurrencySettings, Request
from crawlee.configuration import Configuration
from crawlee.crawlers import HttpCrawler, HttpCrawlingContext
from crawlee.storage_clients import MemoryStorageClient
from crawlee.storages import RequestQueue

from crawler_frontier.crawlee import FrontierStorageClient

settings: dict[str, Any] = json.loads(sys.argv[2])
directory = Path(settings["directory"])


def write(name: str, line: str) -> None:
    with (directory / name).open("a") as file:
        file.write(line + "\n")


async def open_queue() -> tuple[RequestQueue, FrontierStorageClient, Configuration]:
    configuration = Configuration(storage_dir=str(directory / "storage"), purge_on_start=False)
    client = FrontierStorageClient(others=MemoryStorageClient(), **settings["options"])
    return await RequestQueue.open(storage_client=client, configuration=configuration), client, configuration


async def tree() -> None:
    """Goes down a tree of pages, whose texts are `host:number` of their children."""
    queue, client, configuration = await open_queue()
    mark = queue.mark_request_as_handled

    async def mark_and_say(request: Request) -> Any:
        marked = await mark(request)
        write("marked", request.url)
        return marked

    queue.mark_request_as_handled = mark_and_say  # type: ignore[method-assign]
    crawler = HttpCrawler(
        request_manager=queue,
        storage_client=client,
        configuration=configuration,
        concurrency_settings=ConcurrencySettings(desired_concurrency=50, max_concurrency=100),
        respect_robots_txt_file=False,
        configure_logging=False,
    )

    @crawler.router.default_handler
    async def handle(context: HttpCrawlingContext) -> None:
        write("started", context.request.url)
        links = (await context.http_response.read()).decode().split()
        pairs = [link.partition(":") for link in links]
        await context.add_requests([at(int(host), f"/p/{number}") for host, _, number in pairs])
        write("done", context.request.url)

    await crawler.run([at(host, path) for host, path in settings["seeds"]])


def at(host: int, path: str) -> str:
    return f"http://127.0.1.{host + 1}:{settings['port']}{path}"


async def churn() -> None:
    """Adds, fetches, handles and reclaims for ever, and says each after it has returned."""
    queue, _, _ = await open_queue()
    number = int(settings["first"])
    while True:
        await queue.add_requests([f"https://example.org/{number + n}" for n in range(3)], forefront=number % 2 == 0)
        write("added", " ".join(str(number + n) for n in range(3)))
        number += 3
        for _ in range(2):
            request = await queue.fetch_next_request()
            assert request is not None
            page = request.url.rsplit("/", 1)[1]
            if request.retry_count == 0 and int(page) % 3 == 0:
                request.retry_count += 1
                await queue.reclaim_request(request)
            else:
                await queue.mark_request_as_handled(request)
                write("handled", page)


asyncio.run({"tree": tree, "churn": churn}[sys.argv[1]]())
