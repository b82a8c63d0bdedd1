"""The nodes of a crawl, each a process with a job directory of its own, and what can happen to them."""

import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from servers import waited


@dataclass
class Node:
    """A node: it may die and come back, with the job directory that it had."""

    name: str
    job: Path
    process: subprocess.Popen[bytes] | None = None
    cpu: float = 0.0
    starts: int = 0
    is_stopped: bool = False
    is_leaving: bool = False
    ended: int | None = None
    """Its exit status, where it has ended by itself."""


@dataclass
class Nodes:
    command: list[str | Path]
    """Without the job directory."""
    environment: dict[str, str]
    folder: Path
    all: list[Node] = field(default_factory=list)

    def add(self) -> Node:
        name = f"node{len(self.all)}"
        node = Node(name, self.folder / name)
        self.all.append(node)
        self.start(node)
        return node

    def start(self, node: Node) -> None:
        with (self.folder / f"{node.name}.log").open("ab") as log:
            node.process = subprocess.Popen(
                [*self.command, "--job", node.job],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environment},
                cwd=self.folder,
            )
        node.starts += 1

    def kill(self, node: Node) -> None:
        """As a power cut ends it."""
        assert node.process is not None
        node.process.send_signal(signal.SIGKILL)
        node.cpu += waited(node.process)
        node.process, node.is_stopped = None, False

    def stop(self, node: Node) -> None:
        """It does nothing, and knows nothing of it, until it goes on."""
        assert node.process is not None
        node.process.send_signal(signal.SIGSTOP)
        node.is_stopped = True

    def go_on(self, node: Node) -> None:
        if node.process is not None and node.is_stopped:
            node.process.send_signal(signal.SIGCONT)
        node.is_stopped = False

    def leave(self, node: Node) -> None:
        """It hands over what it owns, and ends."""
        assert node.process is not None
        node.process.send_signal(signal.SIGTERM)
        node.is_leaving = True

    def look(self) -> None:
        """Finds those that have ended by themselves."""
        for node in self.all:
            if node.process is not None and not node.is_stopped and has_ended(node.process.pid):
                node.cpu += waited(node.process)
                node.ended = node.process.returncode
                node.process = None

    @property
    def at_work(self) -> list[Node]:
        return [node for node in self.all if node.process is not None and not node.is_stopped and not node.is_leaving]

    @property
    def is_over(self) -> bool:
        """None runs, and none that died was to come back."""
        return all(node.process is None and node.ended is not None for node in self.all)

    @property
    def cpu(self) -> float:
        return sum(node.cpu for node in self.all)

    def close(self) -> None:
        for node in self.all:
            if node.process is not None:
                self.kill(node)


def has_ended(pid: int) -> bool:
    """Whether a child has ended. It is not waited for, so that its CPU time can still be asked for."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
