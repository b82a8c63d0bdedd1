"""What is kept: the frontier in `JOBDIR`, its checkpoints from time to time, and cookies."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from typing import TYPE_CHECKING, Any

from .._native import Frontier

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)


def open_frontier(jobdir: Path | None, options: dict[str, Any]) -> Frontier:
    """The frontier of a job, which may go on; in memory without a directory. Says in the log what was found."""
    if jobdir is None:
        return Frontier(**options)
    # Whatever is done is flushed once for each page.
    options = {"autoflush": False, "keep_journal": False, **options}
    path = jobdir / "frontier"
    jobdir.mkdir(parents=True, exist_ok=True)
    frontier = Frontier.open(path, **options)
    again, opening = frontier.ask_again(), frontier.opening
    assert opening is not None
    for words in opening.damaged:
        logger.warning("A checkpoint could not be used: %s", words)
    waiting = len(frontier)
    if waiting:
        logger.info("Resuming crawl (%d requests scheduled)", waiting)
        if again:
            logger.info("%d of them were given up with their hosts, which are asked again", again)
    elif not opening.is_new:
        logger.info(
            "The crawl in %s is finished: requests that it has seen are filtered, start requests included. "
            "To begin anew, remove the directory or name another JOBDIR",
            path,
        )
    return frontier


class Keeper:
    """Writes a checkpoint from time to time, in a thread of its own. The frontier is locked for a piece at a time."""

    def __init__(self, frontier: Frontier, every: float) -> None:
        self._frontier, self._every = frontier, max(every, 0.01)
        self._due = time.monotonic() + self._every
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def check(self, cookies: Cookies | None) -> None:
        """Begins a checkpoint if it is time for one, after the cookies."""
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        if time.monotonic() < self._due or (self._thread is not None and self._thread.is_alive()):
            return
        if cookies is not None:
            cookies.save()
        self._thread = threading.Thread(target=self._write, name="crawler-frontier checkpoint", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        began = time.monotonic()
        try:
            self._frontier.checkpoint()
        except BaseException as error:
            self._error = error
        now = time.monotonic()
        # A slow disk is not asked all the time.
        self._due = now + max(self._every, 5 * (now - began))

    def end(self) -> None:
        """Waits for the checkpoint that is being written."""
        if self._thread is not None:
            self._thread.join()


class Cookies:
    """The jars of Scrapy's cookies middleware, in a file beside the frontier."""

    def __init__(self, downloader: Any, path: Path) -> None:
        middlewares = getattr(getattr(downloader, "middleware", None), "middlewares", ())
        all_jars: list[Any] = [one.jars for one in middlewares if getattr(one, "jars", None) is not None]
        self._jars: Any = all_jars[0] if all_jars else {}
        self._path = path

    def save(self) -> None:
        """Replaces the file."""
        try:
            kept = pickle.dumps({key: list(jar.jar) for key, jar in self._jars.items()}, protocol=4)
            beside = self._path.with_suffix(".new")
            beside.write_bytes(kept)
            beside.replace(self._path)
        except Exception as error:
            logger.warning("The cookies cannot be kept: %s", error)

    def load(self) -> None:
        """Reads those of the run before."""
        if not self._path.exists():
            return
        try:
            for key, cookies in pickle.loads(self._path.read_bytes()).items():
                for cookie in cookies:
                    self._jars[key].jar.set_cookie(cookie)
        except Exception as error:
            logger.warning("The cookies of the last run cannot be read: %s", error)
