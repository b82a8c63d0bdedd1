"""A worker of `crawler serve`, with aiohttp: `python examples/python/crawl_served.py http://127.0.0.1:7071 CRAWL URL...`

Start as many as you like, on as many machines: the server lends each URL to one of them, and asks each host at its own pace. End one as you
like; what it was asking for goes to another. A server with a token finds it in `SERVER_TOKEN`. Needs `aiohttp`.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys

import aiohttp

from crawler_frontier.remote.aio import Frontier, Lease

NAME = "example-bot"  # in robots.txt
AGENT = f"{NAME} (+https://example.org/bot)"
WORKERS = 32
# Good enough for an example; `lxml` or `selectolax` read what browsers read.
HREF = re.compile(r"""<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)


async def fetch(session: aiohttp.ClientSession, frontier: Frontier, lease: Lease) -> None:
    """Asks for what was lent, and says what came of it."""
    try:
        # Redirects are the server's: each target is a URL with its own host, rules and pace.
        async with session.get(lease.url, allow_redirects=False) as response:
            body = await response.read()
    except asyncio.TimeoutError:
        await frontier.fail(lease, "timeout")
    except aiohttp.ClientError as error:
        await frontier.fail(lease, "connect", str(error))
    else:
        is_page = response.content_type == "text/html"
        rest = response.headers.get("Retry-After", "")
        await frontier.answer(
            lease,
            response.status,
            links=HREF.findall(body.decode("utf-8", "replace")) if is_page else [],
            body=body,  # sent for a robots.txt alone, which comes as a lease before a host's first page
            location=response.headers.get("Location"),
            retry_after=float(rest) if rest.isdigit() else None,
        )
        print(response.status, lease.url)


async def crawl(server: str, name: str, seeds: list[str], host_delay: str = "1s", wait: float = 10.0) -> None:
    """Crawls until nothing is left."""
    settings = {"politeness": {"agent": NAME, "host_delay": host_delay}, "scope": {"kind": "host"}}
    timeout = aiohttp.ClientTimeout(total=60)
    async with (
        Frontier(server, name, settings, token=os.environ.get("SERVER_TOKEN")) as frontier,
        aiohttp.ClientSession(headers={"User-Agent": AGENT}, timeout=timeout) as session,
    ):
        await frontier.admit(seeds)

        async def work() -> None:
            async for lease in frontier.leases(wait=wait):
                async with lease:  # given back, if this task is cancelled
                    await fetch(session, frontier, lease)

        await asyncio.gather(*(work() for _ in range(WORKERS)))
        print(f"{(await frontier.statistics()).completed} pages are done")


if __name__ == "__main__":
    asyncio.run(crawl(sys.argv[1], sys.argv[2], sys.argv[3:]))
