"""Which pages of a corpus are alike, and what each way to tell finds: `near.py ROOT START HOST...`, of a corpus that `run.py` has assembled.

The pages are those that links lead to. Two pages are alike where nine in ten of their runs of three words are the same (Jaccard, over the whole
text without markup, numbers taken for one): found by MinHash (24 bands of 4) and then counted exactly. Beside that stand the ways that a crawl
could tell: equal words, as the crawler does (the first 8 KiB, the rest byte by byte), and SimHash (64 bits, at most 3 differ).
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy

from closure import Site, closure

READ = 8 << 10
BANDS, ROWS = 24, 4
ALIKE = 0.9
FEW = 16
_MARKUP = re.compile(rb"(?is)<!--.*?(?:-->|$)|<(script|style)\b.*?(?:</\1|$)|<[^>]*(?:>|$)")
_WORD = re.compile(rb"[0-9a-zA-Z\x80-\xff]+")
_MASK = (1 << 64) - 1


def words(text: bytes) -> list[bytes]:
    """The words of a page, in lower case; a word that begins with a digit is a number, and all numbers are one where they are few."""
    found = [word.lower() for word in _WORD.findall(_MARKUP.sub(b" ", text))]
    if 4 * sum(word[:1].isdigit() for word in found) <= len(found):
        found = [b"0" if word[:1].isdigit() else word for word in found]
    return found


def runs(found: list[bytes]) -> numpy.ndarray:
    """Its runs of three words, each once, as numbers."""
    hashes = numpy.fromiter((hash(word) & _MASK for word in found), dtype=numpy.uint64, count=len(found))
    if len(hashes) < 3:
        return numpy.unique(hashes)
    three = hashes[:-2] * numpy.uint64(0x9E3779B97F4A7C15) ^ hashes[1:-1] * numpy.uint64(0xC2B2AE3D27D4EB4F) ^ hashes[2:]
    return numpy.unique(_mixed(three))


def _mixed(numbers: numpy.ndarray) -> numpy.ndarray:
    numbers = (numbers ^ (numbers >> numpy.uint64(31))) * numpy.uint64(0xBF58476D1CE4E5B9)
    return numbers ^ (numbers >> numpy.uint64(29))


def simhash(of: numpy.ndarray) -> int:
    bits = numpy.unpackbits(of.view(numpy.uint8).reshape(-1, 8), axis=1)
    return int.from_bytes(numpy.packbits(2 * bits.sum(axis=0) > len(of)).tobytes(), "big")


def main() -> None:
    root, start, *hosts = sys.argv[1:]
    site = Site(Path(root))
    # A file once, whatever names it has.
    files = list(dict.fromkeys(file for url in closure(Path(root), start, set(hosts)) if (file := site.file(url))))
    salts = numpy.random.default_rng(12).integers(1, 1 << 63, size=(BANDS * ROWS, 1), dtype=numpy.uint64) | numpy.uint64(1)
    sets: list[numpy.ndarray] = []
    texts: list[int] = []
    bands: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    bodies: dict[int, int] = {}
    equal: dict[int, int] = {}
    ways: dict[str, set[int]] = {"the same body": set(), "equal words": set(), "SimHash": set(), "alike": set()}
    quarters: list[dict[int, list[int]]] = [defaultdict(list) for _ in range(4)]
    pairs: list[tuple[int, int, float]] = []
    wrong: list[tuple[int, int, float]] = []
    for number, file in enumerate(files):
        body = Path(file).read_bytes()
        found = words(body)
        of = runs(found)
        sets.append(of)
        texts.append(len(found))
        if hash(body) in bodies:
            ways["the same body"].add(number)
            continue
        bodies[hash(body)] = number
        begin = words(body[:READ])
        said = hash((tuple(begin), body[READ:]))
        if len(begin) >= FEW and said in equal:
            ways["equal words"].add(number)
        equal.setdefault(said, number)
        if len(found) < FEW or not len(of):
            continue
        near = simhash(of)
        known = {other for part, table in enumerate(quarters) for other in table[near >> 16 * part & 0xFFFF]}
        similar = next((other for other in known if (near ^ sims[other]).bit_count() <= 3), None) if known else None
        if similar is not None:
            ways["SimHash"].add(number)
            if (share := jaccard(of, sets[similar])) < ALIKE:
                wrong.append((number, similar, share))
        sims[number] = near
        for part, table in enumerate(quarters):
            table[near >> 16 * part & 0xFFFF].append(number)
        least = numpy.array([(of * salt).min() for salt in salts[:, 0]], dtype=numpy.uint64)
        candidates: set[int] = set()
        for band in range(BANDS):
            bucket = bands[band, least[band * ROWS : (band + 1) * ROWS].tobytes()]
            candidates.update(bucket[-20:])
            bucket.append(number)
        best = max(((jaccard(of, sets[other]), other) for other in candidates), default=(0.0, -1))
        if best[0] >= ALIKE:
            ways["alike"].add(number)
            pairs.append((number, best[1], best[0]))
    print(f"{len(files)} files")
    for name, pages in ways.items():
        print(f"{name:>14}: {len(pages)}, {100 * len(pages) / len(files):.2f} %")
    missed = [pair for pair in pairs if pair[0] not in ways["equal words"]]
    print(f"alike, and not of equal words: {len(missed)}; SimHash finds {len([p for p in missed if p[0] in ways['SimHash']])} of them")
    print(f"SimHash says so of {len(wrong)} that are not alike")
    different = defaultdict(int)
    for number, other, _ in missed:
        different[Path(files[number]).as_posix().split("/usr/share/")[-1].split("/")[1]] += 1
    print("by package:", dict(sorted(different.items(), key=lambda item: -item[1])))
    for number, other, share in missed[:: max(1, len(missed) // 25)]:
        ours, theirs = (set(words(Path(files[n]).read_bytes())) for n in (number, other))
        only = b" ".join(sorted(ours - theirs)[:8]).decode(errors="replace")
        print(f"  {share:.3f} {texts[number]} words; {files[number]} | {files[other]} | only here: {only}")


sims: dict[int, int] = {}


def jaccard(one: numpy.ndarray, other: numpy.ndarray) -> float:
    both = len(numpy.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)


if __name__ == "__main__":
    main()
