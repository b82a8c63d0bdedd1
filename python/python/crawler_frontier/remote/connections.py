"""Connections to a server of frontiers: who is asked, what is tried again, and threads that share them."""

from __future__ import annotations

import http.client
import os
import ssl
import threading
import time
from collections.abc import Mapping
from typing import TypeVar
from urllib.parse import urlsplit

from .._errors import OptionError, RemoteError
from .calls import Call, path_of, read, refuse

T = TypeVar("T")

#: The most bytes of an answer.
ANSWER = 256 << 20
#: Connections that are kept for the next call.
KEPT = 64
#: Seconds before the second try, and the most between two.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0


class Server:
    """Where a crawl is served, and how it is asked."""

    def __init__(
        self, url: str, crawl: str, token: str | None, context: ssl.SSLContext | None, timeout: float, patience: float
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None or parts.query:
            raise OptionError(f"expected a server such as http://127.0.0.1:7071, not {url!r}")
        if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
            raise OptionError("a token has visible ASCII characters")
        if context is not None and parts.scheme == "http":
            raise OptionError("an SSLContext is for an https URL")
        self.host = parts.hostname
        self.is_secure = parts.scheme == "https"
        self.port = parts.port or (443 if self.is_secure else 80)
        #: What a request's Host header says.
        self.authority = parts.netloc
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}{path_of(crawl)}"
        self.path = parts.path.rstrip("/") + path_of(crawl)
        self.context = (context or ssl.create_default_context()) if self.is_secure else None
        self.timeout, self.patience = timeout, patience
        self.headers = {"Content-Type": "application/json"}
        if token is not None:
            self.headers["Authorization"] = f"Bearer {token}"


class Tries:
    """The tries of one call: which errors are tried again, and when.

    All calls may be sent twice: the server does nothing twice. A call that the server has no time for (503) is sent again too.
    """

    def __init__(self, server: Server, call: Call[T]) -> None:
        self._server, self._call = server, call
        self._until = time.monotonic() + server.patience
        self._pause = FIRST_PAUSE
        self.made = 0

    def after_error(self, error: Exception, is_fresh: bool) -> float:
        """How long to wait before the next try.

        Raises:
            RemoteError: If there is none.
        """
        self.made += 1
        if not is_fresh and not isinstance(error, TimeoutError):
            # The server has closed a connection that was not used.
            return 0.0
        words = f"{self._server.url}: {str(error) or type(error).__name__}"
        if isinstance(error, ssl.SSLCertVerificationError):
            raise RemoteError(words) from error
        return self._rest(0.0, RemoteError(words), error)

    def after_answer(self, status: int, headers: Mapping[str, str], body: bytes) -> float | None:
        """`None` if the answer is good; else how long to wait before the next try.

        Raises:
            CrawlerError: If the server refuses.
        """
        self.made += 1
        if status < 300:
            return None
        if self._call.method == "DELETE" and status == 404 and self.made > 1:
            # The try before has done it.
            return None
        try:
            refuse(self._call, status, body)
        except RemoteError as error:
            if status != 503:
                raise
            asked = headers.get("retry-after", "")
            return self._rest(float(asked) if asked.isdigit() else 0.0, error, None)

    def _rest(self, least: float, error: RemoteError, cause: Exception | None) -> float:
        rest = max(self._pause, min(least, LONGEST_PAUSE))
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        if time.monotonic() + rest > self._until:
            raise error from cause
        return rest


class Connections:
    """Connections that threads share: each call has one for itself."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._process = os.getpid()
        self._is_closed = False

    def ask(self, call: Call[T]) -> T:
        """Sends a call until it is answered.

        Raises:
            CrawlerError: If the server refuses, or cannot be reached.
        """
        tries = Tries(self._server, call)
        while True:
            connection, is_fresh = self._take()
            try:
                status, headers, body = self._exchange(connection, call)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                rest = tries.after_error(error, is_fresh)
            except BaseException:
                connection.close()
                raise
            else:
                self._give(connection)
                again = tries.after_answer(status, headers, body)
                if again is None:
                    return read(call, body, tries.made > 1)
                rest = again
            time.sleep(rest)

    def _exchange(self, connection: http.client.HTTPConnection, call: Call[T]) -> tuple[int, dict[str, str], bytes]:
        timeout = self._server.timeout + call.wait
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        connection.request(call.method, self._server.path + call.path, body=call.body, headers=self._server.headers)
        response = connection.getresponse()
        if response.length is None and not response.chunked:
            raise http.client.HTTPException("the answer's head has ended early")
        body = response.read(ANSWER + 1)
        if len(body) > ANSWER:
            raise http.client.HTTPException(f"the answer has more than {ANSWER} bytes")
        if response.length:
            # What is read in parts is not checked there.
            raise http.client.IncompleteRead(body, response.length)
        return response.status, {name.lower(): value for name, value in response.getheaders()}, body

    def _take(self) -> tuple[http.client.HTTPConnection, bool]:
        server = self._server
        with self._lock:
            if self._is_closed:
                raise RemoteError("the frontier is closed")
            if self._process != os.getpid():
                # A fork: the other process has these.
                self._idle, self._process = [], os.getpid()
            if self._idle:
                return self._idle.pop(), False
        if server.context is not None:
            return http.client.HTTPSConnection(server.host, server.port, context=server.context), True
        return http.client.HTTPConnection(server.host, server.port), True

    def _give(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            # One that the server closes has no socket any more.
            if not self._is_closed and len(self._idle) < KEPT and connection.sock is not None:
                self._idle.append(connection)
                return
        connection.close()

    def __del__(self) -> None:
        for connection in getattr(self, "_idle", ()):
            connection.close()

    def close(self) -> None:
        """Closes those that are not in use."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
