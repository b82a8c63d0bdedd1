"""The frontier for asyncio and trio: the same calls, and a lease that can be awaited.

>>> import asyncio
>>> from crawler_frontier.aio import Frontier
>>> async def crawl():
...     web = {"https://example.org/": ["/a"], "https://example.org/a": ["/"]}
...     async with Frontier.open("job", robots=False, host_delay="10ms") as frontier:
...         frontier.seed("https://example.org/")
...         async for lease in frontier.leases():
...             frontier.answer(lease, 200, links=web[lease.url])
...             print(lease.url)
>>> asyncio.run(crawl())
https://example.org/
https://example.org/a

All calls but ``lease``, ``leases``, ``checkpoint`` and ``close`` are plain functions: they take microseconds, and a completion cannot be
cancelled halfway. Many tasks may wait for a lease at once, and only the first of them looks at the frontier. One frontier belongs to one
event loop.

``with lease:`` gives a lease back that was not completed in the block: at once, however the block ends, also by a cancellation. A lease
that nobody has any more is given back too, once Python has collected it.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar, cast

from ._native import Busy, Drained, Fetch, GiveUp, Wait
from ._native import Frontier as _Frontier

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from os import PathLike

    from typing_extensions import Unpack

    from ._native import (
        Answer,
        CheckpointCost,
        Completion,
        Explanation,
        FrontierOptions,
        FrontierStatistics,
        HostAnswer,
        JobOptions,
        Lease,
        Link,
        Opening,
        QueueStatistics,
        Reprioritized,
    )
    from ._types import Failure, Refusal

__all__ = ["Frontier"]

_T = TypeVar("_T")

#: A lease may be dropped by another thread's garbage collector, which cannot be awaited: while leases are out, look this often, in seconds.
_SLICE = 0.5


class Frontier:
    """A frontier for one event loop. ``Frontier.open(path, **options)`` is one in a directory, ``Frontier(**options)`` one in memory.

    Use it with ``async with``: it is opened at the beginning and closed at the end, each in a thread of its own, since both read or write
    the disk. Meanwhile a thread writes a checkpoint each ``checkpoint_every`` seconds, so that the next opening is short.

    Args:
        options: As those of ``crawler_frontier.Frontier``.

    Raises:
        OptionError, JobError, JobLockedError: From ``async with``, as ``crawler_frontier.Frontier.open`` does.
    """

    def __init__(self, **options: Unpack[FrontierOptions]) -> None:
        self._path: str | PathLike[str] | None = None
        self._options = cast("JobOptions", options)
        self._every: float | None = None
        self._core: _Frontier | None = None
        self._loop: _Loop | None = None
        self._waiting: deque[_Signal] = deque()
        self._out: set[weakref.ref[Lease]] = set()
        self._keeper: _Keeper | None = None

    @classmethod
    def open(
        cls, path: str | PathLike[str], *, checkpoint_every: float | None = 60.0, **options: Unpack[JobOptions]
    ) -> Frontier:
        """A frontier in a directory, which ``async with`` opens.

        Args:
            path: The directory; it is made if it is not there.
            checkpoint_every: Seconds between two checkpoints; ``None`` for none until the end.
            options: As those of ``crawler_frontier.Frontier.open``.
        """
        frontier = cls()
        frontier._path, frontier._every, frontier._options = path, checkpoint_every, options
        return frontier

    async def __aenter__(self) -> Frontier:
        self._loop = _Loop.running()
        path = self._path
        if path is None:
            self._core = _Frontier(**cast("Any", self._options))
        else:
            self._core = await self._loop.in_thread(lambda: _Frontier.open(path, **self._options))
            if self._every is not None:
                self._keeper = _Keeper(self._core, self._every)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Writes a checkpoint and lets the directory go. Twice is as once, and no cancellation stops it."""
        core, keeper, self._keeper = self._core, self._keeper, None
        if core is None or self._loop is None:
            return

        def end() -> None:
            try:
                if keeper is not None:
                    keeper.end()
            finally:
                core.close()

        await self._loop.in_thread(end)
        self._wake()

    @property
    def core(self) -> _Frontier:
        """The frontier without an event loop, which threads may use at the same time.

        Raises:
            RuntimeError: Outside of ``async with``.
        """
        if self._core is None:
            raise RuntimeError("the frontier is not open: use `async with`")
        return self._core

    # What waits.

    async def lease(self, *, give_ups: bool = False) -> Lease | None:
        """Waits until a URL may be fetched, and returns its lease; ``None`` once the crawl is drained.

        Args:
            give_ups: Whether leases that are to be given up are returned too; they have a ``trouble``. By default they are given up at
                once.

        Raises:
            OSError: If the disk fails.
            JobError: If the last checkpoint could not be written.
        """
        core, loop = self.core, self._loop
        assert loop is not None
        mine = _Signal()
        self._waiting.append(mine)
        try:
            while True:
                if self._keeper is not None:
                    self._keeper.check()
                # Only the first looks, so that a change wakes one task and not all.
                if self._waiting[0] is not mine:
                    await loop.wait(mine, None)
                    continue
                mine.clear()
                found = core.next()
                if isinstance(found, Fetch):
                    return self._note(found.lease)
                if isinstance(found, GiveUp):
                    if give_ups:
                        return self._note(found.lease)
                    core.give_up(found.lease)
                elif isinstance(found, Drained):
                    return None
                elif isinstance(found, Wait):
                    await loop.wait(mine, max(0.0, found.until - core.now()))
                else:
                    assert isinstance(found, Busy)
                    await loop.wait(mine, _SLICE)
        finally:
            self._waiting.remove(mine)
            self._wake()

    def leases(self, *, give_ups: bool = False) -> AsyncIterator[Lease]:
        """Leases, one after the other, until the crawl is drained. Several tasks may each have their own, or one hands them to others:

        ``async with TaskGroup() as group: async for lease in frontier.leases(): group.create_task(work(lease))``
        """
        return _Leases(self, give_ups)

    async def checkpoint(self) -> CheckpointCost | None:
        """Writes a checkpoint now, in a thread, and says what it cost; ``None`` for a frontier in memory."""
        core = self.core
        assert self._loop is not None
        return await self._loop.in_thread(core.checkpoint)

    # What changes the frontier, and may let a waiting task go on.

    def seed(self, url: str | Link) -> Refusal | None:
        """Queues a seed; returns ``None``, or the reason of its refusal."""
        return self._changed(self.core.seed(url))

    def admit(self, urls: Iterable[str | Link]) -> list[Refusal | None]:
        """Queues many URLs; returns for each ``None``, or the reason of its refusal."""
        return self._changed(self.core.admit(urls))

    def links(self, lease: Lease, links: Iterable[str | Link]) -> int:
        """Queues the links of the page that a lease is for; returns how many were new."""
        return self._changed(self.core.links(lease, links))

    def answer(self, lease: Lease, status: int, **reply: Unpack[Answer]) -> float | None:
        """Completes a lease with the server's reply: see ``crawler_frontier.Frontier.answer``."""
        return self._changed(self.core.answer(lease, status, **reply))

    def complete(self, lease: Lease, status: int = 200, **reply: Unpack[Completion]) -> float | None:
        """Completes a lease with a status alone: see ``crawler_frontier.Frontier.complete``."""
        return self._changed(self.core.complete(lease, status, **reply))

    def fail(self, lease: Lease, failure: Failure, words: str = "") -> float | None:
        """Completes a lease to which no response came: ``"connect"``, ``"timeout"``, ..."""
        return self._changed(self.core.fail(lease, failure, words))

    def release(self, lease: Lease) -> None:
        """Gives a lease back that was not asked for."""
        self.core.release(lease)
        self._wake()

    def give_up(self, lease: Lease) -> None:
        """Completes a lease that has a ``trouble``."""
        self.core.give_up(lease)
        self._wake()

    def answered(self, lease: Lease, status: int, **answer: Unpack[HostAnswer]) -> None:
        """Says that the host of a lease has answered: see ``crawler_frontier.Frontier.answered``."""
        self.core.answered(lease, status, **answer)
        self._wake()

    def host_was_asked(self, url: str | Link) -> None:
        """Notes that other software sent a request to the host of this URL, or to the queue of this link."""
        self.core.host_was_asked(url)
        self._wake()

    def schedule(self, url: str | Link, at: float) -> Refusal | None:
        """Queues a URL for a time, whether it was seen or not."""
        return self._changed(self.core.schedule(url, at))

    def schedule_again(self, lease: Lease, at: float) -> Refusal | None:
        """Schedules the page of a lease to be fetched again. Call it before the lease is completed."""
        return self._changed(self.core.schedule_again(lease, at))

    def ask_again(self) -> int:
        """Queues all URLs again that were given up with their hosts."""
        return self._changed(self.core.ask_again())

    def reprioritize(
        self,
        scores: Mapping[int, int] | Mapping[str, int] | Mapping[Link, int] | Iterable[tuple[int | str | Link, int]],
        *,
        fingerprints: bool = False,
    ) -> Reprioritized:
        """Gives URLs that wait other priorities: see ``crawler_frontier.Frontier.reprioritize``."""
        return self._changed(self.core.reprioritize(scores, fingerprints=fingerprints))

    def drop_host(self, host: str) -> None:
        """Drops all URLs of a host, now and from now on."""
        self.core.drop_host(host)
        self._wake()

    def drop_queue(self, name: str) -> None:
        """Drops all URLs of a queue, now and from now on."""
        self.core.drop_queue(name)
        self._wake()

    def drop_urls(self, pattern: str) -> None:
        """Drops all URLs whose key a regular expression matches, now and from now on."""
        self.core.drop_urls(pattern)
        self._wake()

    def undo_drop(self, rule: str) -> bool:
        """Takes a drop back, by its text: ``"queue NAME"``; says whether there was one."""
        return self._changed(self.core.undo_drop(rule))

    # Questions.

    @property
    def opening(self) -> Opening | None:
        """What was found when it was opened."""
        return self.core.opening

    def now(self) -> float:
        """The time of its clock."""
        return self.core.now()

    def statistics(self) -> FrontierStatistics:
        """The frontier in numbers."""
        return self.core.statistics()

    def queue_statistics(self, url: str | Link) -> QueueStatistics | None:
        """What the queue of this URL's host waits for, or one by its name, as ``@name``."""
        return self.core.queue_statistics(url)

    def queues(self) -> list[tuple[str, QueueStatistics]]:
        """What all queues in memory wait for."""
        return self.core.queues()

    def explain(self, url: str | Link, *, identity: bytes | None = None) -> Explanation:
        """Says why a URL was not fetched, or when it will be."""
        return self.core.explain(url, identity=identity)

    def __len__(self) -> int:
        return len(self.core)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<aio.Frontier over {self._core!r}>" if self._core else "<aio.Frontier, not open>"

    def _changed(self, result: _T) -> _T:
        self._wake()
        return result

    def _wake(self) -> None:
        """Lets the first task that waits look again."""
        if self._waiting:
            self._waiting[0].set()

    def _note(self, lease: Lease) -> Lease:
        """Looks again when this lease is dropped without being completed."""
        self._out.add(weakref.ref(lease, self._dropped))
        return lease

    def _dropped(self, lease: weakref.ref[Lease]) -> None:
        # This may be a garbage collection in any thread. A set is changed in one step.
        self._out.discard(lease)
        if self._loop is not None and self._waiting:
            self._loop.soon(self._wake)


class _Leases:
    """Leases until the crawl is drained. It is no generator: those must be closed, and would keep the lease that they handed out."""

    def __init__(self, frontier: Frontier, give_ups: bool) -> None:
        self._frontier, self._give_ups = frontier, give_ups

    def __aiter__(self) -> _Leases:
        return self

    async def __anext__(self) -> Lease:
        lease = await self._frontier.lease(give_ups=self._give_ups)
        if lease is None:
            raise StopAsyncIteration
        return lease


class _Signal:
    """A flag that one task waits for."""

    def __init__(self) -> None:
        self._is_set = False
        self.wake: Callable[[], object] | None = None

    def set(self) -> None:
        self._is_set = True
        if self.wake is not None:
            self.wake()

    def clear(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set


class _Loop:
    """What is needed of an event loop."""

    @staticmethod
    def running() -> _Loop:
        """The one that runs here."""
        trio = sys.modules.get("trio")
        if trio is not None:
            try:
                return _Trio(trio, trio.lowlevel.current_trio_token())
            except RuntimeError:
                pass
        return _Asyncio()

    async def wait(self, signal: _Signal, timeout: float | None) -> None:
        """Waits for a signal, at most this long."""
        raise NotImplementedError

    async def in_thread(self, call: Callable[[], _T]) -> _T:
        """Calls in a thread, and waits for its end even if this is cancelled: only then it is cancelled."""
        raise NotImplementedError

    def soon(self, call: Callable[[], object]) -> None:
        """Calls in the loop's thread, from any thread."""
        raise NotImplementedError


class _Asyncio(_Loop):
    def __init__(self) -> None:
        import asyncio

        self._asyncio = asyncio
        self._loop = asyncio.get_running_loop()

    async def wait(self, signal: _Signal, timeout: float | None) -> None:
        if signal.is_set():
            # Others have their turn all the same.
            await self._asyncio.sleep(0)
            return
        woken = self._loop.create_future()

        def wake() -> None:
            if not woken.done():
                woken.set_result(None)

        signal.wake = wake
        timer = None if timeout is None else self._loop.call_later(timeout, wake)
        try:
            await woken
        finally:
            signal.wake = None
            if timer is not None:
                timer.cancel()

    async def in_thread(self, call: Callable[[], _T]) -> _T:
        running = self._loop.run_in_executor(None, call)
        try:
            return await self._asyncio.shield(running)
        except self._asyncio.CancelledError:
            await self._asyncio.wait([running])
            if not running.cancelled():
                running.exception()  # It has been seen.
            raise

    def soon(self, call: Callable[[], object]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call)


class _Trio(_Loop):
    def __init__(self, trio: Any, token: Any) -> None:
        self._trio, self._token = trio, token

    async def wait(self, signal: _Signal, timeout: float | None) -> None:
        if signal.is_set():
            await self._trio.lowlevel.checkpoint()
            return
        event = self._trio.Event()
        signal.wake = event.set
        try:
            with self._trio.move_on_after(float("inf") if timeout is None else timeout):
                await event.wait()
        finally:
            signal.wake = None

    async def in_thread(self, call: Callable[[], _T]) -> _T:
        with self._trio.CancelScope(shield=True):
            result: _T = await self._trio.to_thread.run_sync(call)
        return result

    def soon(self, call: Callable[[], object]) -> None:
        try:
            self._token.run_sync_soon(call)
        except self._trio.RunFinishedError:
            pass


class _Keeper:
    """Writes a checkpoint from time to time, in a thread of its own."""

    def __init__(self, core: _Frontier, every: float) -> None:
        self._core, self._every = core, every
        self._ended = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="crawler-frontier checkpoints", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        rest = self._every
        while not self._ended.wait(rest):
            began = time.monotonic()
            try:
                self._core.checkpoint()
            except BaseException as error:
                self._error = error
                return
            # A slow disk is not asked all the time.
            rest = max(self._every, 5 * (time.monotonic() - began))

    def check(self) -> None:
        """Raises what ended it."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def end(self) -> None:
        """Ends it, after the checkpoint that is being written."""
        self._ended.set()
        self._thread.join()
