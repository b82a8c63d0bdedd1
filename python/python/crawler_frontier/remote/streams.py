"""Connections to a server of frontiers in an event loop: HTTP/1.1 over asyncio's streams."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TypeVar

from .._errors import RemoteError
from .calls import Call, read
from .connections import ANSWER, KEPT, Server, Tries

T = TypeVar("T")

#: The most bytes of an answer's head, and of a line.
_HEAD = 1 << 16


class Streams:
    """Connections that the tasks of one loop share: each call has one for itself, and closes it if it is cancelled."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._idle: deque[_Stream] = deque()
        self._is_closed = False
        lines = "".join(f"{name}: {value}\r\n" for name, value in server.headers.items())
        self._head = f"HTTP/1.1\r\nHost: {server.authority}\r\n{lines}"

    async def ask(self, call: Call[T]) -> T:
        """Sends a call until it is answered.

        Raises:
            CrawlerError: If the server refuses, or cannot be reached.
        """
        tries = Tries(self._server, call)
        while True:
            if self._is_closed:
                raise RemoteError("the frontier is closed")
            stream = self._idle.pop() if self._idle else None
            is_fresh = stream is None
            try:
                if stream is None:
                    stream = await self._connect()
                status, headers, body = await stream.ask(self._request(call), self._server.timeout + call.wait)
            except BaseException as error:
                if stream is not None:
                    stream.abort()
                if not isinstance(error, (OSError, EOFError, ValueError, asyncio.LimitOverrunError)):
                    raise
                rest = tries.after_error(error, is_fresh)
            else:
                self._give(stream, headers)
                again = tries.after_answer(status, headers, body)
                if again is None:
                    return read(call, body, tries.made > 1)
                rest = again
            await asyncio.sleep(rest)

    async def _connect(self) -> _Stream:
        server = self._server
        opening = asyncio.open_connection(server.host, server.port, ssl=server.context, limit=_HEAD)
        try:
            return _Stream(*await asyncio.wait_for(opening, server.timeout))
        except asyncio.TimeoutError:
            raise TimeoutError(f"no connection came within {server.timeout} s") from None

    def _request(self, call: Call[T]) -> bytes:
        head = f"{call.method} {self._server.path}{call.path} {self._head}Content-Length: {len(call.body)}\r\n\r\n"
        return head.encode("latin-1") + call.body

    def _give(self, stream: _Stream, headers: dict[str, str]) -> None:
        if headers.get("connection", "").lower() == "close" or len(self._idle) >= KEPT or self._is_closed:
            stream.abort()
        else:
            self._idle.append(stream)

    async def close(self) -> None:
        """Closes those that are not in use."""
        self._is_closed = True
        while self._idle:
            await self._idle.pop().close()


class _Stream:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, request: bytes, timeout: float) -> tuple[int, dict[str, str], bytes]:
        """Sends a request, and returns status, headers and body of the answer.

        Raises:
            OSError, EOFError, ValueError, LimitOverrunError: If the connection breaks, or there is no whole answer in time.
        """
        # Cheaper than a task of its own, which `wait_for` makes.
        timer = asyncio.get_running_loop().call_later(timeout, self.abort)
        try:
            return await self._answer(request)
        except (OSError, EOFError):
            if timer.when() <= asyncio.get_running_loop().time():
                raise TimeoutError(f"no answer came within {timeout} s") from None
            raise
        finally:
            timer.cancel()

    async def _answer(self, request: bytes) -> tuple[int, dict[str, str], bytes]:
        self._writer.write(request)
        await self._writer.drain()
        while True:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            version, status, *_ = head[0].split(" ")
            if version != "HTTP/1.1":
                raise ValueError(f"expected an answer in HTTP/1.1, not {head[0][:100]!r}")
            if not status.startswith("1"):
                break
        fields = (line.partition(":") for line in head[1:-2])
        headers = {name.strip().lower(): value.strip() for name, _, value in fields}
        return int(status), headers, await self._body(headers)

    async def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            if (length := headers.get("content-length")) is None:
                raise ValueError("the answer has no length")
            return await self._read(int(length), 0)
        body = bytearray()
        while size := int((await self._reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += await self._read(size, len(body))
            await self._reader.readexactly(2)
        while await self._reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return bytes(body)

    async def _read(self, size: int, before: int) -> bytes:
        if not 0 <= size <= ANSWER - before:
            raise ValueError(f"the answer has more than {ANSWER} bytes")
        return await self._reader.readexactly(size)

    def abort(self) -> None:
        """Closes it at once."""
        self._writer.transport.abort()

    async def close(self) -> None:
        """Closes it."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass
