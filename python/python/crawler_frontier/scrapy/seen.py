"""Which requests were seen: what stands for a request in the seen test, and what is said of those that are left out."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any

from scrapy.utils.request import referer_str

from .options import fingerprinter_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class SeenRequests:
    """The requests of a crawl by their fingerprints. The frontier remembers them; those that are in memory alone are remembered here."""

    def __init__(self, crawler: Crawler, say: Callable[..., None]) -> None:
        assert crawler.stats is not None
        self._crawler, self._stats, self._say = crawler, crawler.stats, say
        self._fingerprinter: Any = None
        #: How often each start request came in this run.
        self._starts: dict[bytes, int] = {}
        #: Of requests in memory, which the frontier must not remember.
        self.in_memory: set[bytes] = set()

    def identity(self, request: Request, is_start: bool) -> bytes | None:
        """What stands for a request in the seen test; `None` if that is not asked."""
        if request.dont_filter and not is_start:
            return None
        if self._fingerprinter is None:
            self._fingerprinter = fingerprinter_of(self._crawler)
        fingerprint: bytes = self._fingerprinter.fingerprint(request)
        if not 0 < len(fingerprint) <= 64:
            fingerprint = hashlib.blake2b(fingerprint, digest_size=32).digest()
        if not request.dont_filter:
            return fingerprint
        number = self._starts.get(fingerprint, 0)
        self._starts[fingerprint] = number + 1
        return hashlib.blake2b(fingerprint + number.to_bytes(8, "big"), digest_size=24, person=b"start").digest()

    def note_filtered(self, request: Request, is_start: bool) -> None:
        """Counts a request that was seen before, and logs it as Scrapy does."""
        if is_start and request.dont_filter:
            self._stats.inc_value("frontier/start_requests_done")
        self._stats.inc_value("dupefilter/filtered")
        if self._crawler.settings.getbool("DUPEFILTER_DEBUG"):
            logger.debug(
                "Filtered duplicate request: %s (referer: %s)",
                request,
                referer_str(request),
                extra={"spider": self._crawler.spider},
            )
        else:
            self._say(
                "duplicate",
                "Filtered duplicate request: %s - no more duplicates will be shown (see DUPEFILTER_DEBUG to show all duplicates)",
                request,
                level=logging.DEBUG,
            )
