"""A small web on loopback: hosts that are addresses, pages by rules, and a log of who asked for what, when."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

Reply = tuple[int, dict[str, str], bytes]


@dataclass
class Web:
    """Hosts 127.0.1.1 and up, all at one port. `pages` says what a host answers to a path."""

    hosts: int
    pages: Callable[[str, str], Reply]
    latency: float = 0.0
    port: int = 0
    #: When each request came, by its host: by the clock, its path.
    log: dict[str, list[tuple[float, str]]] = field(default_factory=lambda: defaultdict(list))

    def url(self, host: int, path: str) -> str:
        return f"http://127.0.1.{host + 1}:{self.port}{path}"

    def paths(self, host: int) -> list[str]:
        return [path for _, path in self.log[f"127.0.1.{host + 1}"]]

    def gaps(self) -> list[float]:
        """The times between two requests to one host, in seconds."""
        times = [[at for at, _ in log] for log in self.log.values()]
        return [later - earlier for log in times for earlier, later in zip(log, log[1:], strict=False)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                self.log[host].append((time.monotonic(), path))
                if self.latency:
                    await asyncio.sleep(self.latency)
                status, headers, body = self.pages(host, path)
                if status == 0:
                    break
                lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}", "Content-Type: text/html"]
                lines += [f"{name}: {value}" for name, value in headers.items()]
                writer.write("\r\n".join([*lines, "", ""]).encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    @contextmanager
    def running(self) -> Generator[Web, None, None]:
        """Serves it, in a thread of its own."""
        with socket.socket() as probe:
            probe.bind(("127.0.1.1", 0))
            self.port = probe.getsockname()[1]
        loop = asyncio.new_event_loop()
        addresses = [f"127.0.1.{host + 1}" for host in range(self.hosts)]
        server = loop.run_until_complete(asyncio.start_server(self._serve, addresses, self.port))
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        try:
            yield self
        finally:

            async def end() -> None:
                server.close()
                for task in asyncio.all_tasks() - {asyncio.current_task()}:
                    task.cancel()
                await asyncio.sleep(0)
                loop.stop()

            asyncio.run_coroutine_threadsafe(end(), loop)
            thread.join()
            loop.close()


def tree(pages: int, hosts: int) -> Callable[[str, str], Reply]:
    """A tree of pages: page n has links to 2n+1 and 2n+2, each on the host that its number falls on."""

    def reply(host: str, path: str) -> Reply:
        if path == "/robots.txt":
            return 404, {}, b""
        number = int(path.rsplit("/", 1)[1].split("?")[0])
        children = [child for child in (2 * number + 1, 2 * number + 2) if child < pages]
        return 200, {}, " ".join(f"{child % hosts}:{child}" for child in children).encode()

    return reply
