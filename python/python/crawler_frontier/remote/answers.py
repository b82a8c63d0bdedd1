"""What a server of frontiers answers, as objects. They have the names of those of a frontier in process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

_Kind: TypeAlias = Literal["page", "robots", "sitemap"]
_L = TypeVar("_L", bound="LentUrl")


class LentUrl:
    """A URL that is lent to this worker until ``deadline``, as the server says it."""

    #: Stands for the lease in any process: ``answer_token`` takes it.
    token: str
    #: What to request. Follow no redirect: complete the lease with the status and the ``location``.
    url: str
    #: A ``"robots"`` is completed with its body.
    kind: _Kind
    #: When the lease ends unless it is extended, in seconds since 1970.
    deadline: float
    priority: int
    depth: int
    #: The number of this try, from 1 on.
    attempt: int
    #: The queue that it waited in, if that is not its host's.
    queue: str | None
    identity: bytes | None
    referrer: str | None
    #: For If-None-Match and If-Modified-Since, of a robots.txt that is known.
    etag: str | None
    last_modified: str | None
    #: What came with the URL: JSON, byte by byte.
    metadata: bytes

    __slots__ = (
        "_frontier",
        "_is_over",
        "attempt",
        "deadline",
        "depth",
        "etag",
        "identity",
        "kind",
        "last_modified",
        "metadata",
        "priority",
        "queue",
        "referrer",
        "token",
        "url",
    )

    def __init__(self, frontier: object, fields: dict[str, Any], metadata: bytes) -> None:
        self._frontier = frontier
        self._is_over = False
        self.token, self.url, self.kind = fields["token"], fields["url"], fields["kind"]
        self.deadline = fields["deadline"] / 1000
        self.priority, self.depth, self.attempt = fields["priority"], fields["depth"], fields["attempt"]
        self.queue, self.referrer = fields.get("queue"), fields.get("referrer")
        identity = cast("str | None", fields.get("identity"))
        self.identity = None if identity is None else identity.encode()
        self.etag, self.last_modified = fields.get("etag"), fields.get("last_modified")
        self.metadata = metadata

    @property
    def payload(self) -> Any:
        """The ``metadata`` as an object; ``None`` if there is none."""
        return json.loads(self.metadata) if self.metadata else None

    @property
    def is_over(self) -> bool:
        """Whether it was completed or given back by this object, or the server has said that it is over."""
        return self._is_over

    def __repr__(self) -> str:
        return f"<Lease of {self.url} by {self.token}{', over' if self._is_over else ''}>"


@dataclass(frozen=True)
class Fetch(Generic[_L]):
    """A URL is lent."""

    lease: _L


@dataclass(frozen=True)
class Wait:
    """No host is due before this time, in seconds since 1970."""

    until: float


@dataclass(frozen=True)
class Busy:
    """All URLs that wait are of hosts that are being asked."""


@dataclass(frozen=True)
class Paused:
    """The crawl is paused."""


@dataclass(frozen=True)
class Drained:
    """Nothing waits and nothing is lent."""


State: TypeAlias = Wait | Busy | Paused | Drained


@dataclass(frozen=True)
class QueueStatistics:
    """What a queue waits for, as in process. Times are seconds since 1970."""

    due: float
    waiting: int
    lent: int
    failures: int
    is_retired: bool
    requests: int
    delay: float


@dataclass(frozen=True)
class Explanation:
    """Why a URL was lent or not. ``str()`` has all rules, in lines."""

    url: str
    key: str
    kind: str
    verdict: str
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class FrontierStatistics:
    """The crawl in numbers. What a server of another version says besides is left out, and what it does not say is 0."""

    queued: int = 0
    scheduled: int = 0
    leased: int = 0
    leased_robots: int = 0
    completed: int = 0
    retries: int = 0
    expired: int = 0
    unreachable: int = 0
    hosts: int = 0
    active_hosts: int = 0
    resting_hosts: int = 0
    failing_hosts: int = 0
    retired_hosts: int = 0
    #: In seconds since 1970.
    next_due: float | None = None
    #: URLs that were shown to it.
    found: int = 0
    #: URLs that were refused, by reason.
    refused: dict[str, int] = field(default_factory=lambda: {})
    #: Workers that wait for a lease.
    waiting_calls: int = 0
    paused: bool = False
    drained: bool = False
    #: The rules on what is dropped.
    dropped: tuple[str, ...] = ()
    memory: int = 0


def statistics(fields: dict[str, Any]) -> FrontierStatistics:
    """The numbers of an answer."""
    known = {name: fields[name] for name in FrontierStatistics.__dataclass_fields__ if name in fields}
    if known.get("next_due") is not None:
        known["next_due"] /= 1000
    known["dropped"] = tuple(known.get("dropped", ()))
    return FrontierStatistics(**known)


def queue(fields: dict[str, Any]) -> tuple[str, QueueStatistics]:
    """A queue of an answer, and its name."""
    return fields["queue"], QueueStatistics(
        due=fields["due"] / 1000,
        waiting=fields["waiting"],
        lent=fields["leased"],
        failures=fields["failures"],
        is_retired=fields["retired"],
        requests=fields["requests"],
        delay=fields["delay"],
    )


def leases(text: str) -> tuple[list[tuple[dict[str, Any], bytes]], State | None]:
    """The leases of an answer, each with its payload as it stands there; and why there are no more, if not just by the number asked for."""
    lent: list[tuple[dict[str, Any], bytes]] = []
    rest: dict[str, Any] = {}
    for name, begin, value, _ in _members(text, 0):
        if name != "leases":
            rest[name] = value
            continue
        at = begin + 1
        for _ in value:
            at = text.index("{", at)
            fields: dict[str, Any] = {}
            metadata = ""
            for key, start, part, end in _members(text, at):
                fields[key] = part
                if key == "payload":
                    metadata = text[start:end]
                at = end
            lent.append((fields, metadata.encode()))
            at = text.index("}", at) + 1
    return lent, _state(rest)


def _state(fields: dict[str, Any]) -> State | None:
    name = fields.get("state")
    if name == "waiting":
        return Wait(fields["retry_at"] / 1000)
    others: dict[object, State] = {"busy": Busy(), "paused": Paused(), "drained": Drained()}
    return others.get(name)


_SCAN = json.JSONDecoder().raw_decode


def _members(text: str, at: int) -> Iterator[tuple[str, int, Any, int]]:
    """The members of the object that begins here: name, where its value begins, the value, and where it ends."""

    def blank(at: int) -> int:
        while text[at] in " \t\r\n":
            at += 1
        return at

    at = blank(at)
    if text[at] != "{":
        raise ValueError("expected an object")
    at = blank(at + 1)
    while text[at] != "}":
        name, at = _SCAN(text, at)
        at = blank(at)
        if text[at] != ":":
            raise ValueError("expected a colon")
        begin = blank(at + 1)
        value, end = _SCAN(text, begin)
        yield name, begin, value, end
        at = blank(end)
        if text[at] == ",":
            at = blank(at + 1)
