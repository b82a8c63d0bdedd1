"""The exceptions of this package, a small tree. Each has the words of the library below as its message."""

from __future__ import annotations


class CrawlerError(Exception):
    """What all exceptions of this package are. File errors are Python's own ``OSError``."""


class AddressError(CrawlerError, ValueError):
    """A text is not the address of a page: malformed, too long, or neither http nor https."""


class OptionError(CrawlerError, ValueError):
    """An option is out of its range. The message names it."""


class SeenError(CrawlerError):
    """A seen set cannot do what was asked: no memory, a failing disk, or a layout that cannot."""


class SnapshotError(CrawlerError, ValueError):
    """A file is no seen set, is damaged, or cannot be united with this one."""


class FrontierError(CrawlerError):
    """A frontier refuses what was asked of it."""


class JobError(FrontierError):
    """A job's directory cannot be opened, read or written."""


class JobLockedError(JobError):
    """Another process has the job's directory."""


class ForeignLeaseError(FrontierError):
    """Another frontier lent the lease. Nothing has changed."""


class LeaseOverError(FrontierError):
    """A lease was completed, given back, or taken back after its deadline. Nothing has changed."""


class MetadataError(FrontierError, ValueError):
    """More bytes are to travel with a URL than can be kept. Nothing was queued."""


class IdentityError(CrawlerError, ValueError):
    """Keys cannot sign, or what is said of them is unfit. The message has no secret."""


class RemoteError(FrontierError):
    """A server of frontiers refuses what was asked of it, or could not be asked. A refusal has changed nothing."""

    #: The HTTP status of a refusal; ``None`` if there was no answer. The error of the connection is the ``__cause__`` then.
    status: int | None

    def __init__(self, words: str, status: int | None = None) -> None:
        super().__init__(words)
        self.status = status
