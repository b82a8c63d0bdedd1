"""A server of frontiers for tests: the real command, which is killed and started again."""

from __future__ import annotations

import os
import pathlib
import signal
import socket
import subprocess
from functools import lru_cache

CRAWLER = os.environ.get("CRAWLER", "")


@lru_cache
def is_there() -> bool:
    """Whether the command is there, and serves frontiers."""
    if not CRAWLER:
        return False
    shown = subprocess.run([CRAWLER, "serve", "--help"], capture_output=True, text=True, check=False)
    return shown.returncode == 0 and "--listen" in shown.stdout


class Served:
    """`crawler serve` in a directory, at a port that stays."""

    def __init__(self, directory: pathlib.Path, *options: str, scheme: str = "http") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"{scheme}://{self.address}"
        self._command = [CRAWLER, "serve", "--listen", self.address, "--job", str(directory / "crawls"), *options]
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Starts it, and returns once it listens."""
        process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.strip() == self.address, process.communicate()
        self._process = process

    def end(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends it."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.communicate()
