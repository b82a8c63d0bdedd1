"""One run of a program: the clock, its processes' CPU by the system's account, and their peak memory."""

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """Seconds, and MB of 10^6 bytes."""

    wall: float
    cpu: float
    peak: float
    status: int
    """The exit status; -9 where it took too long and was killed."""


def run(command: list[str], log: Path, limit: float, environment: dict[str, str] | None = None) -> Run:
    """Runs it to its end, in a session of its own, its output in `log`."""
    with open(log, "wb") as output:
        begin = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=log.parent,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        memory = Memory(process.pid)
        memory.start()
        killer = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - begin
        killer.cancel()
        memory.ended.set()
        memory.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Run(wall, usage.ru_utime + usage.ru_stime, memory.peak / 1e6, process.returncode)


class Memory(threading.Thread):
    """Looks ten times a second at the peak of each process of a tree, and adds them up."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.root = root
        self.ended = threading.Event()
        self.peaks: dict[int, int] = {}

    @property
    def peak(self) -> int:
        return sum(self.peaks.values())

    def run(self) -> None:
        while not self.ended.wait(0.1):
            for process in _tree(self.root):
                if (peak := _high_water(process)) is not None:
                    self.peaks[process] = peak


def _tree(root: int) -> list[int]:
    found = [root]
    for process in found:
        try:
            for task in Path(f"/proc/{process}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def _high_water(process: int) -> int | None:
    try:
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
