"""The storage client: which directory a queue is in, and where the other storages are."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, cast

from crawlee.configuration import Configuration
from crawlee.storage_clients import FileSystemStorageClient, StorageClient
from crawlee.storage_clients.models import RequestQueueMetadata

from .queue import FrontierRequestQueueClient
from .store import METADATA, Store

if TYPE_CHECKING:
    from collections.abc import Hashable

    from crawlee.storage_clients._base import DatasetClient, KeyValueStoreClient
    from typing_extensions import Unpack

    from .._native import JobOptions

#: Where queues are, as Crawlee's file system client has them.
QUEUES = "request_queues"


class FrontierStorageClient(StorageClient):
    """A storage client for Crawlee whose request queues are frontiers in directories.

    Args:
        others: The client for datasets and key-value stores; Crawlee's file system client by default.
        rest_when_blocked: Whether a host rests as after a 429, for longer each time, when Crawlee gives a request back to try it with
            another session: the host has answered 401, 403 or 429, or your handler raised a ``SessionError``.
        options: Options of ``crawler_frontier.Frontier.open``: ``host_delay="1s"``, ``connections_per_host=4``,
            ``hosts={"*.slow.example": {"host_delay": 5}}``, ... By default a host gets one request at a time, and rests for a second after it.

    Raises:
        ValueError: If ``robots`` is among the options: Crawlee itself asks for robots.txt, with ``respect_robots_txt_file=True``.
    """

    def __init__(
        self, *, others: StorageClient | None = None, rest_when_blocked: bool = True, **options: Unpack[JobOptions]
    ) -> None:
        if options.get("robots"):
            raise ValueError("a request queue cannot fetch robots.txt: set respect_robots_txt_file=True of the crawler")
        self._others = FileSystemStorageClient() if others is None else others
        self._rest_when_blocked = rest_when_blocked
        self._options = options

    def get_storage_client_cache_key(self, configuration: Configuration) -> Hashable:
        """Called by Crawlee. Storages in one directory are one, whichever client opens them."""
        return (
            super().get_storage_client_cache_key(configuration),
            configuration.storage_dir,
            self._others.get_storage_client_cache_key(configuration),
        )

    async def create_dataset_client(
        self,
        *,
        id: str | None = None,
        name: str | None = None,
        alias: str | None = None,
        configuration: Configuration | None = None,
    ) -> DatasetClient:
        """Called by Crawlee: a dataset of the other client."""
        return await self._others.create_dataset_client(id=id, name=name, alias=alias, configuration=configuration)

    async def create_kvs_client(
        self,
        *,
        id: str | None = None,
        name: str | None = None,
        alias: str | None = None,
        configuration: Configuration | None = None,
    ) -> KeyValueStoreClient:
        """Called by Crawlee: a key-value store of the other client."""
        return await self._others.create_kvs_client(id=id, name=name, alias=alias, configuration=configuration)

    async def create_rq_client(
        self,
        *,
        id: str | None = None,
        name: str | None = None,
        alias: str | None = None,
        configuration: Configuration | None = None,
    ) -> FrontierRequestQueueClient:
        """Called by Crawlee: a request queue, in ``request_queues`` of Crawlee's storage directory.

        Raises:
            ValueError: If no queue has this id, or a name or alias leads out of that directory.
            JobLockedError: If another process has it open.
            JobError, OptionError: As ``crawler_frontier.Frontier.open``.
        """
        configuration = configuration or Configuration.get_global_configuration()
        given = {"id": id, "name": name, "alias": alias}
        if len(said := [f'"{key}"' for key, value in given.items() if value]) > 1:
            raise ValueError(
                'Only one of "id", "name", "alias" can be specified, but following arguments were specified: '
                f"{', '.join(said)}."
            )
        base = Path(configuration.storage_dir) / QUEUES
        path, metadata = await asyncio.to_thread(_find, base, id, name, alias)
        store = await asyncio.to_thread(Store.open, path, metadata, self._options)
        client = FrontierRequestQueueClient(store, rest_when_blocked=self._rest_when_blocked)
        await self._purge_if_needed(client, configuration)
        return client


def _find(base: Path, id: str | None, name: str | None, alias: str | None) -> tuple[Path, RequestQueueMetadata]:
    """The directory of a queue and what is written there about it."""
    if id:
        for path in base.glob(f"*/{METADATA}"):
            found = _read(path)
            if found is not None and found.id == id:
                return path.parent, found
        raise ValueError(f'Request queue with ID "{id}" not found')
    within = name or alias or "default"
    if Path(within).name != within or within in {".", ".."} or os.sep in within or "\0" in within:
        raise ValueError(f'Invalid storage name or alias "{within}": it must be the name of a directory')
    path = base / within
    now = datetime.now(timezone.utc)
    new = RequestQueueMetadata(
        id=secrets.token_hex(8),
        name=name,
        created_at=now,
        accessed_at=now,
        modified_at=now,
        had_multiple_clients=False,
        handled_request_count=0,
        pending_request_count=0,
        total_request_count=0,
    )
    return path, _read(path / METADATA) or new


def _read(path: Path) -> RequestQueueMetadata | None:
    try:
        return RequestQueueMetadata(**cast("dict[str, object]", json.loads(path.read_bytes())))  # type: ignore[arg-type]
    except (OSError, ValueError):
        return None
