"""What the nodes have written: how far they are, and how soon partitions went on elsewhere."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True)
class Death:
    """A node that was killed or stopped: when, and what it had written until then."""

    at: float
    """Unix time."""
    node: str
    bytes: int


@dataclass(frozen=True)
class Record:
    partition: int
    epoch: int
    sequence: int
    at: float
    """When it was asked for, Unix time."""


def records(pages: Path, end: int | None = None) -> list[Record]:
    """Those of whole lines, of the first `end` bytes."""
    if not pages.exists():
        return []
    found = []
    for line in pages.read_bytes()[:end].splitlines(keepends=True):
        if line.endswith(b"\n"):
            page = json.loads(line)
            place = page["cluster"]
            at = datetime.fromisoformat(page["fetched_at"]).timestamp()
            found.append(Record(place["partition"], place["epoch"], place["sequence"], at))
    return found


def takeovers(jobs: dict[str, Path], deaths: list[Death]) -> tuple[list[float], list[float]]:
    """Seconds from each death to the first fetch by a new owner: of the first of its partitions, and of each of them.

    A node's partitions are those whose last record before its death, by any node, is its own. One that had nothing left to fetch is in no list.
    """
    everything = {name: records(job / "pages.jsonl") for name, job in jobs.items()}
    firsts, each = [], []
    for death in deaths:
        before: dict[int, tuple[int, str]] = {}
        for name, found in everything.items():
            for record in found:
                if record.at < death.at:
                    before[record.partition] = max(before.get(record.partition, (0, "")), (record.epoch, name))
        owned = {partition: epoch for partition, (epoch, name) in before.items() if name == death.node}
        next_fetch: dict[int, float] = {}
        for found in everything.values():
            for record in found:
                if record.partition in owned and record.epoch > owned[record.partition] and record.at >= death.at:
                    earliest = next_fetch.get(record.partition, record.at)
                    next_fetch[record.partition] = min(earliest, record.at)
        waits = sorted(at - death.at for at in next_fetch.values())
        each += waits
        firsts += waits[:1]
    return firsts, each


def lines(jobs: list[Path]) -> int:
    """Page records so far, by the bytes of the files."""
    count = 0
    for job in jobs:
        pages = job / "pages.jsonl"
        if pages.exists():
            with pages.open("rb") as file:
                while piece := file.read(1 << 20):
                    count += piece.count(b"\n")
    return count


def size(job: Path) -> int:
    pages = job / "pages.jsonl"
    return pages.stat().st_size if pages.exists() else 0
