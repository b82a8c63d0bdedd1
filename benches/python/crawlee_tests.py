"""Crawlee's own tests of request queues, on the frontier: `python benches/python/crawlee_tests.py CHECKOUT [pytest's arguments]`.

`CHECKOUT` is a checkout of github.com/apify/crawlee-python. Its `tests/unit/storages/test_request_queue.py` is run as it is, with a fixture
`storage_client` of ours. Needs `crawlee`, `pytest` and `pytest-asyncio`.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = ["tests/unit/storages/test_request_queue.py", "tests/unit/utils.py"]
CONFTEST = """
import pytest
from crawlee import service_locator
from crawler_frontier.crawlee import FrontierStorageClient

@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("CRAWLEE_STORAGE_DIR", str(tmp_path))
    service_locator._configuration = service_locator._event_manager = service_locator._storage_client = None
    service_locator.storage_instance_manager.clear_cache()

@pytest.fixture
def storage_client():
    client = FrontierStorageClient(host_delay=0, connections_per_host=64)
    service_locator.set_storage_client(client)
    return client
"""


def main() -> int:
    checkout = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        for name in TESTS:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(checkout / name, root / name)
        (root / "tests/unit/conftest.py").write_text(CONFTEST)
        options = ["-o", "asyncio_mode=auto", "-o", "pythonpath=.", "--import-mode=importlib", "-p", "no:cacheprovider"]
        done = subprocess.run([sys.executable, "-m", "pytest", *options, "-q", *sys.argv[2:], TESTS[0]], cwd=root, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
