"""The frontier of a server, for asyncio: the same calls, each awaited.

>>> import asyncio
>>> from crawler_frontier.remote import aio
>>> web = {"https://example.org/": ["/a", "/b"], "https://example.org/a": ["/"]}
>>> async def crawl(workers=8):
...     settings = {"politeness": {"host_delay": "10ms", "robots": False}}
...     async with aio.Frontier("http://127.0.0.1:7071", "doc-aio", settings) as frontier:
...         await frontier.seed("https://example.org/")
...         async def work():
...             async for lease in frontier.leases(wait=0.5):
...                 async with lease:                    # given back, if this task is cancelled
...                     links = web.get(lease.url, [])   # await your client here
...                     await frontier.answer(lease, 200, links=links)
...         await asyncio.gather(*(work() for _ in range(workers)))
...         return (await frontier.statistics()).completed
>>> asyncio.run(crawl())
3

A call that is cancelled may have been done. A call for a lease that is cancelled closes its connection, and the server gives back what it
was to get; in the worst case that is lent again after its deadline.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .._errors import LeaseOverError
from . import calls
from .answers import Busy, Drained, Explanation, Fetch, FrontierStatistics, LentUrl, Paused, QueueStatistics, Wait
from .connections import Server
from .frontier import WAIT
from .streams import Streams

if TYPE_CHECKING:
    from datetime import timedelta

    from typing_extensions import Unpack

    from .._native import Link
    from .._types import Failure, Refusal
    from .calls import Reply


class Lease(LentUrl):
    """A URL that is lent to this worker. ``async with lease:`` gives it back at the end of the block, if it was not completed there."""

    __slots__ = ()
    _frontier: Frontier

    async def __aenter__(self) -> Lease:
        return self

    async def __aexit__(self, *raised: object) -> None:
        if not self._is_over:
            try:
                await self._frontier.release(self)
            except LeaseOverError:
                # Its deadline has passed meanwhile: then it is back.
                pass


class Frontier:
    """A crawl of a server, which many workers share, for one event loop. Use it with ``async with``.

    Args:
        server: Its URL, as ``"http://127.0.0.1:7071"``.
        crawl: The name of the crawl.
        settings: Sections as in ``crawler.toml``. With them, the crawl is made if it is not there, and its settings are changed.
        token, context, timeout, patience: As those of ``crawler_frontier.remote.Frontier``.

    Each method raises what that of ``crawler_frontier.remote.Frontier`` does.
    """

    def __init__(
        self,
        server: str,
        crawl: str,
        settings: Mapping[str, object] | None = None,
        *,
        token: str | None = None,
        context: ssl.SSLContext | None = None,
        timeout: float = 30.0,
        patience: float = 60.0,
    ) -> None:
        self._server = Server(server, crawl, token, context, timeout, patience)
        self._connections = Streams(self._server)
        self._settings = settings

    @property
    def url(self) -> str:
        """The URL of the crawl."""
        return self._server.url

    async def configure(self, settings: Mapping[str, object] | None = None) -> str:
        """Gives the crawl these settings, and makes it if it is not there: ``"created"``, ``"changed"`` or ``"unchanged"``.

        Raises:
            OptionError: If a setting cannot be used. Nothing has changed.
        """
        return await self._connections.ask(calls.put(settings))

    async def settings(self) -> dict[str, Any]:
        """The settings of the crawl."""
        settings: dict[str, Any] = (await self._connections.ask(calls.describe()))["settings"]
        return settings

    # URLs come in.

    async def seed(self, url: str | Link) -> Refusal | None:
        """Queues a seed; returns ``None``, or the reason of its refusal."""
        return (await self.admit([url]))[0]

    async def admit(self, urls: Iterable[str | Link]) -> list[Refusal | None]:
        """Queues many URLs; returns for each ``None``, or the reason of its refusal. What was accepted outlives a kill of the server.

        A URL without a ``depth`` is a seed. If the connection broke meanwhile, and the call was sent again, a URL of this call may be
        ``"seen"``.

        Raises:
            AddressError, OptionError, MetadataError: If one cannot be sent: metadata that is no JSON, an identity that is no UTF-8, an
                ``unconditional`` link. Nothing was queued.
            FrontierError, MetadataError: If the server finds one wrong. The others are queued.
        """
        refusals: list[Any] = []
        for call in calls.admit(urls):
            part = await self._connections.ask(call)
            refusals += part
        return refusals

    # Leases go out.

    async def next(self) -> Fetch[Lease] | Wait | Busy | Paused | Drained:
        """A lease, or why there is none. It does not wait."""
        lent, state = await self.next_batch(1)
        return Fetch(lent[0]) if lent else state or Busy()

    async def next_batch(self, most: int, *, wait: float = 0.0) -> tuple[list[Lease], Wait | Busy | Paused | Drained | None]:
        """At most this many leases, and why there are no more; ``None`` if there may be.

        Args:
            most: 1 to 1,000.
            wait: For the first one, the server waits as many seconds; at most 60.
        """
        return await self._connections.ask(calls.lease(most, wait, self._lease))

    async def lease(self, timeout: float | None = None, *, wait: float = WAIT) -> Lease | None:
        """Waits until a URL may be fetched, and returns its lease; ``None`` once the crawl is drained, or the time is over.

        Args:
            timeout: At most as many seconds.
            wait: So many of them in one call. A crawl counts as drained if it is so at the end of a call, since another worker may still
                bring links.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = wait if until is None else min(wait, max(0.0, until - time.monotonic()))
            lent, state = await self.next_batch(1, wait=left)
            if lent:
                return lent[0]
            if isinstance(state, Drained) or (until is not None and time.monotonic() >= until):
                return None

    def leases(self, *, wait: float = WAIT) -> AsyncIterator[Lease]:
        """Leases, one after the other, until the crawl is drained. Each task may have its own."""
        return _Leases(self, wait)

    def _lease(self, fields: dict[str, Any], metadata: bytes) -> Lease:
        return Lease(self, fields, metadata)

    # Leases come back.

    async def answer(self, lease: Lease, status: int, **reply: Unpack[Reply]) -> float | None:
        """Completes a lease with the server's reply, and queues what that leads to: the links of a page, or the target of a redirect.

        What a page brought outlives a kill of the server once this returns. Twice is as once.

        Args:
            lease: It is over then.
            status: The HTTP status.
            reply: As that of ``crawler_frontier.Frontier.answer``: ``links``, ``body`` (of a robots.txt), ``location``, ``retry_after``,
                ``latency``, ...

        Returns:
            When the URL will be lent again, in seconds since 1970; ``None`` if it is done.

        Raises:
            LeaseOverError: If it is over: its URL may be lent to others. Nothing has changed.
            ForeignLeaseError: If another crawl lent it. Nothing has changed.
            FrontierError, MetadataError: If a link cannot be taken. The page will be lent again.
        """
        return await self._end(lease, calls.answer(lease.token, status, reply, lease.kind))

    async def complete(
        self,
        lease: Lease,
        status: int = 200,
        *,
        retry_after: float | timedelta | str | None = None,
        body: bytes | None = None,
    ) -> float | None:
        """Completes a lease with a status alone. Returns and raises as ``answer``."""
        return await self._end(lease, calls.answer(lease.token, status, {"retry_after": retry_after, "body": body}, lease.kind))

    async def fail(self, lease: Lease, failure: Failure, words: str = "") -> float | None:
        """Completes a lease to which no response came: ``"connect"``, ``"timeout"``, ... Returns and raises as ``answer``."""
        return await self._end(lease, calls.fail(lease.token, failure, words))

    async def release(self, lease: Lease) -> None:
        """Gives a lease back that was not asked for. Raises as ``answer``."""
        await self._end(lease, calls.give_back(lease.token))

    async def extend(self, lease: Lease) -> float:
        """Gives a lease as much time as a new one has; returns the new ``deadline``. Raises as ``answer``."""
        lease.deadline = await self._connections.ask(calls.extend(lease.token))
        return lease.deadline

    async def _end(self, lease: Lease, call: calls.Call[calls.T]) -> calls.T:
        try:
            ended = await self._connections.ask(call)
        except LeaseOverError:
            lease._is_over = True  # pyright: ignore[reportPrivateUsage]
            raise
        lease._is_over = True  # pyright: ignore[reportPrivateUsage]
        return ended

    async def answer_token(self, token: str, status: int, **reply: Unpack[Reply]) -> float | None:
        """As ``answer``, by the token of a lease, which may be another process'."""
        return await self._connections.ask(calls.answer(token, status, reply))

    async def complete_token(
        self,
        token: str,
        status: int = 200,
        *,
        retry_after: float | timedelta | str | None = None,
        body: bytes | None = None,
    ) -> float | None:
        """As ``complete``, by a token."""
        return await self._connections.ask(calls.answer(token, status, {"retry_after": retry_after, "body": body}))

    async def fail_token(self, token: str, failure: Failure, words: str = "") -> float | None:
        """As ``fail``, by a token."""
        return await self._connections.ask(calls.fail(token, failure, words))

    async def extend_token(self, token: str) -> float:
        """As ``extend``, by a token."""
        return await self._connections.ask(calls.extend(token))

    async def give_back_token(self, token: str) -> None:
        """As ``release``, by a token."""
        await self._connections.ask(calls.give_back(token))

    # The crawl changes.

    async def drop_host(self, host: str) -> None:
        """Drops all URLs of a host, now and from now on; ``*.NAME`` is the host and all below it."""
        await self._connections.ask(calls.drop("host", host))

    async def drop_queue(self, name: str) -> None:
        """Drops all URLs of a queue, now and from now on."""
        await self._connections.ask(calls.drop("queue", name))

    async def drop_urls(self, pattern: str) -> None:
        """Drops all URLs whose key a regular expression matches, now and from now on.

        Raises:
            OptionError: If it is none.
        """
        await self._connections.ask(calls.drop("urls", pattern))

    async def undo_drop(self, rule: str) -> bool:
        """Takes a drop back, by its text: ``"queue NAME"``. Says whether there was one before."""
        there = rule in await self.dropped()
        await self._connections.ask(calls.undo_drop(rule))
        return there

    async def dropped(self) -> list[str]:
        """The rules on what is dropped."""
        return list((await self.statistics()).dropped)

    async def pause(self) -> None:
        """Lends no more. What is out may come back."""
        await self._connections.ask(calls.pause(True))

    async def resume(self) -> None:
        """Lends again."""
        await self._connections.ask(calls.pause(False))

    async def delete(self) -> None:
        """Deletes the crawl and its files."""
        await self._connections.ask(calls.delete())

    # Questions.

    async def statistics(self) -> FrontierStatistics:
        """The crawl in numbers."""
        return await self._connections.ask(calls.statistics())

    async def refusals(self) -> dict[str, int]:
        """Of how many URLs each reason of refusal was said."""
        return (await self.statistics()).refused

    async def queues(self, most: int = 100, *, find: str = "") -> list[tuple[str, QueueStatistics]]:
        """The queues with the most URLs that wait: those of hosts by scheme, host and port, others as ``@name``.

        Args:
            most: At most 10,000.
            find: Only those whose names contain this.
        """
        return await self._connections.ask(calls.queues(most, find))

    async def explain(self, url: str | Link, *, identity: bytes | None = None) -> Explanation:
        """Says why a URL was not fetched, or when it will be.

        Raises:
            AddressError: If it is no URL.
        """
        return await self._connections.ask(calls.explain(url, identity))

    async def close(self) -> None:
        """Closes the connections. The crawl goes on, and leases stay out until their deadlines."""
        await self._connections.close()

    async def __aenter__(self) -> Frontier:
        try:
            if self._settings is not None:
                await self.configure(self._settings)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<remote.aio.Frontier at {self.url}>"


class _Leases:
    """Leases until the crawl is drained. It is no generator, which would have to be closed."""

    def __init__(self, frontier: Frontier, wait: float) -> None:
        self._frontier, self._wait = frontier, wait

    def __aiter__(self) -> _Leases:
        return self

    async def __anext__(self) -> Lease:
        lease = await self._frontier.lease(wait=self._wait)
        if lease is None:
            raise StopAsyncIteration
        return lease
