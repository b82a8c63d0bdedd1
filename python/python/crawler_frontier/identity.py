"""Who asks, in a way that a site can check: requests are signed with an Ed25519 key, as ``crawler --identity`` signs them.

A signed request has three headers (Web Bot Auth: RFC 9421, and draft-ietf-webbotauth-httpsig-protocol). A site finds your keys at the
URL that ``Signature-Agent`` names, and checks the signature over the host that was asked::

    from crawler_frontier.identity import Identity

    identity = Identity.read("identity.json", "https://bot.example")
    httpx.get(url, headers=identity.sign("GET", url))

``crawler identity new FILE`` makes a key, and ``directory`` is the file that belongs on your site. Sign each try of a request by itself, and
never what is for a proxy alone. The guide tells the rest: ``docs/guide/identity.md``.

This module needs the package ``cryptography``: ``pip install 'crawler-frontier[identity]'``.
"""

from __future__ import annotations

import json
import logging
import os
import time
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from secrets import token_bytes
from typing import Any, NamedTuple, cast

from ._errors import AddressError, IdentityError
from ._native import Url

try:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
except ImportError as error:
    raise ModuleNotFoundError(
        "crawler_frontier.identity needs the package cryptography: pip install 'crawler-frontier[identity]'",
        name="cryptography",
    ) from error

__all__ = ["Identity"]

_DIRECTORY_PATH = "/.well-known/http-message-signatures-directory"
#: The label of a signature.
_LABEL = "sig1"
#: How far a site's clock may be off, in seconds: a signature is dated back by this, and holds longer by this.
_CLOCKS = 60
_MOST_KEYS = 32
#: The thumbprint of the key in RFC 9421, whose private half everybody knows.
_TEST_KEY = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
_FORMS = "it is neither a private JWK, a set of them, nor an Ed25519 key in PEM: crawler identity new FILE makes one"
_NONE_SIGNS = "none of its keys signs now: crawler identity new FILE adds one"

_log = logging.getLogger(__name__)


class Identity:
    """Keys that sign requests, for the site ``agent``.

    ``keys`` is the content of a key file: a set of JWKs with their private halves, one such JWK, or an Ed25519 key in PEM. Of several keys,
    that with the latest ``nbf`` that has passed signs. ``agent`` is your site, ``https://bot.example``, or the URL of the directory if it is
    elsewhere. A signature holds for ``validity`` seconds, and for a minute before and after, for clocks that are off. ``hosts`` are those that
    are shown who you are: ``example.org``, or ``*.example.org`` with all below it; all if none is given.

    What is unfit raises an ``IdentityError``, which has no secret in it. Threads may share an identity.
    """

    def __init__(self, keys: str | bytes, agent: str, *, validity: float = 60, hosts: Iterable[str] = ()) -> None:
        self._agent = _agent_url(agent)
        self._validity = max(int(validity), 1)
        self._hosts = [_host(name) for name in hosts]
        self._source: str | None = None
        self._stamp: tuple[int, int, int] | None = None
        self._keys = _read(keys)

    @classmethod
    def read(
        cls, key: str | os.PathLike[str], agent: str, *, validity: float = 60, hosts: Iterable[str] = ()
    ) -> Identity:
        """The keys of a file, or of a variable of the environment: ``env:VARIABLE``.

        A file must be its owner's alone (mode 0600). When it changes it is read again; if it is unfit then, a warning is logged and the keys from
        before go on signing.
        """
        source = os.fspath(key)
        stamp = _stamp(source)
        try:
            keys = _content(source)
            _read(keys)
        except IdentityError as error:
            raise IdentityError(f"{source}: {error}") from None
        identity = cls(keys, agent, validity=validity, hosts=hosts)
        if not source.startswith("env:"):
            identity._source, identity._stamp = source, stamp
        return identity

    @property
    def agent(self) -> str:
        """The URL of the directory of your keys, as it is sent."""
        return self._agent

    @property
    def thumbprint(self) -> str:
        """The JWK thumbprint (RFC 7638) of the key that signs now."""
        return _signing(self._current(), time.time()).thumbprint

    def directory(self, *, now: float | None = None) -> str:
        """The public halves of your keys, as JSON. They belong at ``/.well-known/http-message-signatures-directory`` of your site, as
        ``application/http-message-signatures-directory+json``."""
        now = time.time() if now is None else now
        published = [key.public() for key in self._current() if key.exp is None or now < key.exp]
        return json.dumps({"keys": published}, indent=2) + "\n"

    def is_for(self, host: str) -> bool:
        """Whether requests to this host are signed."""
        host = host.lower()
        within = (host == name or (below and host.endswith("." + name)) for name, below in self._hosts)
        return not self._hosts or any(within)

    def sign(self, method: str, url: str, *, now: float | None = None) -> dict[str, str]:
        """The headers of a new signature for one request; none for a host that the identity is not for.

        What is signed is the host of the ``url`` and the ``agent``: so far, the ``method`` changes nothing. ``now`` is in seconds since 1970.
        """
        address = Url(url)
        if not self.is_for(address.host):
            return {}
        now = time.time() if now is None else now
        authority = address.origin.partition("://")[2]
        dates = (max(int(now) - _CLOCKS, 0), int(now) + self._validity + _CLOCKS)
        return _headers(_signing(self._current(), now), _LABEL, self._agent, authority, dates, token_bytes(64))

    def _current(self) -> list[_Key]:
        """The keys in force. A file that has changed is read again."""
        if self._source is not None:
            stamp = _stamp(self._source)
            if stamp != self._stamp:
                # Until it changes again, a file that is unfit is complained of once.
                self._stamp = stamp
                try:
                    self._keys = _read(_content(self._source))
                except (OSError, ValueError) as error:
                    _log.warning("%s: %s: the keys from before sign", self._source, error)
        return self._keys


class _Key(NamedTuple):
    """A private key, and when it signs."""

    pair: Ed25519PrivateKey
    x: str
    nbf: int | None
    exp: int | None

    @property
    def thumbprint(self) -> str:
        return _thumbprint(self.x)

    def public(self) -> dict[str, str | int]:
        """Its public half, as JSON has it."""
        key: dict[str, str | int] = {"kty": "OKP", "crv": "Ed25519", "kid": self.thumbprint, "x": self.x, "use": "sig"}
        key.update((name, at) for name, at in (("nbf", self.nbf), ("exp", self.exp)) if at is not None)
        return key


def _headers(key: _Key, label: str, agent: str, authority: str, dates: tuple[int, int], nonce: bytes) -> dict[str, str]:
    """The headers of a signature by this key (RFC 9421 sections 2.3 and 2.5)."""
    params = (
        f'("@authority" "signature-agent";key="{label}");created={dates[0]};keyid="{key.thumbprint}";alg="ed25519"'
        f';expires={dates[1]};nonce="{b64encode(nonce).decode()}";tag="web-bot-auth"'
    )
    base = f'"@authority": {authority}\n"signature-agent";key="{label}": "{agent}"\n"@signature-params": {params}'
    signature = b64encode(key.pair.sign(base.encode())).decode()
    return {
        "Signature-Agent": f'{label}="{agent}"',
        "Signature-Input": f"{label}={params}",
        "Signature": f"{label}=:{signature}:",
    }


def _thumbprint(x: str) -> str:
    """The JWK thumbprint of a public half (RFC 7638, RFC 8037 appendix A.3)."""
    return _base64url(sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())


def _signing(keys: list[_Key], now: float) -> _Key:
    """The key that signs at this time: that with the latest ``nbf`` that has passed; of equal ones, the first."""
    fit = [key for key in keys if (key.nbf is None or key.nbf <= now) and (key.exp is None or now < key.exp)]
    if not fit:
        raise IdentityError(_NONE_SIGNS)
    return max(fit, key=lambda key: -1 if key.nbf is None else key.nbf)


def _agent_url(agent: str) -> str:
    """The URL that is sent as the agent. A site alone stands for the well-known place there."""
    try:
        url = Url(agent)
    except AddressError:
        url = None
    if url is None or not url.origin.startswith("https:") or any(letter in agent for letter in '?#@"\\'):
        raise IdentityError(
            f"agent: {agent!r} is no https URL without user, query and fragment: set it to the site where your keys are published,"
            " such as https://bot.example"
        )
    path = url.path_and_query
    return url.origin + (_DIRECTORY_PATH if path == "/" else path)


def _host(name: str) -> tuple[str, bool]:
    """A host's name, and whether all below it are meant too."""
    bare = name.removeprefix("*.")
    try:
        url = Url(f"https://{bare}/")
    except AddressError:
        url = None
    if url is None or url.path_and_query != "/" or any(letter in bare for letter in "/?#@:\\"):
        raise IdentityError(f"hosts: {name!r} is no host's name")
    return url.host, bare != name


def _stamp(path: str) -> tuple[int, int, int] | None:
    """What changes when a file changes."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size, state.st_ino


def _content(source: str) -> str | bytes:
    """The content of a variable or of a file, which must be its owner's alone."""
    if source.startswith("env:"):
        try:
            return os.environ[source[4:]]
        except KeyError:
            raise IdentityError("the variable is not set") from None
    with open(source, "rb") as file:
        mode = os.fstat(file.fileno()).st_mode & 0o777
        if os.name == "posix" and mode & 0o077:
            raise IdentityError(f"others than its owner may read it (mode {mode:o}): chmod 600 {source}")
        return file.read()


def _read(content: str | bytes) -> list[_Key]:
    """The keys of a key file, of which one signs now. An error has no secret in it."""
    try:
        text = (content.decode() if isinstance(content, bytes) else content).strip()
        keys = [_of_jwk(jwk) for jwk in _jwks(text)] if text.startswith("{") else [_of_pem(text)]
    except UnicodeDecodeError:
        raise IdentityError(_FORMS) from None
    if not 1 <= len(keys) <= _MOST_KEYS:
        raise IdentityError(f"it has {len(keys)} keys; 1 to {_MOST_KEYS} are allowed")
    if any(key.thumbprint == _TEST_KEY for key in keys):
        raise IdentityError("it has the test key of RFC 9421, whose private half everybody knows")
    _signing(keys, time.time())
    return keys


def _jwks(text: str) -> list[Mapping[str, Any]]:
    try:
        value: Any = json.loads(text)
    except ValueError:
        raise IdentityError(_FORMS) from None
    keys: Any = value.get("keys", [value])
    if not isinstance(keys, list):
        raise IdentityError(_FORMS)
    found = cast("list[object]", keys)
    if not all(isinstance(key, dict) for key in found):
        raise IdentityError(_FORMS)
    return cast("list[Mapping[str, Any]]", found)


def _of_jwk(jwk: Mapping[str, Any]) -> _Key:
    if (jwk.get("kty"), jwk.get("crv")) != ("OKP", "Ed25519"):
        raise IdentityError("it is no Ed25519 key (kty OKP, crv Ed25519)")
    if jwk.get("d") is None:
        raise IdentityError("it has no private half (d)")
    dates = [jwk.get(name) for name in ("nbf", "exp")]
    if not all(at is None or (type(at) is int and at >= 0) for at in dates):
        raise IdentityError("nbf and exp are seconds since 1970")
    d, x = (_bytes(jwk, name) for name in ("d", "x"))
    try:
        key = _of_pair(Ed25519PrivateKey.from_private_bytes(d), *dates)
    except ValueError:
        raise IdentityError("d is no Ed25519 key") from None
    if key.x != _base64url(x):
        raise IdentityError("x and d are not two halves of one key")
    return key


def _of_pem(text: str) -> _Key:
    try:
        pair = load_pem_private_key(text.encode(), None)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise IdentityError(_FORMS) from None
    if not isinstance(pair, Ed25519PrivateKey):
        raise IdentityError("its PEM has no Ed25519 key")
    return _of_pair(pair)


def _of_pair(pair: Ed25519PrivateKey, nbf: int | None = None, exp: int | None = None) -> _Key:
    return _Key(pair, _base64url(pair.public_key().public_bytes_raw()), nbf, exp)


def _bytes(jwk: Mapping[str, Any], name: str) -> bytes:
    """A member in base64url."""
    text = jwk.get(name)
    try:
        if not isinstance(text, str) or "+" in text or "/" in text:
            raise ValueError
        text = text.rstrip("=")
        return b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise IdentityError(f"{name} is not base64url") from None


def _base64url(of: bytes) -> str:
    return b64encode(of, altchars=b"-_").rstrip(b"=").decode()
