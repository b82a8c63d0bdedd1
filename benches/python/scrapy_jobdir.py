"""Scrapy with `JOBDIR` on its own queues and on the frontier, side by side on one web on loopback.

    python benches/python/scrapy_jobdir.py [--pages 6560] [--hosts 20] [--runs 5]

Needs Scrapy and the package `crawler_frontier` in this Python. Each run is a process of its own, and so is the web. It prints, for each
scheduler, the medians of: pages a second, CPU seconds of the spider's process, microseconds in the scheduler for each response (its methods,
and what else the add-on does for a request), peak memory, and bytes in `JOBDIR` when half of the pages wait.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

SCHEDULERS = {
    "frontier": {"ADDONS": {"crawler_frontier.scrapy.Addon": 100}},
    "Scrapy, disk queues": {},
    "Scrapy, memory only": {"JOBDIR": None},
}

WEB = """
import asyncio, sys
pages, hosts, port = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

async def serve(reader, writer):
    try:
        while head := await reader.readuntil(b"\\r\\n\\r\\n"):
            number = int(head.split(b" ", 2)[1].rsplit(b"/", 1)[1])
            # A tree of three children a page, each linked from its neighbours too.
            links = [3 * number + to for to in range(1, 7)]
            body = " ".join(f"{page % hosts}:{page}" for page in links if page < pages).encode().ljust(2000)
            writer.write(b"HTTP/1.1 200 -\\r\\nContent-Type: text/html\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()

async def main():
    server = await asyncio.start_server(serve, [f"127.0.1.{host + 1}" for host in range(hosts)], port)
    print("ready", flush=True)
    await server.serve_forever()

asyncio.run(main())
"""

SPIDER = """
import json, os, resource, sys, time
import scrapy
from scrapy.crawler import CrawlerProcess

settings = json.loads(sys.argv[1])
port, half = settings.pop("PORT"), settings.pop("HALF")
spent = 0.0

def timed(owner, name):
    method = getattr(owner, name, None)
    if method is None:
        return
    def call(*args, **kwargs):
        global spent
        began = time.perf_counter()
        try:
            return method(*args, **kwargs)
        finally:
            spent += time.perf_counter() - began
    setattr(owner, name, call)

def disk():
    job, bytes_ = settings.get("JOBDIR"), 0
    for directory, _, files in os.walk(job or "/nonexistent"):
        bytes_ += sum(os.path.getsize(os.path.join(directory, file)) for file in files)
    return bytes_

class Spider(scrapy.Spider):
    name = "bench"
    done, at_half, waiting = 0, 0, 0

    async def start(self):
        yield scrapy.Request(f"http://127.0.1.1:{port}/p/0", dont_filter=True)

    def parse(self, response):
        Spider.done += 1
        if Spider.done == half:
            Spider.at_half, Spider.waiting = disk(), len(self.crawler.engine._slot.scheduler)
        for link in response.text.split():
            host, page = link.split(":")
            yield scrapy.Request(f"http://127.0.1.{int(host) + 1}:{port}/p/{page}", callback=self.parse)
        yield {"url": response.url}

process = CrawlerProcess({
    "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False, "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8, "DOWNLOAD_DELAY": 0, **settings,
})
crawler = process.create_crawler(Spider)
from scrapy import signals
def opened(spider):
    scheduler = crawler.engine._slot.scheduler
    for name in ("enqueue_request", "next_request", "has_pending_requests"):
        timed(scheduler, name)
    # What the add-on does beside: which page a request is from, and the two ends of a lease.
    for name in ("_end", "note_found"):
        timed(scheduler, name)
    clocks = getattr(scheduler, "clocks", None)
    for name in ("_answered", "turn"):
        timed(clocks, name)
crawler.signals.connect(opened, signals.spider_opened)
began = time.perf_counter()
process.crawl(crawler)
process.start()
wall = time.perf_counter() - began
usage = resource.getrusage(resource.RUSAGE_SELF)
responses = crawler.stats.get_value("response_received_count")
print(json.dumps({
    "pages": responses, "pages_per_second": responses / wall, "cpu": usage.ru_utime + usage.ru_stime,
    "scheduler_us": 1e6 * spent / responses, "memory_mb": usage.ru_maxrss / 1024,
    "disk": Spider.at_half, "waiting": Spider.waiting,
}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--pages", type=int, default=6560)
    parser.add_argument("--hosts", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--port", type=int, default=28_411)
    given = parser.parse_args()
    web = subprocess.Popen(
        [sys.executable, "-c", WEB, str(given.pages), str(given.hosts), str(given.port)], stdout=subprocess.PIPE
    )
    assert web.stdout is not None
    assert web.stdout.readline() == b"ready\n", "the web does not run"
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in SCHEDULERS}
    try:
        # In turns, so that a machine that gets slower is so for all.
        for _ in range(given.runs):
            for name, settings in SCHEDULERS.items():
                with tempfile.TemporaryDirectory() as directory:
                    job = {"JOBDIR": str(pathlib.Path(directory) / "job"), "PORT": given.port, "HALF": given.pages // 2}
                    # Scrapy reads the source of each callback.
                    spider = pathlib.Path(directory) / "spider.py"
                    spider.write_text(SPIDER)
                    run = subprocess.run(
                        [sys.executable, str(spider), json.dumps({**job, **settings})],
                        capture_output=True,
                        text=True,
                        check=True,
                    )
                    rows[name].append(json.loads(run.stdout.splitlines()[-1]))
    finally:
        web.kill()
    print(
        f"{given.pages} pages on {given.hosts} hosts, medians of {given.runs}; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'':24}{'pages/s':>10}{'CPU s':>8}{'us/resp.':>10}{'MB':>8}{'bytes a waiting request':>26}")
    for name, runs in rows.items():
        assert all(run["pages"] == given.pages for run in runs), f"{name}: {runs}"
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        waiting = median["disk"] / median["waiting"] if median["waiting"] and median["disk"] else 0
        print(
            f"{name:24}{median['pages_per_second']:>10.0f}{median['cpu']:>8.2f}{median['scheduler_us']:>10.0f}"
            f"{median['memory_mb']:>8.1f}{waiting:>26.0f}"
        )


if __name__ == "__main__":
    main()
