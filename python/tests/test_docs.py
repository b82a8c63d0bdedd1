"""The examples of docstrings and pages, run; and that each public name says what it is."""

from __future__ import annotations

import doctest
import inspect
import json
import pathlib
from collections.abc import Iterator

import pytest

import crawler_frontier

ROOT = pathlib.Path(__file__).resolve().parents[2]
# They exist for type checkers alone.
TYPES = {
    "AuditStatistics",
    "FrontierOptions",
    "GenerationStatistics",
    "HostGroup",
    "HostRule",
    "JobOptions",
    "PlanRow",
    "SeenStatistics",
    "ShardStatistics",
    "VerifiedStatistics",
}
NAMES = sorted(set(crawler_frontier.__all__) - TYPES - {"__version__"})


def docs() -> Iterator[tuple[str, str]]:
    """All docstrings by name: of the package, its classes and functions, their methods and properties."""
    yield "crawler_frontier", crawler_frontier.__doc__ or ""
    for name in NAMES:
        public = getattr(crawler_frontier, name)
        yield name, public.__doc__ or ""
        if inspect.isclass(public) and not issubclass(public, BaseException):
            # Getters that are written in Rust come in another order in each process, and tests of several processes are matched by it.
            for member in sorted(vars(public)):
                if not member.startswith("_"):
                    yield f"{name}.{member}", getattr(public, member).__doc__ or ""


def run(name: str, text: str) -> int:
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test)
    assert runner.failures == 0, f"{name}: its example does not run"
    return len(test.examples)


@pytest.mark.parametrize(("name", "text"), list(docs()))
def test_each_example_runs(name: str, text: str) -> None:
    assert text, f"{name} says nothing"
    run(name, text)


def test_examples_are_where_they_are_looked_for() -> None:
    assert sum(bool(doctest.DocTestParser().get_examples(text)) for _, text in docs()) > 15


@pytest.mark.parametrize("page", ["python/README.md", "docs/guide/python.md", "README.md"])
def test_each_python_block_of_a_page_runs(page: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # What `crawler identity new` makes.
    vectors = json.loads((ROOT / "tests/identity/vectors.json").read_text())
    pathlib.Path("identity.json").touch(0o600)
    pathlib.Path("identity.json").write_text(json.dumps(vectors["keys"]["ours"]))
    blocks = (ROOT / page).read_text().split("```python\n")[1:]
    assert blocks
    scope: dict[str, object] = {}
    for block in blocks:
        code = block.split("```")[0]
        if code.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(code, scope, page, page, 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(test, clear_globs=False)
            assert runner.failures == 0
        else:
            exec(compile(code, page, "exec"), scope)


def test_all_names_what_there_is() -> None:
    scope: dict[str, object] = {}
    exec("from crawler_frontier import *", scope)
    public = {name for name in vars(crawler_frontier) if not name.startswith("_")} - {"TYPE_CHECKING", "annotations"}
    assert public <= set(crawler_frontier.__all__) | {"aio", "crawlee", "identity", "remote", "scrapy"}
