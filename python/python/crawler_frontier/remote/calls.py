"""Each call to a server of frontiers: what is sent, and how its answer is read. Nothing here is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, NoReturn, TypedDict, TypeVar
from urllib.parse import quote, urlencode

from .._errors import (
    AddressError,
    CrawlerError,
    ForeignLeaseError,
    FrontierError,
    LeaseOverError,
    MetadataError,
    OptionError,
    RemoteError,
)
from .._native import Link
from . import answers
from .answers import Explanation, FrontierStatistics, LentUrl, QueueStatistics, State

T = TypeVar("T")

#: The server's own bounds: bytes of a line, URLs of a call, seconds of waiting.
LINE, LEASES, LONGEST = 1 << 20, 1000, 60.0
#: Bytes and lines of one call to ``urls``: others have their turn between two.
_BODY, _LINES = 1 << 20, 10_000
#: What is read of a robots.txt (RFC 9309: at least 500 KiB).
_ROBOTS = 500 << 10
#: JSON takes six bytes for one of these, and no rule has any.
_CONTROLS = {code: " " for code in range(32) if code not in (9, 10, 13)}


class Reply(TypedDict, total=False):
    """What may be said of a reply besides its status."""

    links: Iterable[str | Link] | None
    body: bytes | None
    location: str | None
    retry_after: float | timedelta | str | None
    base_href: str | None
    nofollow: bool
    etag: str | None
    last_modified: str | None
    latency: float | None
    received: int | None


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request, and how its answer is read. ``read`` is told whether it was sent more than once."""

    method: str
    path: str
    read: Callable[[bytes, bool], T]
    body: bytes = b""
    #: How long the server may wait before it answers, in seconds.
    wait: float = 0.0


# The crawl.


def put(settings: Mapping[str, object] | None) -> Call[str]:
    """Makes the crawl, or changes its settings."""
    body = b"" if settings is None else _bytes(json.dumps(settings, ensure_ascii=False))
    return Call("PUT", "", lambda answer, _: str(_json(answer)["result"]), body)


def describe() -> Call[dict[str, Any]]:
    """Its settings."""
    return Call("GET", "", lambda answer, _: _json(answer))


def delete() -> Call[None]:
    """Deletes it, with its files."""
    return Call("DELETE", "", _nothing)


def pause(is_paused: bool) -> Call[None]:
    """Lends no more, or lends again."""
    return Call("POST", "/pause" if is_paused else "/resume", _nothing)


def drop(kind: str, what: str, undo: bool = False) -> Call[list[str]]:
    """Drops what a rule names, or takes the rule back."""
    rule: dict[str, object] = {kind: what}
    if undo:
        rule["undo"] = True
    return Call("POST", "/drop", lambda answer, _: list(_json(answer)["dropped"]), _bytes(json.dumps(rule, ensure_ascii=False)))


def undo_drop(rule: str) -> Call[list[str]]:
    """Takes a rule back, by its text."""
    kind, _, what = rule.partition(" ")
    if kind not in ("host", "queue", "urls") or not what:
        raise OptionError(f"expected a drop such as `host NAME`, `queue NAME` or `urls PATTERN`, not {rule!r}")
    return drop(kind, what, undo=True)


# URLs.


def admit(urls: Iterable[str | Link]) -> Iterator[Call[list[str | None]]]:
    """Queues URLs, in calls of a bounded size. All are looked at before the first is sent."""
    given = list(urls)
    lines = [_url_line(url) for url in given]
    at = 0
    while at < len(lines):
        end, size = at, 0
        while end < len(lines) and end - at < _LINES and (size < _BODY or end == at):
            size += len(lines[end]) + 1
            end += 1
        yield Call("POST", "/urls", _verdicts(given[at:end]), b"\n".join(lines[at:end]))
        at = end


def _verdicts(urls: list[str | Link]) -> Callable[[bytes, bool], list[str | None]]:
    def read(answer: bytes, _: bool) -> list[str | None]:
        refusals: list[str | None] = []
        wrong: tuple[str, str] | None = None
        for url, verdict in zip(urls, _lines(answer), strict=True):
            name, reason = verdict["verdict"], verdict.get("reason", "")
            if name == "error" and wrong is None:
                wrong = url if isinstance(url, str) else url.url, reason
            refusals.append(None if name == "new" else reason if name == "refused" else name)
        if wrong is not None:
            kind = MetadataError if wrong[1].startswith("payload: ") else FrontierError
            raise kind(f"{wrong[0]}: {wrong[1]} (the other URLs of the call are queued)")
        return refusals

    return read


def _url_line(url: str | Link) -> bytes:
    return _link_line(url, ("unconditional", "remembered", "nofollow"))


def _link_line(url: str | Link, lacking: tuple[str, ...]) -> bytes:
    if isinstance(url, str):
        return _bytes(json.dumps(url, ensure_ascii=False))
    if said := [name for name in lacking if getattr(url, name)]:
        raise OptionError(f"{url.url}: a server of frontiers takes no link with {said[0]!r}; give it an identity of its own, or leave it out")
    fields: dict[str, object] = {"url": url.url}
    if url.identity is not None:
        try:
            fields["identity"] = url.identity.decode()
        except UnicodeDecodeError:
            raise OptionError(f"{url.url}: over HTTP, an identity is UTF-8: take its `hex()`") from None
    if url.queue is not None:
        fields["queue"] = url.queue
    if url.priority is not None:
        fields["priority"] = url.priority
    if url.depth:
        fields["depth"] = url.depth
    line = json.dumps(fields, ensure_ascii=False)
    if url.metadata:
        try:
            json.loads(url.metadata)
            # No string of JSON has a line break as it is.
            payload = url.metadata.decode().replace("\n", " ").replace("\r", " ")
        except ValueError:
            raise MetadataError(f"{url.url}: over HTTP, metadata is JSON: take `json.dumps`") from None
        line = f'{line[:-1]},"payload":{payload}}}'
    return _bytes(line)


# Leases.


def lease(most: int, wait: float, new: Callable[[dict[str, Any], bytes], _L]) -> Call[tuple[list[_L], State | None]]:
    """Leases at most this many URLs. The first is waited for."""
    if not 1 <= most <= LEASES:
        raise OptionError(f"a call may lease 1 to {LEASES} URLs, not {most}")
    wait = min(max(wait, 0.0), LONGEST)

    def read(answer: bytes, _: bool) -> tuple[list[_L], State | None]:
        lent, state = answers.leases(answer.decode())
        return [new(fields, metadata) for fields, metadata in lent], state

    return Call("POST", f"/lease?n={most}&wait={int(wait * 1000)}ms", read, wait=wait)


def answer(token: str, status: int, reply: Reply, kind: str | None = None) -> Call[float | None]:
    """Completes a lease with a reply."""
    is_page = kind not in (None, "robots")
    fields: dict[str, object] = {"token": token, "status": int(status)}
    for name in ("location", "base_href", "latency"):
        if (value := reply.get(name)) is not None:
            fields[name] = value
    if reply.get("nofollow"):
        fields["nofollow"] = True
    if (rest := reply.get("retry_after")) is not None:
        fields["retry_after"] = seconds(rest)
    body = reply.get("body")
    received = reply.get("received")
    if received is None and body is not None:
        received = len(body)
    if received:
        fields["bytes"] = received
    if not is_page:
        if body is not None:
            text = body[:_ROBOTS].decode(errors="replace").translate(_CONTROLS)
            # What is no UTF-8 takes three bytes. A quotation mark takes two: so a line has room for all of it.
            fields["body"] = text.encode()[:_ROBOTS].decode(errors="ignore")
        for name in ("etag", "last_modified"):
            if (value := reply.get(name)) is not None:
                fields[name] = value
    line = _bytes(json.dumps(fields, ensure_ascii=False))
    if links := reply.get("links"):
        lacking = ("unconditional", "remembered", "nofollow", "depth")
        line = b'%s,"links":[%s]}' % (line[:-1], b",".join(_link_line(link, lacking) for link in links))
    if len(line) > LINE:
        raise FrontierError(f"the links of a page may take {LINE} bytes, and these take {len(line)}: send some with `admit`")
    return Call("POST", "/done", _ended(token), line)


def fail(token: str, failure: str, words: str) -> Call[float | None]:
    """Completes a lease to which no response came."""
    fields = {"token": token, "failure": failure}
    if words:
        fields["message"] = words[:1000]
    return Call("POST", "/done", _ended(token), _bytes(json.dumps(fields)))


def extend(token: str) -> Call[float]:
    """Gives a lease more time; the new deadline."""

    def read(answer: bytes, _: bool) -> float:
        deadline: float = _end(token, answer)["deadline"] / 1000
        return deadline

    return Call("POST", "/extend", read, _bytes(json.dumps(token)))


def give_back(token: str) -> Call[None]:
    """Gives a lease back."""

    def read(answer: bytes, is_again: bool) -> None:
        try:
            _end(token, answer)
        except LeaseOverError:
            # The first time may have done it.
            if not is_again:
                raise

    return Call("POST", "/give_back", read, _bytes(json.dumps(token)))


def _ended(token: str) -> Callable[[bytes, bool], float | None]:
    def read(answer: bytes, _: bool) -> float | None:
        at = _end(token, answer).get("retry_at")
        return None if at is None else at / 1000

    return read


def _end(token: str, answer: bytes) -> dict[str, Any]:
    """What became of one lease.

    Raises:
        LeaseOverError, ForeignLeaseError, MetadataError, FrontierError: If nothing did.
    """
    end, = _lines(answer)
    if end["result"] == "late":
        raise LeaseOverError(f"{token}: the lease was ended before, or its deadline has passed; its URL may be lent to others")
    if end["result"] != "error":
        return end
    reason: str = end.get("reason", "")
    kind = FrontierError
    if "never lent" in reason:
        kind = ForeignLeaseError
    elif "metadata.bytes" in reason or reason.startswith("payload: "):
        kind = MetadataError
    raise kind(f"{token}: {reason}")


# Questions.


def statistics() -> Call[FrontierStatistics]:
    """The crawl in numbers."""
    return Call("GET", "/statistics", lambda answer, _: answers.statistics(_json(answer)))


def queues(most: int, find: str) -> Call[list[tuple[str, QueueStatistics]]]:
    """The queues with the most URLs that wait."""
    query = urlencode({"n": most, "find": find} if find else {"n": most})
    return Call("GET", f"/queues?{query}", lambda answer, _: [answers.queue(one) for one in _json(answer)["queues"]])


def explain(url: str | Link, identity: bytes | None) -> Call[Explanation]:
    """Why a URL was lent or not."""
    query = {"url": url if isinstance(url, str) else url.url}
    if isinstance(url, Link):
        identity = url.identity if identity is None else identity
        if url.queue is not None:
            query["queue"] = url.queue
    if identity is not None:
        query["identity"] = identity.decode()

    def read(answer: bytes, _: bool) -> Explanation:
        of = _json(answer)
        return Explanation(of["url"], of["key"], kind=of["verdict"], verdict=of["reason"], text=of["explanation"])

    return Call("GET", f"/explain?{urlencode(query)}", read)


# What all have in common.


def path_of(crawl: str) -> str:
    """The path of a crawl."""
    return f"/v1/crawls/{quote(crawl, safe='')}"


def read(call: Call[T], body: bytes, is_again: bool) -> T:
    """What an answer says.

    Raises:
        CrawlerError: If it says what is wrong, or is no answer of a server of frontiers.
    """
    try:
        return call.read(body, is_again)
    except CrawlerError:
        raise
    except (ValueError, LookupError, TypeError) as error:
        raise RemoteError(f"this is no answer of `crawler serve`: {body[:100]!r}") from error


def refuse(call: Call[Any], status: int, body: bytes) -> NoReturn:
    """Raises the server's refusal, in its words."""
    try:
        problem = _json(body)
        words = str(problem.get("detail") or problem.get("title"))
    except (ValueError, AttributeError):
        # Something between us and the server.
        words = body[:200].decode(errors="replace").strip() or "no reason was given"
    if status == 400 and call.method == "PUT":
        raise OptionError(words)
    if status == 400 and call.path.startswith("/explain"):
        raise AddressError(words)
    if status == 400 and call.path == "/drop":
        raise OptionError(words)
    raise RemoteError(f"{words} (HTTP {status})", status)


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(time: float | timedelta | str) -> float:
    """A time in seconds: a number of them, a ``timedelta``, or a text as ``"500ms"``."""
    if isinstance(time, timedelta):
        time = time.total_seconds()
    if isinstance(time, str):
        if (parts := re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*", time)) is None:
            raise OptionError(f"expected a time such as 10s or 500ms, not {time!r}")
        time = float(parts[1]) * _UNITS[parts[2]]
    if not 0 <= time < 1e15:
        raise OptionError(f"expected a number of seconds, 0 or more, not {time}")
    return float(time)


def _nothing(answer: bytes, is_again: bool) -> None:
    del answer, is_again


def _json(answer: bytes) -> dict[str, Any]:
    of: dict[str, Any] = json.loads(answer)
    return of


def _lines(answer: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer.splitlines() if line]


def _bytes(line: str) -> bytes:
    try:
        return line.encode()
    except UnicodeEncodeError:
        raise AddressError(f"{line[:200]!a} has half a surrogate pair, which no URL and no JSON can have") from None


_L = TypeVar("_L", bound=LentUrl)
