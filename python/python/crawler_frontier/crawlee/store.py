"""A queue's directory: its frontier, what was handled, and what is written of it. A process opens each once, however many clients it has.

::

    request_queues/NAME/
        __metadata__.json   Crawlee's metadata: id, name, counts as of the last checkpoint
        frontier/           the frontier: `crawler stats` and `crawler explain` read it
        handled.keys, handled.jsonl
        large/              requests of more than a megabyte
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import threading
import time
import weakref
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlee.storage_clients.models import RequestQueueMetadata

from .._native import Fetch, Frontier, GiveUp, Link, Wait
from .._unjudged import ENDLESS, UNJUDGED
from .handled import Handled, digest
from .payload import dump, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crawlee import Request

    from .._native import Lease

logger = logging.getLogger(__name__)

METADATA = "__metadata__.json"
#: Seconds between two checkpoints, which keep the next opening short.
_CHECKPOINT = 60.0
#: Bytes that travel with a URL, at most. What is longer is in a file of its own.
_MOST_BYTES = 1 << 20
#: The first byte of what travels with a URL: a request, or the name of its file.
_REQUEST, _FILE = b"J", b"F"
#: Where requests wait whose URL the frontier takes for none: Crawlee may know better.
_NO_URL = "http://no-url.invalid/"

#: Of each queue.
OPTIONS: dict[str, Any] = {
    **UNJUDGED,
    # No host is given up: each request has its own number of tries.
    "host_failures": ENDLESS,
    "patience": "365d",
    # A new request that is taken for a seen one would be lost.
    "layout": "exact",
    # It grows. Many queues may be open at once.
    "capacity": 50_000,
    "metadata_bytes": _MOST_BYTES,
    "keep_journal": False,
}

#: The directories that this process has open.
_open: weakref.WeakValueDictionary[Path, Store] = weakref.WeakValueDictionary()
_opening = threading.Lock()


class _Parts:
    """What is open. It is no part of the store, so that it can be closed after it."""

    def __init__(self, path: Path, options: Mapping[str, Any]) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.frontier = Frontier.open(path / "frontier", **options)
        for words in self.frontier.opening.damaged if self.frontier.opening is not None else ():
            logger.warning("A checkpoint of %s could not be used: %s", path, words)
        self.handled = Handled(path)
        self.thread: threading.Thread | None = None
        self.due = time.monotonic() + _CHECKPOINT
        self.error: BaseException | None = None

    def checkpoint(self) -> None:
        """Writes a checkpoint, in a thread of its own."""
        began = time.monotonic()
        try:
            self.handled.sync()
            self.frontier.checkpoint()
        except BaseException as error:
            self.error = error
        now = time.monotonic()
        # A slow disk is not asked all the time.
        self.due = now + max(_CHECKPOINT, 5 * (now - began))

    def close(self) -> None:
        """Waits for the checkpoint that is being written, writes another one, and lets the directory go."""
        if self.thread is not None:
            self.thread.join()
        self.frontier.close()
        self.handled.close()


class Store:
    """A queue's directory. Its calls take microseconds, but for those that open, purge and drop it."""

    def __init__(self, path: Path, metadata: RequestQueueMetadata, options: Mapping[str, Any]) -> None:
        self.path = path
        self.options = dict(options)
        self._metadata = metadata
        connections = options.get("connections_per_host", 1)
        self._all_options = {**OPTIONS, "first_contacts_per_host": connections, **options}
        self._parts = _Parts(path, self._all_options)
        #: What a client has fetched. A lease that no client knows any more goes back by itself.
        self.out: weakref.WeakValueDictionary[bytes, Lease] = weakref.WeakValueDictionary()
        #: The next one, which was only looked at.
        self._ahead: tuple[Lease, Request] | None = None
        #: The priority of what went to the front last: the least goes first.
        self._front = -(time.time_ns() // 1000)
        self._waiting: set[asyncio.Event] = set()
        self._close = weakref.finalize(self, self._parts.close)
        self.write_metadata()

    @classmethod
    def open(cls, path: Path, metadata: RequestQueueMetadata, options: Mapping[str, Any]) -> Store:
        """The store of a directory, which may be open already.

        Raises:
            ValueError: If it is open with other options.
        """
        with _opening:
            path = path.resolve()
            store = _open.get(path)
            if store is None:
                store = _open[path] = cls(path, metadata, options)
            elif store.options != dict(options):
                raise ValueError(f"{path} is open with other options: {store.options}")
            return store

    # What is known of it.

    def metadata(self) -> RequestQueueMetadata:
        """Crawlee's metadata, with the counts of now."""
        handled = len(self._parts.handled)
        pending = self._pending() if self._close.alive else 0
        metadata = self._metadata
        metadata.handled_request_count, metadata.pending_request_count = handled, pending
        metadata.total_request_count = handled + pending
        return metadata

    def note_access(self, *, is_change: bool = False) -> None:
        """Notes when it was asked, and when it was changed."""
        self._metadata.accessed_at = now = datetime.now(timezone.utc)
        if is_change:
            self._metadata.modified_at = now
            for waiting in self._waiting:
                waiting.set()

    def write_metadata(self) -> None:
        """Replaces the file."""
        beside = self.path / f"{METADATA}.new"
        beside.write_text(self.metadata().model_dump_json(indent=2))
        beside.replace(self.path / METADATA)

    def has_handled(self, key: bytes) -> bool:
        """Whether a request was handled, by its digest."""
        return key in self._parts.handled

    def is_finished(self) -> bool:
        """Whether nothing waits, and nothing is being worked on."""
        return self._pending() == 0

    def _pending(self) -> int:
        statistics = self._parts.frontier.statistics()
        return statistics.queued + statistics.scheduled + statistics.leased

    def find(self, unique_key: str) -> Request | None:
        """A request that waits or was handled."""
        if self._ahead is not None and self._ahead[1].unique_key == unique_key:
            return self._ahead[1]
        key = digest(unique_key)
        if key in self._parts.handled:
            line = self._parts.handled.find(unique_key)
            return None if line is None else load(line)
        if not self._parts.frontier.has_seen(Link(_NO_URL, identity=key)):
            return None
        waiting = self._parts.frontier.waiting(key)
        return self._read(waiting[-1]) if waiting else None

    # Requests come in, and go out.

    def add(self, requests: Iterable[Request], *, forefront: bool) -> list[bool]:
        """Queues requests; says of each whether it is new. Those that were handled, wait, or are being worked on are not. With ``forefront``,
        those that wait go to the front too, after the new ones of the call, in the order in which they stood.
        """
        priority = self._priority(forefront=forefront)
        links = [self._link(request, priority) for request in requests]
        are_new = [refusal is None for refusal in self._admit(links)]
        if forefront and not all(are_new):
            self._move([link for link, is_new in zip(links, are_new, strict=True) if not is_new], priority)
        return are_new

    def _move(self, links: list[Link], priority: int) -> None:
        """Gives requests that wait this priority. What was handled, or is being worked on, stays where it is."""
        handled = self._parts.handled
        waiting = [link for link in links if link.identity is not None and link.identity not in handled]
        if waiting:
            self._parts.frontier.reprioritize([(link, priority) for link in waiting])

    def next(self) -> tuple[Lease, Request] | float | None:
        """A request whose host is due; or the time when there is one; or ``None`` if nothing waits for a time."""
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            return ahead
        self._keep()
        while True:
            found = self._parts.frontier.next()
            if isinstance(found, (Fetch, GiveUp)):
                request = self._request(found.lease)
                if request is not None:
                    return found.lease, request
            else:
                return found.until if isinstance(found, Wait) else None

    def look(self) -> float | None:
        """When a request may be fetched: ``0.0`` for now, ``None`` for not before something changes."""
        found = self.next()
        if isinstance(found, tuple):
            self._ahead = found
            return 0.0
        return found

    def now(self) -> float:
        """The time by the frontier's clock."""
        return self._parts.frontier.now()

    async def wait(self, timeout: float) -> None:
        """Waits for a change, at most this long."""
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            await asyncio.wait_for(changed.wait(), timeout)
        except asyncio.TimeoutError:
            pass
        finally:
            self._waiting.discard(changed)

    def handle(self, lease: Lease, request: Request) -> None:
        """Notes that a request was handled, and then that its lease is over."""
        self._parts.handled.add(digest(request.unique_key), dump(request))
        self._complete(lease)

    def reclaim(self, lease: Lease, request: Request, *, forefront: bool, is_blocked: bool) -> None:
        """Queues a request again, as it is now, and then ends the lease that it had. A kill in between leaves both: of two requests with one
        key, that is nothing else, the second is left out when its turn comes.
        """
        frontier = self._parts.frontier
        self._admit([self._link(request, self._priority(forefront=forefront), is_again=True)])
        if is_blocked:
            frontier.answered(lease, 429)
        self._complete(lease, but=request)

    def _complete(self, lease: Lease, but: Request | None = None) -> None:
        payload = lease.metadata
        self._parts.frontier.complete(lease)
        if payload[:1] == _FILE and (but is None or len(dump(but)) < _MOST_BYTES):
            self._large(payload[1:]).unlink(missing_ok=True)

    def _priority(self, *, forefront: bool) -> int:
        if not forefront:
            return 0
        if self._ahead is not None:
            ahead, self._ahead = self._ahead, None
            self._parts.frontier.release(ahead[0])
        self._front -= 1
        return self._front

    def _link(self, request: Request, priority: int, *, is_again: bool = False) -> Link:
        key, payload = digest(request.unique_key), dump(request)
        if len(payload) >= _MOST_BYTES:
            if is_again or not self._parts.frontier.has_seen(Link(_NO_URL, identity=key)):
                path = self._large(key)
                path.parent.mkdir(exist_ok=True)
                beside = path.with_suffix(".new")
                beside.write_bytes(payload)
                beside.replace(path)
            payload = _FILE + key
        else:
            payload = _REQUEST + payload
        # What is no seed is judged alike.
        return Link(request.url, priority=priority, metadata=payload, identity=key, unconditional=is_again, depth=1)

    def _admit(self, links: list[Link]) -> list[str | None]:
        refusals: list[str | None] = list(self._parts.frontier.admit(links))
        for at, refusal in enumerate(refusals):
            if refusal is not None and refusal != "seen":
                # It is no URL for the frontier. It is queued all the same, and all such requests share a clock.
                link = links[at]
                instead = Link(
                    _NO_URL,
                    priority=link.priority,
                    metadata=link.metadata,
                    identity=link.identity,
                    unconditional=link.unconditional,
                    depth=1,
                )
                refusals[at] = self._parts.frontier.admit([instead])[0]
        return refusals

    def _request(self, lease: Lease) -> Request | None:
        """The request that travels with a URL. If it was handled, cannot be read, or is being worked on, its lease ends here."""
        key = lease.identity
        if key is not None and key not in self._parts.handled and key not in self.out:
            try:
                return self._read(lease.metadata)
            except (OSError, ValueError) as error:
                logger.error("The request to %s cannot be read any more, and is left out: %s", lease.url, error)
        self._parts.frontier.complete(lease)
        return None

    def _read(self, payload: bytes) -> Request:
        return load(self._large(payload[1:]).read_bytes() if payload[:1] == _FILE else payload[1:])

    def _large(self, key: bytes) -> Path:
        return self.path / "large" / key.hex()

    # Its life.

    def _keep(self) -> None:
        """Begins a checkpoint if it is time for one."""
        parts = self._parts
        if parts.error is not None:
            error, parts.error = parts.error, None
            raise error
        if time.monotonic() >= parts.due and (parts.thread is None or not parts.thread.is_alive()):
            self.write_metadata()
            parts.thread = threading.Thread(target=parts.checkpoint, name="crawler-frontier checkpoint", daemon=True)
            parts.thread.start()

    def purge(self) -> None:
        """Forgets all requests."""
        self._end()
        for name in ("frontier", "large"):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in ("handled.keys", "handled.jsonl"):
            (self.path / name).unlink(missing_ok=True)
        self._parts = _Parts(self.path, self._all_options)
        self._close = weakref.finalize(self, self._parts.close)
        self.note_access(is_change=True)
        self.write_metadata()

    def drop(self) -> None:
        """Removes the directory. Twice is as once."""
        self._end()
        with _opening:
            if _open.get(self.path) is self:
                del _open[self.path]
                shutil.rmtree(self.path, ignore_errors=True)

    def _end(self) -> None:
        self._ahead = None
        self.out = weakref.WeakValueDictionary()
        self._close()
