"""Canonical forms, keys, robots.txt and scopes."""

from __future__ import annotations

import pathlib
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler_frontier import (
    AddressError,
    Canonicalizer,
    Key,
    OptionError,
    Robots,
    Scope,
    Url,
    canonicalize,
    canonicalize_many,
    domain,
)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("HTTP://Example.org.:80/%7eann/?b=2&utm_source=mail&a=1#top", "http://example.org/~ann/?a=1&b=2"),
        ("http://bücher.de/é x", "http://xn--bcher-kva.de/%C3%A9%20x"),
        ("http://a.org/b/./../c;jsessionid=1F?", "http://a.org/c"),
        (" http://ann:pw@a.org ", "http://a.org/"),
    ],
)
def test_one_spelling_stands_for_all(text: str, key: str) -> None:
    assert canonicalize(text) == key
    assert canonicalize(key) == key
    assert canonicalize_many([text, key]) == [key, key]
    assert Url(text) == Url(key) and hash(Url(text)) == hash(Url(key))


def test_links_are_joined_with_their_page() -> None:
    assert canonicalize("../b", base="http://a.org/c/d") == "http://a.org/b"
    links = ["/a", "?q=1", "mailto:ann", "", "//b.org", "http://["]
    assert canonicalize_many(links, base="http://a.org/x/y", errors="skip") == [
        "http://a.org/a",
        "http://a.org/x/y?q=1",
        None,
        "http://a.org/x/y",
        "http://b.org/",
        None,
    ]
    with pytest.raises(AddressError, match="item 2: scheme `mailto` is not crawled"):
        canonicalize_many(links, base="http://a.org/")
    with pytest.raises(AddressError):
        canonicalize("/a", base="nowhere")
    assert Url("b", base="http://a.org/c/").wire == "http://a.org/c/b"


@pytest.mark.parametrize(
    "text", ["", "nowhere", "mailto:ann", "http://[", "/a", "http://a.org/{{x}}", "http://a.org/" + "a" * 9000]
)
def test_what_is_no_url_says_why(text: str) -> None:
    with pytest.raises(AddressError) as error:
        canonicalize(text)
    assert str(error.value)
    assert pickle.loads(pickle.dumps(error.value)).args == error.value.args


@given(st.text())
def test_any_text_is_a_url_or_an_error(text: str) -> None:
    try:
        key = canonicalize("http://a.org/" + text)
    except ValueError:
        return
    assert canonicalize(key) == key and key.isascii()


def test_rules_can_be_changed() -> None:
    rules = Canonicalizer(drop_tracking=False, sort_query=False, drop_parameters=["ref_*"], max_bytes=100)
    assert rules.canonicalize("http://a.org/?b=1&utm_source=2&ref_x=3&a=4") == "http://a.org/?b=1&utm_source=2&a=4"
    assert (
        repr(rules) == 'Canonicalizer(sort_query=False, drop_tracking=False, drop_parameters=["ref_*"], max_bytes=100)'
    )
    assert pickle.loads(pickle.dumps(rules)) == rules != Canonicalizer()
    with pytest.raises(AddressError, match="the limit is 100"):
        rules.canonicalize("http://a.org/" + "a" * 100)
    with pytest.raises(OptionError):
        rules.canonicalize_many([], errors="no")  # type: ignore[call-overload]
    assert rules.url("http://a.org/").host == "a.org"


def test_a_url_in_parts() -> None:
    url = Url("HTTP://www.Example.co.uk.:8080/%7eann?b=1&a=2#top")
    assert (url.wire, url.key) == (
        "http://www.example.co.uk.:8080/%7eann?b=1&a=2",
        "http://www.example.co.uk:8080/~ann?a=2&b=1",
    )
    assert (url.origin, url.host, url.domain) == (
        "http://www.example.co.uk:8080",
        "www.example.co.uk",
        "example.co.uk",
    )
    assert url.path_and_query == "/%7eann?b=1&a=2"
    assert str(url) == url.wire and repr(url) == f"Url('{url.wire}')"
    again = pickle.loads(pickle.dumps(url))
    assert again == url and again.wire == url.wire
    assert domain("127.0.0.1") == "127.0.0.1"
    with pytest.raises(AttributeError):
        url.key = "x"  # type: ignore[misc]


def test_fingerprints_are_the_same_everywhere() -> None:
    key = Key(7)
    assert key.fingerprint("https://example.org/") == 17445483428855720374
    assert key.fingerprint(Url("https://EXAMPLE.org")) == key.fingerprint(b"https://example.org/")
    assert Key(8).fingerprint("a") != key.fingerprint("a")
    assert int(Key(2**64 - 1)) == 2**64 - 1 and key == Key(7) and hash(key) == hash(Key(7))
    assert repr(key) == "Key(7)" and pickle.loads(pickle.dumps(key)) == key
    assert Key.random() != Key.random()
    for bad in [-1, 2**64]:
        with pytest.raises(OverflowError):
            Key(bad)
    with pytest.raises(TypeError, match="expected str or bytes, not int"):
        key.fingerprint(7)  # type: ignore[arg-type]


BODY = b"""User-agent: *
Disallow: /private/
Allow: /private/open$
Crawl-delay: 1.5

User-agent: MyBot/2.0
Disallow: /mine
Sitemap: https://example.org/sitemap.xml
"""


def test_robots() -> None:
    robots = Robots(BODY, "other")
    assert not robots.allows("https://example.org/private/a?b")
    assert robots.allows("/private/open") and robots.allows("/mine") and not robots.allows("/private/open/a")
    assert (robots.crawl_delay, robots.sitemaps, robots.agent) == (1.5, ["https://example.org/sitemap.xml"], "other")
    ruling = robots.ruling("/private/a")
    assert (ruling.allowed, ruling.rule, bool(ruling)) == (False, "Disallow: /private/", False)
    assert repr(ruling) == '<Ruling: disallowed by "Disallow: /private/">'
    assert robots.ruling("/").rule is None
    mine = Robots(BODY.decode(), "mybot")
    assert not mine.allows("/mine/a") and mine.allows("/private/") and mine.crawl_delay is None
    assert Robots(b"", "x").allows("/") and Robots(bytes(range(256)) * 4000, "x").allows("/")
    assert repr(robots) == '<Robots for "other": 1 sitemaps, a delay of 1.5s>'
    with pytest.raises(AddressError):
        robots.allows("mailto:ann")
    with pytest.raises(TypeError, match="expected bytes or str"):
        Robots(None, "x")  # type: ignore[arg-type]


def test_scopes(tmp_path: pathlib.Path) -> None:
    lists = tmp_path / "hosts.txt"
    lists.write_text("bad.example.org\n")
    scope = Scope(
        ["https://example.org/docs/"],
        kind="domain",
        exclude=["/private/"],
        include=["/docs/"],
        reject_extensions=["zip"],
        blocklists=[lists],
        max_depth=2,
    )
    verdicts = {
        "https://example.org/docs/a": None,
        "http://www.example.org:8080/docs/a": None,
        "https://other.example/docs/": "out_of_scope",
        "https://example.org/docs/private/": "excluded",
        "https://example.org/docs/a.ZIP": "rejected_extension",
        "https://bad.example.org/docs/": "blocked",
        "https://example.org/a": "not_included",
        "https://example.org/docs/a/b/a/b/a/b/a/b/a/b/": "repeated_segments",
        "mailto:ann": "unsupported_scheme",
        "http://[": "malformed",
    }
    for url, verdict in verdicts.items():
        assert scope.refusal(url) == verdict
        assert (url in scope) == (verdict is None)
    assert scope.refusal("https://example.org/docs/a", depth=3) == "too_deep"
    assert scope.explain("https://example.org/docs/a", depth=3) == "refused, too_deep (scope.max_depth = 2)"
    assert scope.explain("https://example.org/docs/a") == "passes (scope.kind = domain: a seed opened it)"
    scope.add_seed("https://other.example/")
    assert "https://other.example/docs/" in scope
    assert (scope.kind, repr(scope)) == ("domain", "<Scope: domain>")


def test_scopes_that_cannot_be() -> None:
    with pytest.raises(OptionError, match="kind = world: one of host, "):
        Scope(kind="world")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="scope.exclude"):
        Scope(exclude=["("])
    with pytest.raises(OptionError, match="scope.reject_extensions"):
        Scope(reject_extensions=["a/b"])
    with pytest.raises(OptionError, match="scope.blocklists"):
        Scope(blocklists=["/nowhere"])
    with pytest.raises(AddressError):
        Scope(["nowhere at all"])
