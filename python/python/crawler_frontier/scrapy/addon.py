"""The add-on: what of Scrapy's settings changes, so that one line is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotSupported
from scrapy.utils.misc import load_object

from .middlewares import GivenUpMiddleware, OutcomeMiddleware, PageMiddleware
from .scheduler import Scheduler

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

#: Closer to the engine than any other middleware, and closer to the downloader.
FIRST, LAST = -10_000, 1_000_000


class Addon:
    """Puts the frontier in the place of Scrapy's scheduler and duplicates filter: ``ADDONS = {"crawler_frontier.scrapy.Addon": 100}``.

    Raises:
        NotSupported: With ``AUTOTHROTTLE_ENABLED``, which moves a clock that is not Scrapy's any more, or with a ``SCHEDULER`` that is no subclass of
            :class:`Scheduler`.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy."""
        if settings.getbool("AUTOTHROTTLE_ENABLED"):
            raise NotSupported(
                "AUTOTHROTTLE_ENABLED moves the delays of Scrapy's own slots, and the frontier has the clock of each host: "
                "set FRONTIER_OPTIONS = {'adaptive_share': 0.5} instead, by which a host rests for as long as it took to answer"
            )
        settings.set("SCHEDULER", Scheduler, "addon")
        scheduler = load_object(settings["SCHEDULER"])
        # Scrapy's own class says that each scheduler is a subclass of each.
        if Scheduler not in getattr(scheduler, "__mro__", ()):
            raise NotSupported(f"SCHEDULER is set to {settings['SCHEDULER']}, and this add-on has a scheduler of its own: set one of both")
        _put(settings, "SPIDER_MIDDLEWARES", PageMiddleware, FIRST)
        _put(settings, "DOWNLOADER_MIDDLEWARES", GivenUpMiddleware, FIRST)
        _put(settings, "DOWNLOADER_MIDDLEWARES", OutcomeMiddleware, LAST)


def _put(settings: BaseSettings, name: str, component: Any, order: int) -> None:
    components = settings.getdict(name)
    components[component] = order
    settings.set(name, components, max(settings.getpriority(name) or 0, 15))
