"""Runs Scrapy's own tests of its scheduler on ours: ``python scrapys_own_tests.py``, with Scrapy, pytest, pytest-twisted and testfixtures
installed.

The source distribution of the installed Scrapy has them; pip gets it. Before they are imported, ``scrapy.core.scheduler.Scheduler`` becomes
the frontier's, and the add-on a default of the settings. Those that do not apply are named below, each with its reason.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import scrapy

FILES = ["tests/test_scheduler.py", "tests/test_scheduler_base.py"]
#: What does not apply, and why.
LEFT_OUT = {
    "tests/test_scheduler.py::TestMigration": "an old job of Scrapy's queues is refused when another of its queue classes is set; "
    "there is one class here",
    "tests/test_scheduler.py::TestIncompatibility": "DownloaderAwarePriorityQueue does not know addresses; it has no place here, since "
    "each slot has its turn anyway",
    "tests/test_scheduler.py::test_scheduler_without_crawler": "an argument that Scrapy has deprecated",
    "tests/test_scheduler_base.py::TestMinimalSchedulerCrawl": "a crawl with a scheduler of the test's own, which the add-on refuses",
    "tests/test_scheduler_base.py::TestSimpleSchedulerCrawl": "as the one before",
    # As Scrapy 2.13 names them.
    "tests/test_scheduler_base.py::MinimalSchedulerCrawlTest": "as the one before",
    "tests/test_scheduler_base.py::SimpleSchedulerCrawlTest": "as the one before",
}
PLUGIN = """
import sys
from unittest.mock import Mock

import scrapy.core.scheduler
import scrapy.settings.default_settings
from crawler_frontier.scrapy import Scheduler

scrapy.core.scheduler.Scheduler = Scheduler
scrapy.settings.default_settings.ADDONS = {"crawler_frontier.scrapy.Addon": 100}


def pytest_collection_modifyitems(session):
    # The engine of Scrapy 2.13's tests has a downloader and nothing else.
    tests = sys.modules["tests.test_scheduler"]
    if hasattr(tests, "MockEngine"):
        tests.MockEngine = Mock
"""


def main() -> int:
    # Its tests need no plugin, and their option would be another one's.
    is_old = tuple(map(int, scrapy.__version__.split(".")[:2])) < (2, 15)
    with tempfile.TemporaryDirectory() as directory:
        where = Path(directory)
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "Scrapy"]
            + ["--dest", directory, f"Scrapy=={scrapy.__version__}"],
            check=True,
        )
        with tarfile.open(next(where.glob("*.tar.gz"))) as source:
            source.extractall(where)
        (where / "frontier_for_scrapy.py").write_text(PLUGIN)
        root = next(where.glob("scrapy-*/"))
        # The installed package is tested, and its tests come from the sources.
        (root / "scrapy").rename(root / "sources")
        # Scrapy's own configuration needs all plugins of its tests.
        arguments = ["-q", "-rA", "-p", "frontier_for_scrapy", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(root)]
        arguments += ["-W", "ignore", *(["-p", "no:twisted"] if is_old else []), "--reactor=asyncio"]
        for left_out, reason in LEFT_OUT.items():
            print(f"left out: {left_out}: {reason}")
            arguments += ["--deselect", left_out]
        path = os.pathsep.join([directory, str(root), *filter(None, [os.environ.get("PYTHONPATH")])])
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, *FILES], cwd=root, env={**os.environ, "PYTHONPATH": path}
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
