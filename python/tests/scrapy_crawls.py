"""Spiders in processes of their own, which tests run, kill and run again; and small webs for them."""

from __future__ import annotations

import json
import pathlib
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import scrapy
from simulated_web import Reply, Web

HERE = pathlib.Path(__file__).parent
VERSION = tuple(int(part) for part in scrapy.__version__.split(".")[:2])

REACTORS: dict[str, dict[str, Any]] = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "none": {"TWISTED_REACTOR_ENABLED": False},
}


class Crawl:
    """A spider and its files."""

    def __init__(self, directory: pathlib.Path, web: Web, **settings: Any) -> None:
        self.job, self._done = directory / "job", directory / "done"
        self.settings = {"JOBDIR": str(self.job), "DONE": str(self._done), "PORT": web.port, **settings}
        self.log = ""

    def start(self, spider: str, **settings: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(HERE / "scrapy_spiders.py"), spider, json.dumps({**self.settings, **settings})],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, spider: str, **settings: Any) -> dict[str, Any]:
        """Runs it to its end, and returns its statistics."""
        output, self.log = self.start(spider, **settings).communicate(timeout=60)
        assert output, self.log
        assert "CRITICAL" not in self.log and "crawler_frontier/scrapy/" not in self.log, self.log
        return dict(json.loads(output))

    def run_with_kills(self, spider: str, kills: int, seed: int, how: signal.Signals = signal.SIGKILL) -> int:
        """Runs it, and kills it at most ``kills`` times; returns how often it was killed. The log is that of all runs."""
        dice, done = random.Random(seed), 0
        self.log = ""
        while True:
            process = self.start(spider)
            try:
                # The first second is Python's and Scrapy's own start.
                output, log = process.communicate(timeout=60 if done >= kills else dice.uniform(0.7, 1.6))
                self.log += log
                assert output, self.log
                return done
            except subprocess.TimeoutExpired:
                process.send_signal(how)
                self.log += process.communicate()[1]
                done += 1

    def done(self) -> list[str]:
        """The callbacks that have run to their ends, by the last parts of their URLs."""
        if not self._done.exists():
            return []
        lines = [line for line in self._done.read_text().splitlines() if not line.startswith("kept ")]
        return [line.rsplit("/", 1)[1] if "/" in line else line for line in lines]

    def done_after_kept(self) -> list[str]:
        """The callbacks that ran although the frontier had their pages as done."""
        kept: set[str] = set()
        late: list[str] = []
        for line in self._done.read_text().splitlines():
            word, _, url = line.rpartition(" ")
            if word == "kept":
                kept.add(url)
            elif url in kept:
                late.append(line)
        return late

    def failed(self) -> list[str]:
        return [line for line in self._done.read_text().splitlines() if line.startswith("failed")]


def answers(replies: dict[str, Reply]) -> Callable[[str, str], Reply]:
    return lambda host, path: replies.get(path, (404, {}, b""))


OK: Reply = (200, {}, b"")


def all_ok(host: str, path: str) -> Reply:
    return OK
