"""What is written in Rust, as type checkers see it. The classes' own docstrings say what each does."""

from collections.abc import Iterable
from os import PathLike
from types import TracebackType
from typing import Literal, TypeAlias, TypedDict, final, overload, type_check_only

_Path: TypeAlias = str | PathLike[str]
_Item: TypeAlias = str | bytes | Url
_Layout: TypeAlias = Literal["blocked", "standard", "partitioned", "counting", "exact", "verified"]
_OnFull: TypeAlias = Literal["grow", "stop", "warn"]
_Kind: TypeAlias = Literal["host", "domain", "prefix", "page", "any"]
_Errors: TypeAlias = Literal["strict", "skip"]

__all__ = [
    "Canonicalizer",
    "Key",
    "Robots",
    "Ruling",
    "Scope",
    "SeenSet",
    "Url",
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
