"""The examples that crawl, on a small web on loopback. Each needs its client; ``pip install aiohttp httpx playwright``."""

from __future__ import annotations

import asyncio
import importlib
import os
import pathlib
import shutil
import sys
from typing import Any

import pytest

from crawler_frontier import Frontier
from simulated_web import Reply, Web

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="its hosts are addresses of loopback")


def pages(host: str, path: str) -> Reply:
    """Three hosts' worth of all that matters: rules, links, a redirect, a page that is not there, one that a script writes."""
    port = os.environ["PORT"]
    web: dict[str, Reply] = {
        "/robots.txt": (200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /secret"),
        "/": (200, {}, f'<a href="/a">a</a> <A HREF=/old>b</A> <a href="http://127.0.1.2:{port}/">c</a>'.encode()),
        "/a": (200, {}, b'<p>no <a name="x">link</a> <a href="/secret">s</a> <a href="/gone#top">g</a> <a href="/">up</a>'),
        "/old": (301, {"Location": "/new"}, b""),
        "/new": (200, {}, b"<script>document.write('<a href=\"/rendered\">r</a>')</script>"),
        "/rendered": (200, {}, b"<p>here"),
    }
    return web.get(path, (404, {}, b"")) if host == "127.0.1.1" or path == "/robots.txt" else (200, {}, b"")


def run(name: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs an example twice on one job; returns the paths that the first host was asked for."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    crawl: Any = importlib.import_module(name).crawl
    with Web(2, pages).running() as web:
        monkeypatch.setenv("PORT", str(web.port))
        for _ in range(2):
            # The frontier refuses other hosts than the seeds'.
            ended = crawl(str(tmp_path / "job"), [web.url(0, "/"), web.url(1, "/")], host_delay=0.01)
            if ended is not None:
                asyncio.run(ended)
        assert sorted(web.paths(1)) == ["/", "/robots.txt"] and min(web.gaps()) >= 0.009
        asked = web.paths(0)
    with Frontier.open(tmp_path / "job") as frontier:
        # The redirect, its target, four pages that are there or not, and the other host's.
        assert len(frontier) == 0 and frontier.statistics().completed == len(asked)
    assert asked[0] == "/robots.txt" and asked[1] == "/"
    return sorted(asked)


EACH = ["/", "/a", "/gone", "/new", "/old", "/robots.txt"]


@pytest.mark.parametrize("client", ["aiohttp", "httpx"])
def test_an_example_crawls_each_page_once(client: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(client, reason=f"{client} is not installed")
    found = run(f"crawl_{client}", tmp_path, monkeypatch)
    # The link that a script writes is text to those that see no page.
    assert found == EACH or found == sorted([*EACH, "/rendered"])


def test_the_renderer_sees_what_a_script_writes(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("playwright", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium")
    monkeypatch.setenv("CHROMIUM", chromium)
    assert run("render_playwright", tmp_path, monkeypatch) == sorted([*EACH, "/rendered"])
