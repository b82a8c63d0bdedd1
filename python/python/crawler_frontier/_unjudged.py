"""Options of a frontier that judges no request: the crawler above it has rules of its own."""

from __future__ import annotations

from typing import Any

ENDLESS = 2**31 - 1

UNJUDGED: dict[str, Any] = {
    "scope": "any",
    "robots": False,
    "url_bytes": 2**40,
    "path_segments": 1000,
    "segment_repeats": ENDLESS,
    "parameters": ENDLESS,
    "redirects": 255,
    "domain_lead": ENDLESS,
    "shape_budget": 0,
    "section_budget": 0,
    "host_budget": 0,
    "domain_budget": 0,
    "session_budget": 0,
    "mirror_budget": 0,
    "parameter_sets": 0,
    "address_delay": 0,
}
