"""What is written in Rust, as type checkers see it. The classes' own docstrings say what each does."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from types import TracebackType
from typing import Literal, TypeAlias, TypedDict, final, overload, type_check_only

from typing_extensions import Unpack

from ._types import Failure, Refusal

_Path: TypeAlias = str | PathLike[str]
_Item: TypeAlias = str | bytes | Url
_Layout: TypeAlias = Literal["blocked", "quotient", "standard", "partitioned", "counting", "exact", "verified"]
_OnFull: TypeAlias = Literal["grow", "stop", "warn"]
_Kind: TypeAlias = Literal["host", "domain", "prefix", "page", "any"]
_Errors: TypeAlias = Literal["strict", "skip"]

__all__ = [
    "Busy",
    "Canonicalizer",
    "CheckpointCost",
    "Drained",
    "Explanation",
    "Fetch",
    "Frontier",
    "FrontierStatistics",
    "GiveUp",
    "Key",
    "Lease",
    "Leases",
    "Link",
    "Opening",
    "QueueStatistics",
    "Reprioritized",
    "Robots",
    "Ruling",
    "Scope",
    "SeenSet",
    "Url",
    "Wait",
    "__version__",
    "canonicalize",
    "canonicalize_many",
    "domain",
]

__version__: str

@type_check_only
class AuditStatistics(TypedDict):
    sample: int
    shown: int
    false_positives: int
    distinct: float
    rate: float
    rate_low: float
    rate_high: float
    lost: float
    lost_variance: float
    lost_low: float
    lost_high: float

@type_check_only
class VerifiedStatistics(TypedDict):
    lookups: int
    from_memory: int
    rescued: int
    pages_read: int
    runs: int
    disk_bytes: int
    bytes_written: int
    failures: int

@type_check_only
class GenerationStatistics(TypedDict):
    identity_bits: int
    urls: int
    covers: float

@type_check_only
class ShardStatistics(TypedDict):
    capacity: int
    inserted: int
    tests: int
    removed: int
    lock_waits: int
    batches: int
    batched: int
    layers: int
    full: int
    bits: int
    bits_set: int
    probes: int
    bytes: int
    bytes_bookkeeping: int
    fill_ratio: float
    cardinality: float
    false_positive_rate_target: float
    false_positive_rate_estimated: float
    false_positive_rate_mean: float
    expected_lost: float
    audit: AuditStatistics | None
    verified: VerifiedStatistics | None
    generations: list[GenerationStatistics]

@type_check_only
class SeenStatistics(TypedDict):
    merged: ShardStatistics
    shards: list[ShardStatistics]
    recent_hits: int

@type_check_only
class PlanRow(TypedDict):
    name: str
    is_layout: bool
    bytes: int
    bits_per_url: float
    probes: int
    rate: float
    mean_rate: float
    expected_lost: float

def canonicalize(url: str, *, base: str | None = None) -> str: ...
@overload
def canonicalize_many(
    urls: list[str], *, base: str | None = None, errors: Literal["strict"] = "strict"
) -> list[str]: ...
@overload
def canonicalize_many(urls: list[str], *, base: str | None = None, errors: _Errors) -> list[str | None]: ...
def domain(host: str) -> str: ...

@final
class Canonicalizer:
    def __new__(
        cls,
        *,
        normalize_escapes: bool = True,
        unescape_brackets: bool = True,
        collapse_slashes: bool = False,
        sort_query: bool = True,
        drop_empty_query: bool = True,
        drop_tracking: bool = True,
        drop_sessions: bool = True,
        drop_parameters: list[str] = ...,
        max_bytes: int = 8192,
    ) -> Canonicalizer: ...
    def canonicalize(self, url: str, *, base: str | None = None) -> str: ...
    @overload
    def canonicalize_many(
        self, urls: list[str], *, base: str | None = None, errors: Literal["strict"] = "strict"
    ) -> list[str]: ...
    @overload
    def canonicalize_many(self, urls: list[str], *, base: str | None = None, errors: _Errors) -> list[str | None]: ...
    def url(self, url: str, *, base: str | None = None) -> Url: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]

@final
class Url:
    def __new__(cls, url: str, *, base: str | None = None) -> Url: ...
    @property
    def wire(self) -> str: ...
    @property
    def key(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def path_and_query(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Key:
    def __new__(cls, number: int) -> Key: ...
    @staticmethod
    def random() -> Key: ...
    def fingerprint(self, item: _Item) -> int: ...
    def __int__(self, /) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Robots:
    def __new__(cls, body: bytes | str, agent: str) -> Robots: ...
    def allows(self, url: str) -> bool: ...
    def ruling(self, url: str) -> Ruling: ...
    @property
    def crawl_delay(self) -> float | None: ...
    @property
    def sitemaps(self) -> list[str]: ...
    @property
    def agent(self) -> str: ...

@final
class Ruling:
    @property
    def allowed(self) -> bool: ...
    @property
    def rule(self) -> str | None: ...
    def __bool__(self, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...

@final
class Scope:
    def __new__(
        cls,
        seeds: list[str] = ...,
        *,
        kind: _Kind = "host",
        include: list[str] = ...,
        exclude: list[str] = ...,
        reject_extensions: list[str] = ...,
        blocklists: list[_Path] = ...,
        max_depth: int | None = None,
    ) -> Scope: ...
    def add_seed(self, url: str) -> None: ...
    def refusal(self, url: str, *, depth: int = 1) -> str | None: ...
    def explain(self, url: str, *, depth: int = 1) -> str: ...
    @property
    def kind(self) -> _Kind: ...
    def __contains__(self, url: str, /) -> bool: ...

@final
class SeenSet:
    def __new__(
        cls,
        capacity: int | None = None,
        rate: float = 0.0001,
        *,
        layout: _Layout = "blocked",
        raw: bool = False,
        canonicalizer: Canonicalizer | None = None,
        on_full: _OnFull = "grow",
        shards: int = 16,
        audit: int = 1024,
        bits_per_url: float | None = None,
        probes: int | None = None,
        identity_bits: int = 38,
        key: Key | None = None,
        directory: _Path | None = None,
    ) -> SeenSet: ...
    def add(self, item: _Item) -> bool: ...
    def add_many(self, items: Iterable[_Item], *, errors: _Errors = "strict") -> bytearray: ...
    def contains_many(self, items: Iterable[_Item], *, errors: _Errors = "strict") -> bytearray: ...
    def update(self, *others: Iterable[_Item] | SeenSet) -> None: ...
    def remove(self, item: _Item) -> None: ...
    def discard(self, item: _Item) -> None: ...
    def copy(self) -> SeenSet: ...
    def save(self, path: _Path | None = None) -> None: ...
    @staticmethod
    def load(
        path: _Path,
        *,
        raw: bool = False,
        canonicalizer: Canonicalizer | None = None,
        directory: _Path | None = None,
    ) -> SeenSet: ...
    @classmethod
    def open(
        cls,
        path: _Path,
        *,
        capacity: int | None = None,
        rate: float = 0.0001,
        layout: _Layout = "blocked",
        raw: bool = False,
        canonicalizer: Canonicalizer | None = None,
        on_full: _OnFull = "grow",
        shards: int = 16,
        audit: int = 1024,
        bits_per_url: float | None = None,
        probes: int | None = None,
        identity_bits: int = 38,
        key: Key | None = None,
        directory: _Path | None = None,
    ) -> SeenSet: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(
        data: bytes,
        *,
        raw: bool = False,
        canonicalizer: Canonicalizer | None = None,
        directory: _Path | None = None,
    ) -> SeenSet: ...
    @staticmethod
    def plan(urls: int, rate: float = 0.0001) -> list[PlanRow]: ...
    def statistics(self) -> SeenStatistics: ...
    def check(self) -> None: ...
    @property
    def layout(self) -> _Layout: ...
    @property
    def capacity(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def shards(self) -> int: ...
    @property
    def key(self) -> Key: ...
    @property
    def raw(self) -> bool: ...
    @property
    def is_full(self) -> bool: ...
    @property
    def nbytes(self) -> int: ...
    def __len__(self, /) -> int: ...
    def __contains__(self, item: _Item, /) -> bool: ...
    def __ior__(self, other: SeenSet, /) -> SeenSet: ...
    def __or__(self, other: SeenSet, /) -> SeenSet: ...
    def __ror__(self, other: SeenSet, /) -> SeenSet: ...
    def __copy__(self) -> SeenSet: ...
    def __deepcopy__(self, _memo: object) -> SeenSet: ...
    def __enter__(self) -> SeenSet: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
        /,
    ) -> bool: ...

_Duration: TypeAlias = float | str | timedelta
_Size: TypeAlias = int | str
_Order: TypeAlias = Literal["fifo", "lifo"]

@type_check_only
class HostRule(TypedDict, total=False):
    host_delay: _Duration
    connections_per_host: int
    robots: bool
    one_server: bool
    max_depth: int
    max_pages: int
    max_bytes: _Size
    hours: str
    order: _Order

@type_check_only
class HostGroup(HostRule, total=False):
    hosts: Sequence[str]
    delay: _Duration
    connections: int

@type_check_only
class FrontierOptions(TypedDict, total=False):
    agent: str
    robots: bool
    host_delay: _Duration
    connections_per_host: int
    first_contacts_per_host: int
    address_delay: _Duration | None
    connections_per_address: int
    host_pages: int | None
    host_bytes: _Size | None
    hours: str | None
    adaptive_share: float | None
    max_adaptive_delay: _Duration
    max_crawl_delay: _Duration
    max_retry_after: _Duration
    attempts: int
    backoff: _Duration
    max_backoff: _Duration
    host_failures: int
    patience: _Duration
    robots_ttl: _Duration
    robots_memory: _Size
    hosts: Mapping[str, HostRule]
    groups: Mapping[str, HostGroup]
    move_up: bool
    order: _Order
    request_rate: float | None
    byte_rate: _Size | None
    lease_timeout: _Duration | None
    pages_in_hand: int
    counts_expired: bool
    fingerprint_key: int | None
    metadata_bytes: _Size
    metadata_memory: _Size
    scope: _Kind
    include: Iterable[str]
    exclude: Iterable[str]
    blocklists: Sequence[_Path]
    dropped: Iterable[str]
    reject_extensions: Iterable[str]
    max_depth: int | None
    url_bytes: _Size
    path_segments: int
    segment_repeats: int
    redirects: int
    parameters: int
    parameter_sets: int
    shape_budget: int
    section_budget: int
    host_budget: int
    domain_budget: int
    domain_lead: int
    session_budget: int
    mirror_budget: int
    copies: int
    budget_growth: int
    budget_identities: bool
    normalize_escapes: bool
    unescape_brackets: bool
    collapse_slashes: bool
    sort_query: bool
    drop_empty_query: bool
    drop_tracking: bool
    drop_sessions: bool
    drop_parameters: Iterable[str]
    layout: _Layout
    capacity: int
    open_ended: bool
    false_positive_rate: float
    shards: int
    on_full: _OnFull
    audit: int
    bits_per_url: float | None
    probes: int | None
    identity_bits: int

@type_check_only
class JobOptions(FrontierOptions, total=False):
    autoflush: bool
    sync: _Duration | Literal["always", "never"]
    keep_journal: bool
    segment_bytes: _Size
    hosts_in_memory: int

@type_check_only
class Answer(TypedDict, total=False):
    links: Iterable[str | Link] | None
    body: bytes | None
    location: str | None
    retry_after: _Duration | None
    base_href: str | None
    nofollow: bool
    etag: str | None
    last_modified: str | None
    latency: float | None
    received: int | None

@type_check_only
class Completion(TypedDict, total=False):
    retry_after: _Duration | None
    body: bytes | None

@type_check_only
class HostAnswer(TypedDict, total=False):
    latency: float
    received: int
    retry_after: _Duration | None
    at: float | None

@final
class Link:
    def __new__(
        cls,
        url: str,
        *,
        priority: int | None = None,
        metadata: bytes | None = None,
        identity: bytes | None = None,
        queue: str | None = None,
        unconditional: bool = False,
        remembered: bool = False,
        nofollow: bool = False,
        depth: int = 0,
    ) -> Link: ...
    @property
    def url(self) -> str: ...
    @property
    def priority(self) -> int | None: ...
    @property
    def metadata(self) -> bytes: ...
    @property
    def identity(self) -> bytes | None: ...
    @property
    def queue(self) -> str | None: ...
    @property
    def unconditional(self) -> bool: ...
    @property
    def remembered(self) -> bool: ...
    @property
    def nofollow(self) -> bool: ...
    @property
    def depth(self) -> int: ...

@final
class Lease:
    @property
    def url(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def kind(self) -> Literal["page", "robots", "sitemap"]: ...
    @property
    def referrer(self) -> str | None: ...
    @property
    def metadata(self) -> bytes: ...
    @property
    def identity(self) -> bytes | None: ...
    @property
    def queue(self) -> str | None: ...
    @property
    def depth(self) -> int: ...
    @property
    def attempt(self) -> int: ...
    @property
    def is_last_try(self) -> bool: ...
    @property
    def priority(self) -> int: ...
    @property
    def position(self) -> int | None: ...
    @property
    def token(self) -> str | None: ...
    @property
    def trouble(self) -> tuple[str, str] | None: ...
    @property
    def lent_at(self) -> float: ...
    @property
    def delay(self) -> float: ...
    @property
    def is_first_contact(self) -> bool: ...
    @property
    def etag(self) -> str | None: ...
    @property
    def last_modified(self) -> str | None: ...
    @property
    def is_over(self) -> bool: ...
    def __enter__(self) -> Lease: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

@final
class Fetch:
    __match_args__: tuple[Literal["lease"]]
    @property
    def lease(self) -> Lease: ...

@final
class GiveUp:
    __match_args__: tuple[Literal["lease"]]
    @property
    def lease(self) -> Lease: ...

@final
class Wait:
    __match_args__: tuple[Literal["until"]]
    @property
    def until(self) -> float: ...

@final
class Busy: ...

@final
class Drained: ...

@final
class Reprioritized:
    @property
    def moved(self) -> int: ...
    @property
    def unchanged(self) -> int: ...
    @property
    def out(self) -> int: ...
    @property
    def unknown(self) -> int: ...

@final
class CheckpointCost:
    @property
    def seconds(self) -> float: ...
    @property
    def longest_pause(self) -> float: ...
    @property
    def bytes(self) -> int: ...

@final
class Opening:
    @property
    def is_new(self) -> bool: ...
    @property
    def checkpoint(self) -> int | None: ...
    @property
    def records(self) -> int: ...
    @property
    def rules_changed(self) -> bool: ...
    @property
    def damaged(self) -> list[str]: ...

@final
class Explanation:
    @property
    def verdict(self) -> str: ...
    @property
    def kind(
        self,
    ) -> Literal[
        "fetched", "no_record", "not_found", "refused", "scheduled", "seen", "unreachable", "waiting"
    ]: ...
    @property
    def url(self) -> str: ...
    @property
    def key(self) -> str: ...

@final
class QueueStatistics:
    @property
    def due(self) -> float: ...
    @property
    def waiting(self) -> int: ...
    @property
    def lent(self) -> int: ...
    @property
    def failures(self) -> int: ...
    @property
    def is_retired(self) -> bool: ...
    @property
    def requests(self) -> int: ...
    @property
    def delay(self) -> float: ...

@final
class FrontierStatistics:
    @property
    def queued(self) -> int: ...
    @property
    def scheduled(self) -> int: ...
    @property
    def leased(self) -> int: ...
    @property
    def leased_robots(self) -> int: ...
    @property
    def in_hand(self) -> int: ...
    @property
    def completed(self) -> int: ...
    @property
    def retries(self) -> int: ...
    @property
    def hosts(self) -> int: ...
    @property
    def hosts_in_memory(self) -> int: ...
    @property
    def active_hosts(self) -> int: ...
    @property
    def resting_hosts(self) -> int: ...
    @property
    def sleeping_hosts(self) -> int: ...
    @property
    def next_due(self) -> float | None: ...
    @property
    def hosts_in_line(self) -> int: ...
    @property
    def hosts_giving_way(self) -> int: ...
    @property
    def held_by_rate(self) -> int: ...
    @property
    def addresses(self) -> int: ...
    @property
    def failing_hosts(self) -> int: ...
    @property
    def retired_hosts(self) -> int: ...
    @property
    def expired(self) -> int: ...
    @property
    def shared_priorities(self) -> int: ...
    @property
    def moved_up(self) -> int: ...
    @property
    def not_looked_at(self) -> int: ...
    @property
    def unreachable(self) -> int: ...
    @property
    def memory(self) -> int: ...
    @property
    def queue_memory(self) -> int: ...
    @property
    def journal_memory(self) -> int: ...
    @property
    def robots_memory(self) -> int: ...

@final
class Leases:
    def __iter__(self) -> Leases: ...
    def __next__(self) -> Lease: ...

_Scores: TypeAlias = (
    Mapping[int, int] | Mapping[str, int] | Mapping[Link, int] | Iterable[tuple[int | str | Link, int]]
)

@final
class Frontier:
    def __new__(cls, **options: Unpack[FrontierOptions]) -> Frontier: ...
    @classmethod
    def open(cls, path: _Path, **options: Unpack[JobOptions]) -> Frontier: ...
    @property
    def opening(self) -> Opening | None: ...
    def now(self) -> float: ...
    def seed(self, url: str | Link, *, now: float | None = None) -> Refusal | None: ...
    def admit(self, urls: Iterable[str | Link], *, now: float | None = None) -> list[Refusal | None]: ...
    def links(self, lease: Lease, links: Iterable[str | Link], *, now: float | None = None) -> int: ...
    def schedule(self, url: str | Link, at: float) -> Refusal | None: ...
    def schedule_again(self, lease: Lease, at: float, *, now: float | None = None) -> Refusal | None: ...
    def forget(self, url: str | Link) -> bool: ...
    def has_seen(self, url: str | Link) -> bool: ...
    def next(self, *, now: float | None = None) -> Fetch | GiveUp | Wait | Busy | Drained: ...
    def next_batch(
        self, most: int, *, now: float | None = None
    ) -> tuple[list[Lease], Wait | Busy | Drained | None]: ...
    def lease(self, timeout: float | None = None, *, give_ups: bool = False) -> Lease | None: ...
    def leases(self, *, give_ups: bool = False) -> Leases: ...
    def answer(
        self,
        lease: Lease,
        status: int,
        *,
        links: Iterable[str | Link] | None = None,
        body: bytes | None = None,
        location: str | None = None,
        retry_after: _Duration | None = None,
        base_href: str | None = None,
        nofollow: bool = False,
        etag: str | None = None,
        last_modified: str | None = None,
        latency: float | None = None,
        received: int | None = None,
        now: float | None = None,
    ) -> float | None: ...
    def complete(
        self,
        lease: Lease,
        status: int = 200,
        *,
        retry_after: _Duration | None = None,
        body: bytes | None = None,
        now: float | None = None,
    ) -> float | None: ...
    def fail(
        self, lease: Lease, failure: Failure, words: str = "", *, now: float | None = None
    ) -> float | None: ...
    def release(self, lease: Lease, *, now: float | None = None) -> None: ...
    def give_up(self, lease: Lease, *, now: float | None = None) -> None: ...
    def answered(
        self,
        lease: Lease,
        status: int,
        *,
        latency: float = 0.0,
        received: int = 0,
        retry_after: _Duration | None = None,
        at: float | None = None,
        now: float | None = None,
    ) -> None: ...
    def answer_token(
        self,
        token: str,
        status: int,
        *,
        links: Iterable[str | Link] | None = None,
        body: bytes | None = None,
        location: str | None = None,
        retry_after: _Duration | None = None,
        base_href: str | None = None,
        nofollow: bool = False,
        etag: str | None = None,
        last_modified: str | None = None,
        now: float | None = None,
    ) -> float | None: ...
    def complete_token(
        self,
        token: str,
        status: int = 200,
        *,
        retry_after: _Duration | None = None,
        body: bytes | None = None,
        now: float | None = None,
    ) -> float | None: ...
    def fail_token(
        self, token: str, failure: Failure, words: str = "", *, now: float | None = None
    ) -> float | None: ...
    def answered_token(
        self,
        token: str,
        status: int,
        *,
        latency: float = 0.0,
        received: int = 0,
        retry_after: _Duration | None = None,
        at: float | None = None,
        now: float | None = None,
    ) -> None: ...
    def extend_token(self, token: str, *, now: float | None = None) -> float: ...
    def give_back_token(self, token: str, *, now: float | None = None) -> None: ...
    def redeem(self, token: str) -> Lease: ...
    def expire(self, *, now: float | None = None) -> int: ...
    def reprioritize(
        self, scores: _Scores, *, fingerprints: bool = False, now: float | None = None
    ) -> Reprioritized: ...
    def fingerprint(self, url: str | Link) -> int: ...
    def positions_of(self, url: str | Link) -> list[int]: ...
    def drop_host(self, host: str, *, now: float | None = None) -> None: ...
    def drop_queue(self, name: str, *, now: float | None = None) -> None: ...
    def drop_urls(self, pattern: str, *, now: float | None = None) -> None: ...
    def undo_drop(self, rule: str, *, now: float | None = None) -> bool: ...
    def dropped(self) -> list[str]: ...
    def host_was_asked(self, url: str | Link, at: float | None = None) -> None: ...
    def ask_again(self, *, now: float | None = None) -> int: ...
    def due(self, *, now: float | None = None) -> float | None: ...
    def statistics(self) -> FrontierStatistics: ...
    def refusals(self) -> dict[Refusal, int]: ...
    def queue_statistics(self, url: str | Link, *, now: float | None = None) -> QueueStatistics | None: ...
    def queues(self, *, now: float | None = None) -> list[tuple[str, QueueStatistics]]: ...
    def waiting(self, identity: bytes) -> list[bytes]: ...
    def explain(
        self, url: str | Link, *, identity: bytes | None = None, now: float | None = None
    ) -> Explanation: ...
    def flush(self) -> None: ...
    def checkpoint(self) -> CheckpointCost | None: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    def __enter__(self) -> Frontier: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
