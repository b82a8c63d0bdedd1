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
    ForeignLeaseError,
    FrontierError,
    IdentityError,
    JobError,
    JobLockedError,
    LeaseOverError,
    MetadataError,
    OptionError,
    RemoteError,
    SeenError,
    SnapshotError,
)
from ._native import (
    Busy,
    Canonicalizer,
    CheckpointCost,
    Drained,
    Explanation,
    Fetch,
    Frontier,
    FrontierStatistics,
    GiveUp,
    Key,
    Lease,
    Leases,
    Link,
    Opening,
    QueueStatistics,
    Reprioritized,
    Robots,
    Ruling,
    Scope,
    SeenSet,
    Url,
    Wait,
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
        FrontierOptions,
        GenerationStatistics,
        HostGroup,
        HostRule,
        JobOptions,
        PlanRow,
        SeenStatistics,
        ShardStatistics,
        VerifiedStatistics,
    )

__all__: list[str] = [
    "AddressError",
    "Busy",
    "Canonicalizer",
    "CheckpointCost",
    "CrawlerError",
    "Drained",
    "Explanation",
    "Fetch",
    "ForeignLeaseError",
    "Frontier",
    "FrontierError",
    "FrontierStatistics",
    "GiveUp",
    "IdentityError",
    "JobError",
    "JobLockedError",
    "Key",
    "Lease",
    "LeaseOverError",
    "Leases",
    "Link",
    "MetadataError",
    "Opening",
    "OptionError",
    "QueueStatistics",
    "RemoteError",
    "Reprioritized",
    "Robots",
    "Ruling",
    "Scope",
    "SeenError",
    "SeenSet",
    "SnapshotError",
    "Url",
    "Wait",
    "__version__",
    "canonicalize",
    "canonicalize_many",
    "domain",
]

if TYPE_CHECKING:
    __all__ += [
        "AuditStatistics",
        "FrontierOptions",
        "GenerationStatistics",
        "HostGroup",
        "HostRule",
        "JobOptions",
        "PlanRow",
        "SeenStatistics",
        "ShardStatistics",
        "VerifiedStatistics",
    ]
