"""A polite crawl of pages as a browser shows them: `python examples/python/render_playwright.py JOB URL...`

Playwright renders each page in Chromium, and the links are those of the rendered page. Needs `playwright` and a Chromium: its own, or the one
that `CHROMIUM` names, such as Debian's `/usr/bin/chromium`.
"""

from __future__ import annotations

import asyncio
import os
import sys

from playwright.async_api import APIResponse, BrowserContext, Error, Route, async_playwright

from crawler_frontier import Lease, aio

NAME = "example-bot"  # in robots.txt
AGENT = f"{NAME} (+https://example.org/bot)"
TABS, MOST_MILLISECONDS = 4, 30_000


async def render(context: BrowserContext, frontier: aio.Frontier, lease: Lease) -> None:
    """Opens a page in a tab of its own, and says what came of it."""
    page, replies = await context.new_page(), list[APIResponse]()

    async def route(route: Route) -> None:
        request = route.request
        if request.is_navigation_request() and request.frame == page.main_frame:
            reply = await route.fetch(max_redirects=0)
            replies.append(reply)
            # A redirect's target is a URL with its own host, rules and pace: the frontier follows it.
            await (route.abort() if 300 <= reply.status < 400 else route.fulfill(response=reply))
        elif request.resource_type in {"image", "media", "font"}:
            await route.abort()
        else:
            frontier.host_was_asked(request.url)  # a script or a style counts for its host's pace
            await route.continue_()

    await page.route("**/*", route)
    links: list[str] = []
    try:
        await page.goto(lease.url, wait_until="networkidle", timeout=MOST_MILLISECONDS)
        links = await page.eval_on_selector_all("a[href]", "links => links.map(link => link.getAttribute('href'))")
    except Error as error:
        if not replies:
            frontier.fail(lease, "timeout" if "Timeout" in error.message else "connect", error.message[:200])
    if replies:
        frontier.answer(lease, replies[0].status, links=links, location=replies[0].headers.get("location"))
        print(replies[0].status, lease.url, f"{len(links)} links")
    await page.close()


async def ask(context: BrowserContext, frontier: aio.Frontier, lease: Lease) -> None:
    """A robots.txt needs no tab."""
    try:
        reply = await context.request.get(lease.url, max_redirects=0, timeout=MOST_MILLISECONDS)
        frontier.answer(lease, reply.status, body=await reply.body(), location=reply.headers.get("location"))
    except Error as error:
        frontier.fail(lease, "connect", error.message[:200])


async def crawl(job: str, seeds: list[str], host_delay: float = 1.0) -> None:
    async with async_playwright() as playwright, aio.Frontier.open(job, agent=NAME, host_delay=host_delay) as frontier:
        browser = await playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM"), args=["--no-sandbox"])
        context = await browser.new_context(user_agent=AGENT)
        for seed in seeds:
            frontier.seed(seed)

        async def work() -> None:
            async for lease in frontier.leases():
                with lease:
                    await (render if lease.kind == "page" else ask)(context, frontier, lease)

        await asyncio.gather(*(work() for _ in range(TABS)))
        print(f"{frontier.statistics().completed} pages are done")
        await browser.close()


if __name__ == "__main__":
    asyncio.run(crawl(sys.argv[1], sys.argv[2:]))
