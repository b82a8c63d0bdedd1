"""A thousand generated sites on addresses of their own: sizes and numbers of pages as skewed as those of real ones."""

import gzip
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PARAGRAPH = re.compile(r"<p>(.{60,3000}?)</p>", re.DOTALL)
_LINK = re.compile(r"</?(?:a|img|iframe|script|form|base)\b[^>]*>", re.IGNORECASE)
_BLOCK = re.compile(r"<(?:p|div|table|ul|ol|pre|dl|h\d)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Shape:
    """What the pages of all sites are like. Sizes and numbers are log-normal: the mean and the deviation of their logarithm."""

    pages: tuple[float, float] = (3.4, 0.75)
    most_pages: int = 400
    size: tuple[float, float] = (9.9, 0.7)
    most_bytes: int = 300_000
    links: tuple[int, int] = (6, 22)
    """To pages of the same site."""
    elsewhere: tuple[int, int] = (1, 6)
    """Links to pages of other sites."""
    is_zipped: bool = False
    """Each page lies beside itself in gzip, as a server sends it."""


def address(number: int) -> str:
    """127.1.0.1 to 127.1.0.249 for the first 249, and so on."""
    return f"127.1.{number // 249}.{number % 249 + 1}"


def paragraphs(roots: Iterable[Path], wanted: int = 30_000) -> list[str]:
    """Text of documentation pages, without its links, in an order that is always the same."""
    found: list[str] = []
    for root in roots:
        mine: list[str] = []
        for path in sorted(root.rglob("*.html")):
            text = path.read_text(encoding="utf-8", errors="ignore") if path.is_file() else ""
            mine += (_LINK.sub("", part) for part in _PARAGRAPH.findall(text) if not _BLOCK.search(part))
            if len(mine) >= wanted // 8:
                break
        found += mine
    random.Random(12).shuffle(found)
    return found[:wanted]


def generate(root: Path, origins: Mapping[str, str], texts: list[str], shape: Shape) -> None:
    """Writes every page of every site: by its host, as which its URLs begin."""
    chance = random.Random(34)
    least = min(5, shape.most_pages)
    counts = [clamped(chance.lognormvariate(*shape.pages), least, shape.most_pages) for _ in origins]
    others = list(origins.values())
    for (host, origin), count in zip(origins.items(), counts, strict=True):
        folder = root / host
        (folder / "p").mkdir(parents=True)
        (folder / "style.css").write_text("body { margin: 2em auto; max-width: 50em; }\n")
        for number in range(count):
            path = folder / "index.html" if number == 0 else folder / "p" / f"{number}.html"
            page = _page(chance, origin, number, count, others, counts, texts, shape).encode()
            path.write_bytes(page)
            if shape.is_zipped:
                path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(page, 6, mtime=0))


def _page(
    chance: random.Random,
    origin: str,
    number: int,
    count: int,
    others: Sequence[str],
    counts: list[int],
    texts: list[str],
    shape: Shape,
) -> str:
    inside = [n for n in (2 * number + 1, 2 * number + 2) if n < count]
    inside += [chance.randrange(count) for _ in range(chance.randint(*shape.links) - len(inside))]
    links = [f'<a href="{_spelling(chance, origin, number, n)}">part {n}</a>' for n in inside]
    for _ in range(chance.randint(*shape.elsewhere)):
        other = int(chance.random() ** 2 * len(others))
        page = int(chance.random() ** 2 * counts[other])
        links.append(f'<a href="{others[other]}{_path(page)}" rel="external">elsewhere {other}</a>')
    navigation = "".join(f'<li class="nav"><a href="{_path(n)}">Section {n}</a></li>' for n in range(min(count, 5)))
    parts = [
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{origin}, part {number}</title>\n'
        f'<link rel="stylesheet" href="/style.css"><link rel="canonical" href="{origin}{_path(number)}"></head>\n'
        f"<body><nav><ul>{navigation}</ul></nav><main><h1>Part {number}</h1>\n"
    ]
    left = clamped(chance.lognormvariate(*shape.size), 2_000, shape.most_bytes) - sum(map(len, links)) - len(parts[0])
    while left > 0 or links:
        text = chance.choice(texts)
        link = links.pop() if links else ""
        parts.append(f"<p>{text} {link}</p>\n")
        left -= len(text) + 9
    parts.append("</main></body></html>\n")
    return "".join(parts)


def _path(number: int) -> str:
    return "/" if number == 0 else f"/p/{number}.html"


def _spelling(chance: random.Random, origin: str, here: int, number: int) -> str:
    path = _path(number)
    if here == 0:
        relative = "./" if number == 0 else f"p/{number}.html"
    else:
        relative = "../" if number == 0 else f"{number}.html"
    return chance.choice((origin + path, path, relative, f"{path}#part"))


def clamped(value: float, least: int, most: int) -> int:
    return int(min(max(value, least), most))
