"""The frontier of a server, for threads and plain loops."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .._errors import LeaseOverError
from . import calls
from .answers import Busy, Drained, Explanation, Fetch, FrontierStatistics, LentUrl, Paused, QueueStatistics, Wait
from .connections import Connections, Server

if TYPE_CHECKING:
    from datetime import timedelta

    from typing_extensions import Unpack

    from .._native import Link
    from .._types import Failure, Refusal
    from .calls import Reply

#: A call for a lease waits this long at the server, in seconds, and is sent again.
WAIT = 10.0


class Lease(LentUrl):
    """A URL that is lent to this worker. ``with lease:`` gives it back at the end of the block, if it was not completed there."""

    __slots__ = ()
    _frontier: Frontier

    def __enter__(self) -> Lease:
        return self

    def __exit__(self, *raised: object) -> None:
        if not self._is_over:
            try:
                self._frontier.release(self)
            except LeaseOverError:
                # Its deadline has passed meanwhile: then it is back.
                pass


class Frontier:
    """A crawl of a server, which many workers share. Threads may share this object.

    No call is made before the first method is called; ``Frontier.open`` makes the crawl if it is not there.

    Args:
        server: Its URL, as ``"http://127.0.0.1:7071"``.
        crawl: The name of the crawl: 1 to 64 letters, digits, ``.``, ``_`` and ``-``.
        token: The server's token, if it has one.
        context: For https, in place of the system's certificates.
        timeout: Seconds that an answer may take, beyond those that a call waits for a lease.
        patience: For as many seconds a server that does not answer is asked again, and one that has no time (503).

    Each method raises ``RemoteError`` if the server refuses, or cannot be reached for so long.

    >>> from crawler_frontier.remote import Frontier
    >>> web = {"https://example.org/": ["/a", "/b"], "https://example.org/a": ["/"]}
    >>> frontier = Frontier.open("http://127.0.0.1:7071", "doc", {"politeness": {"host_delay": "10ms", "robots": False}})
    >>> frontier.seed("https://example.org/")
    >>> for lease in frontier.leases(wait=0.5):          # each worker has its own
    ...     links = web.get(lease.url)
    ...     retry = frontier.answer(lease, 200 if links else 404, links=links)
    >>> frontier.statistics().completed
    3
    """

    def __init__(
        self,
        server: str,
        crawl: str,
        *,
        token: str | None = None,
        context: ssl.SSLContext | None = None,
        timeout: float = 30.0,
        patience: float = 60.0,
    ) -> None:
        self._server = Server(server, crawl, token, context, timeout, patience)
        self._connections = Connections(self._server)

    @classmethod
    def open(
        cls,
        server: str,
        crawl: str,
        settings: Mapping[str, object] | None = None,
        *,
        token: str | None = None,
        context: ssl.SSLContext | None = None,
        timeout: float = 30.0,
        patience: float = 60.0,
    ) -> Frontier:
        """Makes a crawl, or changes the settings of one that is there.

        Args:
            settings: Sections as in ``crawler.toml``: ``{"politeness": {"host_delay": "1s"}, "serve": {"lease_timeout": "2m"}}``.
            server, crawl, token, context, timeout, patience: As those of ``Frontier``.

        Raises:
            OptionError: If a setting cannot be used. Nothing has changed.
        """
        frontier = cls(server, crawl, token=token, context=context, timeout=timeout, patience=patience)
        try:
            frontier.configure(settings)
        except BaseException:
            frontier.close()
            raise
        return frontier

    @property
    def url(self) -> str:
        """The URL of the crawl."""
        return self._server.url

    def configure(self, settings: Mapping[str, object] | None = None) -> str:
        """Gives the crawl these settings, and makes it if it is not there: ``"created"``, ``"changed"`` or ``"unchanged"``.

        Raises:
            OptionError: If a setting cannot be used. Nothing has changed.
        """
        return self._connections.ask(calls.put(settings))

    def settings(self) -> dict[str, Any]:
        """The settings of the crawl."""
        settings: dict[str, Any] = self._connections.ask(calls.describe())["settings"]
        return settings

    # URLs come in.

    def seed(self, url: str | Link) -> Refusal | None:
        """Queues a seed; returns ``None``, or the reason of its refusal."""
        return self.admit([url])[0]

    def admit(self, urls: Iterable[str | Link]) -> list[Refusal | None]:
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
            part = self._connections.ask(call)
            refusals += part
        return refusals

    # Leases go out.

    def next(self) -> Fetch[Lease] | Wait | Busy | Paused | Drained:
        """A lease, or why there is none. It does not wait."""
        lent, state = self.next_batch(1)
        return Fetch(lent[0]) if lent else state or Busy()

    def next_batch(self, most: int, *, wait: float = 0.0) -> tuple[list[Lease], Wait | Busy | Paused | Drained | None]:
        """At most this many leases, and why there are no more; ``None`` if there may be.

        Args:
            most: 1 to 1,000.
            wait: For the first one, the server waits as many seconds; at most 60.
        """
        return self._connections.ask(calls.lease(most, wait, self._lease))

    def lease(self, timeout: float | None = None, *, wait: float = WAIT) -> Lease | None:
        """Waits until a URL may be fetched, and returns its lease; ``None`` once the crawl is drained, or the time is over.

        Args:
            timeout: At most as many seconds.
            wait: So many of them in one call. A crawl counts as drained if it is so at the end of a call, since another worker may still
                bring links.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = wait if until is None else min(wait, max(0.0, until - time.monotonic()))
            lent, state = self.next_batch(1, wait=left)
            if lent:
                return lent[0]
            if isinstance(state, Drained) or (until is not None and time.monotonic() >= until):
                return None

    def leases(self, *, wait: float = WAIT) -> Iterator[Lease]:
        """Leases, one after the other, until the crawl is drained. Each thread may have its own."""
        while (lease := self.lease(wait=wait)) is not None:
            yield lease

    def _lease(self, fields: dict[str, Any], metadata: bytes) -> Lease:
        return Lease(self, fields, metadata)

    # Leases come back.

    def answer(self, lease: Lease, status: int, **reply: Unpack[Reply]) -> float | None:
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
        return self._end(lease, calls.answer(lease.token, status, reply, lease.kind))

    def complete(
        self,
        lease: Lease,
        status: int = 200,
        *,
        retry_after: float | timedelta | str | None = None,
        body: bytes | None = None,
    ) -> float | None:
        """Completes a lease with a status alone. Returns and raises as ``answer``."""
        return self._end(lease, calls.answer(lease.token, status, {"retry_after": retry_after, "body": body}, lease.kind))

    def fail(self, lease: Lease, failure: Failure, words: str = "") -> float | None:
        """Completes a lease to which no response came: ``"connect"``, ``"timeout"``, ... Returns and raises as ``answer``."""
        return self._end(lease, calls.fail(lease.token, failure, words))

    def release(self, lease: Lease) -> None:
        """Gives a lease back that was not asked for. Raises as ``answer``."""
        self._end(lease, calls.give_back(lease.token))

    def extend(self, lease: Lease) -> float:
        """Gives a lease as much time as a new one has; returns the new ``deadline``. Raises as ``answer``."""
        lease.deadline = self._connections.ask(calls.extend(lease.token))
        return lease.deadline

    def _end(self, lease: Lease, call: calls.Call[calls.T]) -> calls.T:
        try:
            ended = self._connections.ask(call)
        except LeaseOverError:
            lease._is_over = True  # pyright: ignore[reportPrivateUsage]
            raise
        lease._is_over = True  # pyright: ignore[reportPrivateUsage]
        return ended

    def answer_token(self, token: str, status: int, **reply: Unpack[Reply]) -> float | None:
        """As ``answer``, by the token of a lease, which may be another process'."""
        return self._connections.ask(calls.answer(token, status, reply))

    def complete_token(
        self,
        token: str,
        status: int = 200,
        *,
        retry_after: float | timedelta | str | None = None,
        body: bytes | None = None,
    ) -> float | None:
        """As ``complete``, by a token."""
        return self._connections.ask(calls.answer(token, status, {"retry_after": retry_after, "body": body}))

    def fail_token(self, token: str, failure: Failure, words: str = "") -> float | None:
        """As ``fail``, by a token."""
        return self._connections.ask(calls.fail(token, failure, words))

    def extend_token(self, token: str) -> float:
        """As ``extend``, by a token."""
        return self._connections.ask(calls.extend(token))

    def give_back_token(self, token: str) -> None:
        """As ``release``, by a token."""
        self._connections.ask(calls.give_back(token))

    # The crawl changes.

    def drop_host(self, host: str) -> None:
        """Drops all URLs of a host, now and from now on; ``*.NAME`` is the host and all below it."""
        self._connections.ask(calls.drop("host", host))

    def drop_queue(self, name: str) -> None:
        """Drops all URLs of a queue, now and from now on."""
        self._connections.ask(calls.drop("queue", name))

    def drop_urls(self, pattern: str) -> None:
        """Drops all URLs whose key a regular expression matches, now and from now on.

        Raises:
            OptionError: If it is none.
        """
        self._connections.ask(calls.drop("urls", pattern))

    def undo_drop(self, rule: str) -> bool:
        """Takes a drop back, by its text: ``"queue NAME"``. Says whether there was one before."""
        there = rule in self.dropped()
        self._connections.ask(calls.undo_drop(rule))
        return there

    def dropped(self) -> list[str]:
        """The rules on what is dropped."""
        return list(self.statistics().dropped)

    def pause(self) -> None:
        """Lends no more. What is out may come back."""
        self._connections.ask(calls.pause(True))

    def resume(self) -> None:
        """Lends again."""
        self._connections.ask(calls.pause(False))

    def delete(self) -> None:
        """Deletes the crawl and its files."""
        self._connections.ask(calls.delete())

    # Questions.

    def statistics(self) -> FrontierStatistics:
        """The crawl in numbers."""
        return self._connections.ask(calls.statistics())

    def refusals(self) -> dict[str, int]:
        """Of how many URLs each reason of refusal was said."""
        return self.statistics().refused

    def queues(self, most: int = 100, *, find: str = "") -> list[tuple[str, QueueStatistics]]:
        """The queues with the most URLs that wait: those of hosts by scheme, host and port, others as ``@name``.

        Args:
            most: At most 10,000.
            find: Only those whose names contain this.
        """
        return self._connections.ask(calls.queues(most, find))

    def explain(self, url: str | Link, *, identity: bytes | None = None) -> Explanation:
        """Says why a URL was not fetched, or when it will be.

        Raises:
            AddressError: If it is no URL.
        """
        return self._connections.ask(calls.explain(url, identity))

    def close(self) -> None:
        """Closes the connections. The crawl goes on, and leases stay out until their deadlines."""
        self._connections.close()

    def __len__(self) -> int:
        statistics = self.statistics()
        return statistics.queued + statistics.scheduled

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> Frontier:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<remote.Frontier at {self.url}>"
