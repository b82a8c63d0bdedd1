"""Crawlee's request queue over a store."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from crawlee.storage_clients._base import RequestQueueClient
from crawlee.storage_clients.models import AddRequestsResponse, ProcessedRequest

from .handled import digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawlee import Request
    from crawlee._request import CrawleeRequestData
    from crawlee.storage_clients.models import RequestQueueMetadata

    from .._native import Lease
    from .store import Store

#: Crawlee looks for work this often, in seconds. Hosts that are due sooner are waited for.
_PATIENCE = 0.5


class _Out(NamedTuple):
    """A request that was fetched."""

    lease: Lease
    request: Request
    #: How many sessions it had used by then.
    sessions: int


class FrontierRequestQueueClient(RequestQueueClient):
    """A request queue of Crawlee whose requests are in a frontier.

    What a call did outlives a kill once it returns. Requests that were fetched, and neither handled nor reclaimed, come again when the queue is
    opened again, or when this object is gone.
    """

    def __init__(self, store: Store, *, rest_when_blocked: bool) -> None:
        self._store = store
        self._rest_when_blocked = rest_when_blocked
        self._out: dict[str, _Out] = {}

    @property
    def path_to_rq(self) -> Path:
        """The directory of the queue. ``crawler stats`` reads the frontier in it."""
        return self._store.path

    async def get_metadata(self) -> RequestQueueMetadata:
        """Called by Crawlee. What is being worked on counts as pending."""
        return self._store.metadata()

    async def drop(self) -> None:
        """Called by Crawlee: removes the directory."""
        self._out.clear()
        await asyncio.to_thread(self._store.drop)

    async def purge(self) -> None:
        """Called by Crawlee: forgets all requests, handled ones too."""
        self._out.clear()
        await asyncio.to_thread(self._store.purge)

    async def add_batch_of_requests(
        self, requests: Sequence[Request], *, forefront: bool = False
    ) -> AddRequestsResponse:
        """Called by Crawlee. With ``forefront``, a request that waits already goes to the front; to find it takes a microsecond for each
        request that waits.
        """
        are_new = self._store.add(requests, forefront=forefront)
        self._store.note_access(is_change=True)
        return AddRequestsResponse(
            processed_requests=[
                ProcessedRequest(
                    unique_key=request.unique_key,
                    was_already_present=not is_new,
                    was_already_handled=not is_new and self._store.has_handled(digest(request.unique_key)),
                )
                for request, is_new in zip(requests, are_new, strict=True)
            ],
            unprocessed_requests=[],
        )

    async def get_request(self, unique_key: str) -> Request | None:
        """Called by Crawlee. It takes a microsecond for each request that waits, or looks through the file of handled ones."""
        self._store.note_access()
        out = self._out.get(unique_key)
        return out.request if out is not None else self._store.find(unique_key)

    async def fetch_next_request(self) -> Request | None:
        """Called by Crawlee. ``None`` if no host is due that a request waits for."""
        found = self._store.next()
        if not isinstance(found, tuple):
            return None
        lease, request = found
        self._out[request.unique_key] = _Out(lease, request, _sessions(request))
        self._store.out[digest(request.unique_key)] = lease
        return request

    async def mark_request_as_handled(self, request: Request) -> ProcessedRequest | None:
        """Called by Crawlee. ``None`` if the request was not fetched from here."""
        out = self._out.get(request.unique_key)
        if out is None:
            return None
        if request.handled_at is None:
            request.handled_at = datetime.now(timezone.utc)
        self._store.handle(out.lease, request)
        return self._ended(request, is_handled=True)

    async def reclaim_request(self, request: Request, *, forefront: bool = False) -> ProcessedRequest | None:
        """Called by Crawlee. ``None`` if the request was not fetched from here."""
        out = self._out.get(request.unique_key)
        if out is None:
            return None
        is_blocked = self._rest_when_blocked and _sessions(request) > out.sessions
        self._store.reclaim(out.lease, request, forefront=forefront, is_blocked=is_blocked)
        return self._ended(request, is_handled=False)

    def _ended(self, request: Request, *, is_handled: bool) -> ProcessedRequest:
        del self._out[request.unique_key]
        self._store.out.pop(digest(request.unique_key), None)
        self._store.note_access(is_change=True)
        return ProcessedRequest(
            unique_key=request.unique_key, was_already_present=True, was_already_handled=is_handled
        )

    async def is_empty(self) -> bool:
        """Called by Crawlee: whether no request may be fetched now. Requests whose hosts rest are not there to be fetched; ``is_finished``
        counts them. A host that is due within half a second is waited for, so that a pause is as long as it should be.
        """
        self._store.note_access()
        patience = self._store.now() + _PATIENCE
        while (due := self._store.look()) != 0.0:
            now = self._store.now()
            if due is None or due > patience or now >= patience:
                return True
            await self._store.wait(max(0.0, due - now))
        return False

    async def is_finished(self) -> bool:
        """Called by Crawlee: whether no request waits, and none is being worked on."""
        return self._store.is_finished()


def _sessions(request: Request) -> int:
    """How many sessions a request has used up. Crawlee's own property would add what it does not find."""
    data: CrawleeRequestData | None = getattr(request.user_data, "crawlee_data", None)
    return (data.session_rotation_count or 0) if data is not None else 0
