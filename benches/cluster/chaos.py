"""What happens to a cluster while it crawls, in an order and at times that follow from a number."""

import random
import time
from dataclasses import dataclass, field

from nodes import Node, Nodes
from records import Death, size
from servers import COUNT, Servers

BACK = (0.5, 6.0)
"""Seconds after which what was killed is there again."""
FULL = 20.0
"""Seconds for which a disk is full."""
DARK = (1.0, 8.0)
"""Seconds for which there is no server at all."""


@dataclass
class Chaos:
    """Its plan, and what of it has been done."""

    nodes: Nodes
    servers: Servers
    lease: float
    every: float
    """Mean seconds between two events."""
    plan: list[str]
    dice: random.Random
    deaths: list[Death] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    later: list[tuple[float, str, Node | int]] = field(default_factory=list)
    """What is to be mended, and when."""
    full: list[tuple[int, int]] = field(default_factory=list)
    """Of each full disk: bytes free at its end, and what the fullest of the others had grown by."""
    next_event: float = 0.0

    def __post_init__(self) -> None:
        self.next_event = time.monotonic() + self.every

    def act(self) -> None:
        """Does what is due."""
        now = time.monotonic()
        for due in [due for due in self.later if due[0] <= now]:
            self.later.remove(due)
            self._mend(due[1], due[2])
        if not self.plan or now < self.next_event or self._is_busy():
            return
        event = self.plan[0]
        if self._happen(event):
            self.plan.pop(0)
            self.done[event] = self.done.get(event, 0) + 1
        self.next_event = now + self.dice.expovariate(1 / self.every)

    def stop(self) -> None:
        """Nothing more happens, and all is mended."""
        self.plan.clear()
        for _, what, whom in self.later:
            self._mend(what, whom)
        self.later.clear()

    def _is_busy(self) -> bool:
        """One server may be gone at a time, beside the event in which all are."""
        wants_servers = self.plan[0] in ("server", "all servers", "full disk")
        return wants_servers and any(what in ("server", "full disk") for _, what, _ in self.later)

    def _happen(self, event: str) -> bool:
        now = time.monotonic()
        at_work = self.nodes.at_work
        if event in ("node", "stopped node", "leave") and not at_work:
            return False
        match event:
            case "node":
                node = self.dice.choice(at_work)
                self._mark(node)
                self.nodes.kill(node)
                self.later.append((now + self.dice.uniform(*BACK), "node", node))
            case "stopped node":
                node = self.dice.choice(at_work)
                self._mark(node)
                self.nodes.stop(node)
                self.later.append((now + self.dice.uniform(0.5, 3) * self.lease, "stopped node", node))
            case "leave":
                if len(at_work) < 2:
                    return False
                self.nodes.leave(self.dice.choice(at_work))
            case "join":
                self.nodes.add()
            case "server":
                number = self.dice.randrange(COUNT)
                self.servers.kill(number)
                self.later.append((now + self.dice.uniform(*BACK), "server", number))
            case "all servers":
                back = now + self.dice.uniform(*DARK)
                for number in range(COUNT):
                    self.servers.kill(number)
                    self.later.append((back, "server", number))
            case "full disk":
                self.servers.fill_disk()
                self.later.append((now + FULL, "full disk", 0))
            case _:
                raise ValueError(event)
        return True

    def _mend(self, what: str, whom: Node | int) -> None:
        match what, whom:
            case "node", Node() as node:
                # It was to come back even if the crawl has ended in the meantime: then it says so, and ends.
                self.nodes.start(node)
            case "stopped node", Node() as node:
                self.nodes.go_on(node)
            case "server", int(number):
                self.servers.start(number)
            case "full disk", _:
                self.full.append(self.servers.free_disk())
                # A server that had no room for its log gives JetStream up until it is started again.
                number = COUNT - 1
                self.servers.kill(number)
                self.servers.start(number)

    def _mark(self, node: Node) -> None:
        self.deaths.append(Death(time.time(), node.name, size(node.job)))
