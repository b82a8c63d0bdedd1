"""The names of reasons and failures, for type checkers; nothing imports this module when it runs."""

from __future__ import annotations

from typing import Literal, TypeAlias

Refusal: TypeAlias = Literal[
    "barren_combination",
    "barren_domain",
    "barren_host",
    "barren_section",
    "barren_shape",
    "blocked",
    "cross_host",
    "dropped",
    "excluded",
    "host_bytes",
    "host_pages",
    "known_mirror",
    "known_session",
    "malformed",
    "nofollow",
    "not_included",
    "out_of_scope",
    "path_too_deep",
    "preference",
    "rejected_extension",
    "repeated_segments",
    "robots",
    "seen",
    "template",
    "too_deep",
    "too_long",
    "too_many_links",
    "too_many_parameters",
    "too_many_redirects",
    "unsupported_scheme",
]
Failure: TypeAlias = Literal[
    "bad_response",
    "blocked_port",
    "connect",
    "dns",
    "incomplete",
    "lost",
    "no_authorities",
    "no_such_host",
    "private_address",
    "proxy",
    "proxy_refusal",
    "timeout",
    "tls",
]
