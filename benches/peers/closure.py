"""The pages that links lead to from the portal, from the files on disk, by another parser than the crawler's (lexbor).

`closure.py ROOT START OUT [HOST...]` writes their URLs, one a line. A page is what the server sends as text/html with status 200.
"""

import os
import sys
from collections import deque
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selectolax.lexbor import LexborHTMLParser

import address

PAGE_ENDINGS = (".html", ".htm", ".shtml")
"""Names that are nothing but an ending have none for the server."""
_CHOICE = "a[href], area[href], frame[src], iframe[src], base[href], meta[http-equiv]"


class Site:
    """The files of all hosts, and their links, each file read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.hrefs: dict[str, tuple[str | None, list[str]]] = {}

    def file(self, url: str) -> str | None:
        """The page that the server sends for it; `None` where it sends none. A folder without its slash is redirected."""
        parts = urlsplit(url)
        if address.is_malformed(parts.path):
            return None
        path = f"{self.root}/{parts.hostname}{unquote(parts.path, errors='surrogateescape')}"
        if path.endswith("/"):
            path += "index.html"
        stem, ending = os.path.splitext(os.path.basename(path))
        return path if stem and ending in PAGE_ENDINGS and os.path.isfile(path) else None

    def redirect(self, url: str) -> str | None:
        """Where the server sends who asks for a folder without its slash."""
        parts = urlsplit(url)
        path = f"{self.root}/{parts.hostname}{unquote(parts.path, errors='surrogateescape')}"
        if path.endswith("/") or not os.path.isdir(path):
            return None
        return f"{parts.scheme}://{parts.netloc}{parts.path}/" + (f"?{parts.query}" if parts.query else "")

    def links(self, file: str) -> tuple[str | None, list[str]]:
        """The page's `<base href>`, and its links as they were written."""
        file = os.path.realpath(file)
        if file not in self.hrefs:
            with open(file, "rb") as page:
                self.hrefs[file] = hrefs(page.read())
        return self.hrefs[file]


def hrefs(page: bytes) -> tuple[str | None, list[str]]:
    """The first `<base href>`, and each link once."""
    base = None
    found: dict[str, None] = {}
    for node in LexborHTMLParser(page).css(_CHOICE):
        attributes = node.attributes
        if node.tag == "base":
            base = base if base is not None else attributes.get("href")
        elif node.tag == "meta":
            content = attributes.get("content") or ""
            if (attributes.get("http-equiv") or "").lower() == "refresh" and "url=" in content.lower():
                found[content[content.lower().index("url=") + 4 :].strip().strip("'\"")] = None
        else:
            href = attributes.get("src" if node.tag in ("frame", "iframe") else "href")
            if href is not None:
                found[href] = None
    return base, list(found)


def closure(root: Path, start: str, hosts: set[str]) -> list[str]:
    """All pages, in the order of their discovery."""
    site = Site(root)
    seen = {address.key_of(start)}
    waiting = deque([start])
    pages = []
    while waiting:
        url = waiting.popleft()
        file = site.file(url)
        if file is None:
            onward = [redirect] if (redirect := site.redirect(url)) else []
        else:
            pages.append(url)
            base, written = site.links(file)
            base = (address.join(url, base) if base is not None else None) or url
            onward = [link for href in written if (link := address.join(base, href))]
        for link in onward:
            key = address.key_of(link)
            if key not in seen and urlsplit(link).hostname in hosts and link.startswith(start.split(":", 1)[0] + ":"):
                seen.add(key)
                waiting.append(link)
    return pages


def main() -> None:
    root, start, out, *hosts = sys.argv[1:]
    pages = closure(Path(root), start, set(hosts))
    Path(out).write_text("".join(f"{page}\n" for page in pages))


if __name__ == "__main__":
    main()
