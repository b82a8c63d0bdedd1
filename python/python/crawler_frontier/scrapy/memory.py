"""Requests that are in this process's memory and not on disk."""

from __future__ import annotations

import heapq
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy import Request

    from .pages import Page

#: The first byte of what travels with the URL of a request in memory. A number follows.
IN_MEMORY = b"M"


class Memory:
    """Requests in memory, each with the page that it holds: by the numbers that travel with their URLs, or, if no host's clock is for them
    (`data:`, `file:`), in their order."""

    def __init__(self, is_lifo: bool) -> None:
        self._is_lifo = is_lifo
        self._numbered: dict[bytes, tuple[Request, Page | None]] = {}
        self._hostless: list[tuple[int, int, Request, Page | None]] = []
        # A number of an earlier process means nothing.
        self._run = os.urandom(8)
        self._count = 0

    @property
    def hostless(self) -> int:
        """How many wait for no host."""
        return len(self._hostless)

    def remember(self, request: Request, parent: Page | None) -> bytes:
        """Keeps a request. Its number is to travel with its URL."""
        self._count += 1
        number = IN_MEMORY + self._run + self._count.to_bytes(8, "big")
        self._numbered[number] = (request, parent)
        return number

    def take(self, number: bytes) -> tuple[Request, Page | None] | None:
        """The request of this number, once; `None` if it was another process's."""
        return self._numbered.pop(number, None)

    def push(self, request: Request, parent: Page | None) -> None:
        """Keeps a request that waits for no host."""
        self._count += 1
        newest_first = -self._count if self._is_lifo else self._count
        heapq.heappush(self._hostless, (-request.priority, newest_first, request, parent))

    def pop(self) -> tuple[Request, Page | None] | None:
        """The next request that waits for no host."""
        if not self._hostless:
            return None
        _, _, request, parent = heapq.heappop(self._hostless)
        return request, parent
