"""Scrapy's settings, as the frontier has them."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import build_from_crawler, load_object

from .._errors import OptionError
from .._unjudged import UNJUDGED

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

#: Requests to a host at once that the frontier allows at most.
MOST_CONNECTIONS = 64
#: Bytes of a queue's name.
MOST_OF_NAME = 64


def options_of(settings: BaseSettings, spider: Spider) -> dict[str, Any]:
    """The user's settings as rules of the frontier."""
    delay = getattr(spider, "download_delay", settings.getfloat("DOWNLOAD_DELAY"))
    # Scrapy itself says that this setting is deprecated.
    most = int(settings["CONCURRENT_REQUESTS_PER_IP"] or 0) or settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
    most = getattr(spider, "max_concurrent_requests", most)
    if not 0 < most <= MOST_CONNECTIONS:
        logger.warning(
            "The frontier keeps to at most %d requests to a host at once (%d were set)", MOST_CONNECTIONS, most
        )
        most = MOST_CONNECTIONS
    given = settings.getdict("FRONTIER_OPTIONS")
    hosts: dict[str, dict[str, Any]] = {}
    for name, slot in settings.getdict("DOWNLOAD_SLOTS").items():
        rule = {"host_delay": slot.get("delay", delay), "connections_per_host": slot.get("concurrency", most)}
        rule["connections_per_host"] = max(1, min(MOST_CONNECTIONS, rule["connections_per_host"]))
        hosts[f"@{queue_of(name)}"] = rule
    for name, rule in given.get("hosts", {}).items():
        named = _rule_of(name)
        hosts[named] = {**hosts.get(named, {}), **rule}
    groups = {
        name: {**group, "hosts": [_rule_of(host) for host in group.get("hosts", ())]}
        for name, group in given.get("groups", {}).items()
    }
    return {
        # Whatever the spider yields, its rules are the spider's own.
        **UNJUDGED,
        "host_delay": delay,
        "connections_per_host": most,
        "first_contacts_per_host": most,
        "order": settings.get("FRONTIER_ORDER", "lifo"),
        "metadata_bytes": "1MiB",
        **given,
        "hosts": hosts,
        "groups": groups,
    }


def connections_of(options: dict[str, Any]) -> Callable[[str], int]:
    """How many requests each queue may have under way, by these options of the frontier."""
    hosts, default = options["hosts"], options["connections_per_host"]
    default = hosts.get("@*", {}).get("connections_per_host", default)

    def of(queue: str) -> int:
        connections: int = hosts.get(f"@{queue}", {}).get("connections_per_host", default)
        return connections

    return of


def fingerprinter_of(crawler: Crawler) -> Any:
    """The crawler's fingerprinter, or one like it before the crawler has one."""
    try:
        found = crawler.request_fingerprinter
    except RuntimeError:
        found = None
    return found or build_from_crawler(load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"]), crawler)


def queue_of(slot: object) -> str:
    """The name of the queue that stands for a download slot: the slot's own, unless no queue can have that."""
    name = str(slot)
    is_plain = name.isprintable() and name.strip() == name and name != "*"
    if is_plain and 0 < len(name.encode("utf-8", "surrogatepass")) <= MOST_OF_NAME:
        return name
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{name[:24] if name.isascii() and is_plain else 'slot'}~{digest}"


def _rule_of(name: str) -> str:
    """The name of a rule for a slot: `a.example`, `@a.example`, or `*` for all."""
    name = name.removeprefix("@")
    if name == "*":
        return "@*"
    if "*" in name:
        raise OptionError(
            f"FRONTIER_OPTIONS has a rule for {name!r}: each rule is for one download slot by its whole name, such as a host's, "
            "or for all as '*'"
        )
    return f"@{queue_of(name)}"
