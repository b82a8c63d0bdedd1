"""What a scheduler needs of a response and of the loop: when to ask again, and a timer."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response


def retry_after(response: Response) -> float | None:
    """The Retry-After of a response, in seconds."""
    value = response.headers.get("Retry-After")
    if not value:
        return None
    text = value.decode("latin-1").strip()
    if text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def timer_of_loop() -> Callable[..., Any]:
    """A timer of the loop that runs here."""
    try:
        from scrapy.utils.asyncio import call_later
    except ImportError:
        from twisted.internet import reactor as installed

        reactor: Any = installed

        def later(delay: float, call: Callable[[], object]) -> _Timer:
            return _Timer(reactor.callLater(delay, call))

        return later
    return call_later


class _Timer:
    def __init__(self, timer: Any) -> None:
        self._timer = timer

    def cancel(self) -> None:
        if self._timer.active():
            self._timer.cancel()
