"""What several test files need: a web that is served until the test's end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from simulated_web import Reply, Web


@pytest.fixture
def serve() -> Iterator[Callable[..., Web]]:
    """Serves a web until the test's end."""
    running: list[AbstractContextManager[Web]] = []

    def begin(pages: Callable[[str, str], Reply], hosts: int = 3, **options: Any) -> Web:
        web = Web(hosts, pages, **options)
        context = web.running()
        running.append(context)
        return context.__enter__()

    yield begin
    for context in running:
        context.__exit__(None, None, None)
