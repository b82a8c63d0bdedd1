"""A polite crawl with aiohttp that goes on after Ctrl-C and `kill -9`: `python examples/python/crawl_aiohttp.py JOB URL...`

The frontier decides what to ask for and when, and keeps it in JOB; aiohttp asks, and `html.parser` finds the links. Needs `aiohttp`.
"""

from __future__ import annotations

import asyncio
import sys
from html.parser import HTMLParser

import aiohttp

from crawler_frontier import Lease, aio

NAME = "example-bot"  # in robots.txt
AGENT = f"{NAME} (+https://example.org/bot)"
WORKERS, MOST_BYTES = 64, 4 << 20


class Links(HTMLParser):
    """The links of a page, as it writes them."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(body.decode("utf-8", "replace"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]


async def read(response: aiohttp.ClientResponse) -> bytes:
    """Its body, as far as it is wanted."""
    body = bytearray()
    async for part in response.content.iter_chunked(1 << 16):
        body += part
        if len(body) > MOST_BYTES:
            break
    return bytes(body)


async def fetch(session: aiohttp.ClientSession, frontier: aio.Frontier, lease: Lease) -> None:
    """Asks for what was lent, and says what came of it."""
    try:
        # Redirects are the frontier's: each target is a URL with its own host, rules and pace.
        async with session.get(lease.url, allow_redirects=False) as response:
            body = await read(response)
    except asyncio.TimeoutError:
        frontier.fail(lease, "timeout")
    except aiohttp.ClientError as error:
        frontier.fail(lease, "connect", str(error))
    else:
        links = Links(body).found if response.content_type == "text/html" else []
        location, rest = response.headers.get("Location"), response.headers.get("Retry-After", "")
        retry_after = float(rest) if rest.isdigit() else None
        # A robots.txt comes as a lease too, before a host's first page; its body is read here.
        frontier.answer(lease, response.status, links=links, body=body, location=location, retry_after=retry_after)
        print(response.status, lease.url)


async def crawl(job: str, seeds: list[str], host_delay: float = 1.0) -> None:
    timeout = aiohttp.ClientTimeout(total=60)
    async with (
        aio.Frontier.open(job, agent=NAME, host_delay=host_delay) as frontier,
        aiohttp.ClientSession(headers={"User-Agent": AGENT}, timeout=timeout) as session,
    ):
        for seed in seeds:
            frontier.seed(seed)

        async def work() -> None:
            async for lease in frontier.leases():  # ends when nothing is left
                with lease:  # given back, if this task is cancelled
                    await fetch(session, frontier, lease)

        await asyncio.gather(*(work() for _ in range(WORKERS)))
        print(f"{frontier.statistics().completed} pages are done")


if __name__ == "__main__":
    asyncio.run(crawl(sys.argv[1], sys.argv[2:]))
