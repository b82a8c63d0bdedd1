"""The frontier of a server, ``crawler serve``, with the calls of the one in process: for workers in many processes and on many machines.

>>> from crawler_frontier.remote import Frontier
>>> with Frontier.open("http://127.0.0.1:7071", "news", {"politeness": {"robots": False}}) as frontier:
...     frontier.admit(["https://example.org/", "HTTPS://Example.org"])
...     lease = frontier.lease()
...     frontier.complete(lease)
[None, 'seen']

What differs from the frontier in process:

- A lease ends at its ``deadline``; ``extend`` gives it more time. A worker that dies costs that time, and nothing else.
- What ``metadata`` a ``Link`` has is JSON, so that workers in other languages read it; an ``identity`` is UTF-8.
- ``host_was_asked``, ``schedule``, ``reprioritize``, ``has_seen`` and links that are ``unconditional`` are not served.
- ``Paused`` is a reason for which nothing is lent.

``crawler_frontier.remote.aio`` has the same for asyncio. All of it is Python alone, and needs no other package.
"""

from __future__ import annotations

from .answers import Busy, Drained, Explanation, Fetch, FrontierStatistics, Paused, QueueStatistics, Wait
from .frontier import Frontier, Lease

__all__ = [
    "Busy",
    "Drained",
    "Explanation",
    "Fetch",
    "Frontier",
    "FrontierStatistics",
    "Lease",
    "Paused",
    "QueueStatistics",
    "Wait",
]
