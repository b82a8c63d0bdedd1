"""What URL an href means, and when two spellings ask for the same page: apart from the crawler's own code."""

import re
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_MALFORMED = re.compile(r"%(?![0-9a-fA-F]{2})")
_KEPT = "/:@!$&'()*+,;=~-._"


def join(base: str, href: str) -> str | None:
    """The URL without its fragment, or `None` where it is not for HTTP."""
    href = href.strip("".join(map(chr, range(33)))).translate({9: None, 10: None, 13: None})
    href = href.split("#", 1)[0]
    path, mark, query = href.partition("?")
    href = path.replace("\\", "/") + mark + query
    if _SCHEME.match(href) and not href.lower().startswith(("http://", "https://")):
        return None
    try:
        url = urljoin(base, href)
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host:
        return None
    default = {"http": 80, "https": 443}[parts.scheme]
    place = host if port in (None, default) else f"{host}:{port}"
    question = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{place}{without_dots(parts.path)}{question}"


def is_malformed(path: str) -> bool:
    """Whether the server answers with status 400: an escape in the path is none."""
    return _MALFORMED.search(path) is not None


def without_dots(path: str) -> str:
    """The path with `.` and `..` resolved."""
    if "/." not in path:
        return path or "/"
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments):
        last = number == len(segments) - 1
        if segment == "..":
            if kept:
                kept.pop()
        elif segment != ".":
            kept.append(segment)
            continue
        if last:
            kept.append("")
    return "/" + "/".join(kept)


def key(host: str, target: str) -> str:
    """One spelling for a host (without port) and a request's target, whatever was percent-encoded in it."""
    path, mark, query = target.partition("?")
    path = quote(unquote_to_bytes(path), safe=_KEPT)
    query = quote(unquote_to_bytes(query), safe=_KEPT + "?[]|^") if mark else ""
    return f"{host}{path}?{query}" if query else f"{host}{path}"


def key_of(url: str) -> str:
    """`key` of an absolute URL."""
    parts = urlsplit(url)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    return key(parts.hostname or "", target)
