"""Connections that break, and servers that are busy, slow or none: what is sent again, and for how long."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_frontier import Link, RemoteError
from crawler_frontier.remote import Frontier, Wait, aio, answers

SEEN = b'{"verdict":"seen"}\n'
EMPTY = b'{"leases":[],"state":"waiting","retry_at":1500}'


def whole(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


@contextmanager
def server(*answers: bytes | None) -> Generator[tuple[str, list[bytes]], None, None]:
    """Gives each of these answers once: `None` is silence, and what is not whole ends the connection. Yields its URL, and what it was sent."""
    left, asked = list(answers), list[bytes]()
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            while line := lines.readline():
                length = 0
                while (header := lines.readline().strip()) != b"":
                    name, _, value = header.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                asked.append(line.split(b" ")[1] + b" " + lines.read(length))
                answer = left.pop(0) if left else whole(b"?", "500 Too Many")
                if answer is None:
                    continue
                connection.sendall(answer)
                head, _, body = answer.partition(b"\r\n\r\n")
                if b"chunked" not in head and b"Content-Length: %d\r\n" % len(body) not in answer:
                    return

    def accept() -> None:
        while True:
            try:
                connections.append(listener.accept()[0])
            except OSError:
                return
            threading.Thread(target=serve, args=[connections[-1]], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for connection in connections:
            connection.close()


def ask_threads(url: str, times: int, patience: float) -> list[str | None]:
    with Frontier(url, "c", timeout=0.3, patience=patience) as frontier:
        return [frontier.seed("https://a.example/") for _ in range(times)]


def ask_tasks(url: str, times: int, patience: float) -> list[str | None]:
    async def main() -> list[str | None]:
        async with aio.Frontier(url, "c", timeout=0.3, patience=patience) as frontier:
            return [await frontier.seed("https://a.example/") for _ in range(times)]

    return asyncio.run(main())


Ask = Callable[[str, int, float], "list[str | None]"]
both = pytest.mark.parametrize("ask", [ask_threads, ask_tasks])


@both
@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Le",
        whole(SEEN)[:-3],
        b"SSH-2.0\r\n\r\n",
        whole(b"{}", "503 Service Unavailable", "Retry-After: 1\r\n"),
        None,
    ],
)
def test_a_call_is_sent_again(ask: Ask, broken: bytes | None) -> None:
    with server(broken, whole(SEEN), broken, whole(SEEN)) as (url, asked):
        assert ask(url, 2, 10) == ["seen", "seen"]
    assert asked == [b'/v1/crawls/c/urls "https://a.example/"'] * 4


@both
def test_a_connection_serves_many_calls(ask: Ask) -> None:
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%s\r\nE;x=y\r\n%s\r\n0\r\n\r\n" % (SEEN[:5], SEEN[5:])
    closing = whole(SEEN, headers="Connection: close\r\n")
    with server(whole(SEEN), chunks, b"HTTP/1.1 100 Continue\r\n\r\n" + whole(SEEN), closing, whole(SEEN)) as (url, asked):
        assert ask(url, 5, 1) == ["seen"] * 5
    assert len(asked) == 5


@both
def test_patience_ends(ask: Ask) -> None:
    with server(*[b""] * 9) as (url, _), pytest.raises(RemoteError, match="/v1/crawls/c: ") as refused:
        ask(url, 1, 0.25)
    assert refused.value.status is None and refused.value.__cause__ is not None
    busy = whole(b'{"detail":"try later"}', "503 Service Unavailable")
    with server(*[busy] * 9) as (url, asked), pytest.raises(RemoteError, match=r"try later \(HTTP 503\)") as refused:
        ask(url, 1, 0.25)
    assert refused.value.status == 503 and len(asked) == 2
    with server(None) as (url, asked), pytest.raises(RemoteError, match="timed out|no answer came within"):
        ask(url, 1, 0.25)
    assert len(asked) == 1


@both
def test_a_refusal_is_not_sent_again(ask: Ask) -> None:
    # A proxy's words, where there are none of the server's.
    with server(whole(b"<h1>Bad Gateway</h1>", "502 Bad Gateway")) as (url, asked), pytest.raises(RemoteError, match="<h1>Bad"):
        ask(url, 1, 10)
    assert len(asked) == 1
    with server(whole(b"<h1>Welcome</h1>")) as (url, _), pytest.raises(RemoteError, match="no answer of `crawler serve`"):
        ask(url, 1, 10)


@both
def test_an_answer_without_end_is_not_read(ask: Ask) -> None:
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    with server(endless) as (url, _), pytest.raises(RemoteError):
        ask(url, 1, 0.05)


def test_what_the_first_try_did_is_done() -> None:
    late, gone = whole(b'{"result":"late"}\n'), whole(b'{"detail":"no crawl"}', "404 Not Found")
    with server(b"", late, b"", gone, gone) as (url, _), Frontier(url, "c") as frontier:
        frontier.give_back_token("a-1")
        frontier.delete()
        with pytest.raises(RemoteError, match="no crawl"):
            frontier.delete()


def test_a_wait_is_what_the_server_says() -> None:
    with server(whole(EMPTY)) as (url, asked), Frontier(url, "c") as frontier:
        assert frontier.next_batch(3, wait=0.5) == ([], Wait(1.5))
    assert asked == [b"/v1/crawls/c/lease?n=3&wait=500ms "]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    payloads=st.lists(st.none() | JSON, max_size=4),
    indent=st.none() | st.integers(0, 2),
    is_ascii=st.booleans(),
    is_last=st.booleans(),
)
def test_leases_are_read_as_json_reads_them(payloads: list[object], indent: int | None, is_ascii: bool, is_last: bool) -> None:
    lent = [{"token": "t", **({"payload": payload} if payload is not None else {}), "url": "{[,]}"} for payload in payloads]
    fields: dict[str, object] = {"state": "busy", "leases": lent, "retry_at": None}
    if is_last:
        fields["leases"] = fields.pop("leases")
    text = json.dumps(fields, indent=indent, ensure_ascii=is_ascii)
    read, state = answers.leases(text)
    assert [of for of, _ in read] == json.loads(text)["leases"] and state == answers.Busy()
    assert [json.loads(metadata) if metadata else None for _, metadata in read] == payloads
    assert all(metadata.decode() in text for _, metadata in read)


def test_a_link_that_is_no_seed_says_so() -> None:
    with server(whole(SEEN)) as (url, asked), Frontier(url, "c") as frontier:
        frontier.seed(Link("https://a.example/", depth=3, metadata=b"[1,  2]"))
    assert asked[0].endswith(b'{"url": "https://a.example/", "depth": 3,"payload":[1,  2]}')
