"""Scrapy's settings as options of the frontier."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

#: Requests to a host at once that the frontier allows at most.
MOST_CONNECTIONS = 64


def options_of(settings: BaseSettings, spider: Spider) -> dict[str, Any]:
    """The user's settings as rules of the frontier."""
    delay = getattr(spider, "download_delay", settings.getfloat("DOWNLOAD_DELAY"))
    most = settings.getint("CONCURRENT_REQUESTS_PER_IP") or settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
    most = getattr(spider, "max_concurrent_requests", most)
    if not 0 < most <= MOST_CONNECTIONS:
        logger.warning(
            "The frontier keeps to at most %d requests to a host at once (%d were set)", MOST_CONNECTIONS, most
        )
        most = MOST_CONNECTIONS
    hosts: dict[str, dict[str, Any]] = {}
    for name, slot in settings.getdict("DOWNLOAD_SLOTS").items():
        rule = {"host_delay": slot.get("delay", delay), "connections_per_host": slot.get("concurrency", most)}
        rule["connections_per_host"] = max(1, min(MOST_CONNECTIONS, rule["connections_per_host"]))
        hosts[name] = rule
    endless = 2**31 - 1
    return {
        # Whatever the spider yields, its rules are the spider's own.
        "scope": "any",
        "robots": False,
        "url_bytes": 2**40,
        "path_segments": 1000,
        "segment_repeats": endless,
        "parameters": endless,
        "redirects": 255,
        "domain_lead": endless,
        "shape_budget": 0,
        "section_budget": 0,
        "host_budget": 0,
        "domain_budget": 0,
        "session_budget": 0,
        "mirror_budget": 0,
        "parameter_sets": 0,
        "host_delay": delay,
        "connections_per_host": most,
        "first_contacts_per_host": most,
        "address_delay": 0,
        "hosts": hosts,
        "order": settings.get("FRONTIER_ORDER", "lifo"),
        "metadata_bytes": "1MiB",
        **settings.getdict("FRONTIER_OPTIONS"),
    }
