"""Pages that the engine works on, and what holds their leases beyond that: requests in memory that they have yielded, and feeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._native import Lease

#: Pages of one queue, and of all, that requests in memory may hold, and as many that open batches of feeds may. The frontier lends nothing
#: more of a queue with 128 pages in hand, and nothing more at all beyond 1,024 (`pages_in_hand`). So what is held can always end.
HELD_OF_QUEUE, HELD = 64, 512


def most_held(options: dict[str, Any]) -> int:
    """How many pages may be held at once, by these options of the frontier."""
    return max(1, min(HELD, int(options.get("pages_in_hand", 2 * HELD)) // 2))


class Page:
    """A request that the engine works on."""

    __slots__ = ("answered", "children", "given_up", "is_overtaken", "lease", "left_at", "open", "parent", "queue")

    def __init__(self, lease: Lease | None, parent: Page | None) -> None:
        self.lease = lease
        #: The page whose lease this request in memory holds.
        self.parent = parent
        #: The engine, and all that holds it beyond.
        self.open = 1
        #: Of these, requests in memory that are from it.
        self.children = 0
        self.queue = (lease.queue or lease.origin) if lease is not None else ""
        #: When it went to the downloader, by the frontier's clock; 0 before.
        self.left_at = 0.0
        #: Between its lease and its download, another request to its host began or ended.
        self.is_overtaken = False
        self.answered = False
        self.given_up: str | None = None

    @property
    def can_be_held(self) -> bool:
        """Whether anything on disk depends on it."""
        return self.lease is not None or self.parent is not None


class Held:
    """How many pages are held, in all and of each queue."""

    def __init__(self, most: int, most_of_queue: int) -> None:
        self._most, self._most_of_queue = most, most_of_queue
        self._count = 0
        self._of: dict[str, int] = {}

    def __len__(self) -> int:
        return self._count

    def is_full(self, page: Page, more: int = 0) -> bool:
        """Whether no further page of this queue may be held, once so many more are."""
        return self._count + more >= self._most or self._of.get(page.queue, 0) + more >= self._most_of_queue

    def add(self, page: Page) -> None:
        """Counts a page."""
        self._count += 1
        self._of[page.queue] = self._of.get(page.queue, 0) + 1

    def remove(self, page: Page) -> None:
        """Counts it no more."""
        self._count -= 1
        left = self._of[page.queue] = self._of[page.queue] - 1
        if not left:
            del self._of[page.queue]
