"""Requests that were handled, in two files beside the frontier: which they were, and what they said.

``handled.keys`` has 16 bytes for each, a digest of its unique key; it is read into memory at the start, where a request takes some 10 bytes.
``handled.jsonl`` has the requests themselves, a line for each; it is only read for ``get_request``. A request is written to both before the
frontier is told that it is done. So a kill in between only leaves it queued, and it is known as handled when its turn comes.
"""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
from pathlib import Path

from .._native import SeenSet
from .payload import prefix

#: Bytes of a digest.
SIZE = 16
#: As many digests are read at once.
_BATCH = 1 << 16


def digest(unique_key: str) -> bytes:
    """What stands for a unique key, in the frontier's seen test too."""
    return hashlib.blake2b(unique_key.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


class Handled:
    """The requests of a queue that were handled."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "handled.jsonl"
        self._seen = SeenSet(10_000, layout="exact", raw=True)
        self._count = 0
        self._keys = _appended(directory / "handled.keys")
        self._lines = _appended(self._path)
        self._read_keys(directory / "handled.keys")
        self._end_line()

    def _read_keys(self, path: Path) -> None:
        with path.open("rb") as file:
            while batch := file.read(SIZE * _BATCH):
                whole = len(batch) - len(batch) % SIZE
                if whole < len(batch):
                    # A write that a kill cut short: that request is still queued.
                    os.truncate(path, path.stat().st_size - (len(batch) - whole))
                self._count += sum(self._seen.add_many([batch[at : at + SIZE] for at in range(0, whole, SIZE)]))

    def _end_line(self) -> None:
        with self._path.open("rb") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    os.write(self._lines, b"\n")

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: bytes) -> bool:
        return key in self._seen

    def add(self, key: bytes, line: bytes) -> None:
        """Notes that a request was handled. It outlives a kill once this returns.

        Raises:
            OSError: If the disk has no room. Nothing has changed then.
        """
        _append(self._lines, line + b"\n")
        _append(self._keys, key)
        self._count += self._seen.add(key)

    def find(self, unique_key: str) -> bytes | None:
        """What was written of a request. It looks through the whole file, a gigabyte in some seconds."""
        wanted = prefix(unique_key)
        with self._path.open("rb") as file:
            if not file.seek(0, os.SEEK_END):
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines:
                at = len(lines)
                while (at := lines.rfind(wanted, 0, at)) >= 0:
                    if at == 0 or lines[at - 1] == ord("\n"):
                        end = lines.find(b"\n", at)
                        return lines[at : end if end >= 0 else len(lines)]
        return None

    def sync(self) -> None:
        """Waits until the disk has it."""
        os.fsync(self._lines)
        os.fsync(self._keys)

    def close(self) -> None:
        """Lets the files go."""
        os.close(self._lines)
        os.close(self._keys)


def _append(file: int, data: bytes) -> None:
    """Writes all of it, or nothing: what came after half a digest would be read as others."""
    end = os.fstat(file).st_size
    try:
        if os.write(file, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError:
        os.ftruncate(file, end)
        raise


def _appended(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o666)
