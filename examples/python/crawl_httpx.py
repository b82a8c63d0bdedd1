"""A polite crawl with httpx, in plain threads: `python examples/python/crawl_httpx.py JOB URL...`

Threads share one frontier and one client. End it as you like, and start it again: it goes on. Needs `httpx`.
"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx

from crawler_frontier import Frontier, Lease

NAME = "example-bot"  # in robots.txt
AGENT = f"{NAME} (+https://example.org/bot)"
THREADS = 16
# Good enough for an example; `lxml` or `selectolax` read what browsers read.
HREF = re.compile(r"""<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)


def fetch(client: httpx.Client, frontier: Frontier, lease: Lease) -> None:
    """Asks for what was lent, and says what came of it."""
    try:
        response = client.get(lease.url)
    except httpx.TimeoutException as error:
        frontier.fail(lease, "timeout", type(error).__name__)
    except httpx.HTTPError as error:
        frontier.fail(lease, "connect", str(error))
    else:
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        rest = response.headers.get("Retry-After", "")
        again = frontier.answer(
            lease,
            response.status_code,
            links=HREF.findall(response.text) if is_page else [],
            body=response.content,  # of a robots.txt, which comes as a lease before a host's first page
            location=response.headers.get("Location"),  # followed by the frontier, at its own time
            retry_after=float(rest) if rest.isdigit() else None,
        )
        print(response.status_code, lease.url, "and again later" if again else "")


def crawl(job: str, seeds: list[str], host_delay: float = 1.0) -> None:
    """Crawls until nothing is left."""
    with (
        Frontier.open(job, agent=NAME, host_delay=host_delay) as frontier,
        httpx.Client(headers={"User-Agent": AGENT}, follow_redirects=False, timeout=30) as client,
    ):
        for seed in seeds:
            frontier.seed(seed)

        def work() -> None:
            for lease in frontier.leases():  # waits for each host's rest
                with lease:
                    fetch(client, frontier, lease)

        with ThreadPoolExecutor(THREADS) as pool:
            for thread in [pool.submit(work) for _ in range(THREADS)]:
                thread.result()
        print(f"{frontier.statistics().completed} pages are done")


if __name__ == "__main__":
    crawl(sys.argv[1], sys.argv[2:])
