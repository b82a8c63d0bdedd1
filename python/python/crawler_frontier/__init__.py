"""A crawl frontier with a built-in URL-seen filter, in process: Rust inside, no server, no dependency.

>>> from crawler_frontier import SeenSet
>>> seen = SeenSet()
>>> seen.add("https://example.org/?b=2&a=1"), seen.add("HTTPS://Example.org/?a=1&b=2")
(True, False)
"""

from __future__ import annotations

from ._errors import (
    AddressError,
    CrawlerError,
    FrontierError,
    JobError,
    OptionError,
    SeenError,
    SnapshotError,
)
from ._native import (
    Canonicalizer,
    Key,
    Robots,
    Ruling,
    Scope,
    SeenSet,
    Url,
    __version__,
    canonicalize,
    canonicalize_many,
    domain,
)

# A type checker takes it for true; `typing` itself takes longer to import than all of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._native import (
        AuditStatistics,
        GenerationStatistics,
        PlanRow,
        SeenStatistics,
        ShardStatistics,
        VerifiedStatistics,
    )

__all__ = [
    "AddressError",
    "AuditStatistics",
    "Canonicalizer",
    "CrawlerError",
    "FrontierError",
    "GenerationStatistics",
    "JobError",
    "Key",
    "OptionError",
    "PlanRow",
    "Robots",
    "Ruling",
    "Scope",
    "SeenError",
    "SeenSet",
    "SeenStatistics",
    "ShardStatistics",
    "SnapshotError",
    "Url",
    "VerifiedStatistics",
    "__version__",
    "canonicalize",
    "canonicalize_many",
    "domain",
]
