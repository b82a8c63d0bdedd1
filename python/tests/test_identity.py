"""``crawler_frontier.identity``: the bytes of the vectors that the Rust tests read too, and what a user does with keys."""

from __future__ import annotations

import base64
import json
import logging
import pathlib
import subprocess
import sys
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from crawler_frontier import CrawlerError, IdentityError, identity
from crawler_frontier.identity import Identity

AGENT = "https://bot.example"
DIRECTORY = "https://bot.example/.well-known/http-message-signatures-directory"
VECTORS: dict[str, Any] = json.loads(
    (pathlib.Path(__file__).resolve().parents[2] / "tests/identity/vectors.json").read_text()
)
KEYS: dict[str, dict[str, Any]] = VECTORS["keys"]
OURS, OTHER = KEYS["ours"], KEYS["rfc8037"]


def thumbprint(key: str) -> str:
    return next(str(vector["thumbprint"]) for vector in VECTORS["thumbprints"] if vector["key"] == key)


def key_of(name: str) -> identity._Key:  # pyright: ignore[reportPrivateUsage]
    return identity._of_jwk(KEYS[name])  # pyright: ignore[reportPrivateUsage]


def written(path: pathlib.Path, *keys: dict[str, Any]) -> pathlib.Path:
    path.unlink(missing_ok=True)
    path.touch(0o600)
    path.write_text(json.dumps({"keys": keys}))
    return path


@pytest.mark.parametrize("vector", VECTORS["thumbprints"], ids=lambda vector: vector["source"])
def test_thumbprints(vector: dict[str, Any]) -> None:
    assert key_of(vector["key"]).thumbprint == vector["thumbprint"]


@pytest.mark.parametrize("vector", VECTORS["signatures"], ids=lambda vector: vector["source"])
def test_signatures(vector: dict[str, Any]) -> None:
    signature = key_of(vector["key"]).pair.sign(vector["text"].encode())
    assert base64.b64encode(signature).decode() == vector["signature"]


@pytest.mark.parametrize("vector", VECTORS["requests"], ids=lambda vector: f"{vector['source']} {vector.get('url')}")
def test_headers(vector: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    nonce = base64.b64decode(vector["nonce"])
    dates = vector["created"], vector["expires"]
    key, label, authority = key_of(vector["key"]), vector["label"], vector["authority"]
    headers = identity._headers(key, label, vector["agent"], authority, dates, nonce)  # pyright: ignore[reportPrivateUsage]
    assert headers == vector["headers"]
    if "url" in vector:
        monkeypatch.setattr(identity, "token_bytes", lambda size: nonce if size == 64 else b"")  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        own = Identity(json.dumps(KEYS[vector["key"]]), AGENT, validity=vector["validity"])
        assert own.sign(vector["method"], vector["url"], now=vector["now"]) == vector["headers"]


def test_of_several_keys_the_latest_whose_time_has_come_signs() -> None:
    for vector in VECTORS["files"]:
        # A file has a key that signs when it is read: here, one with dates that have passed is not enough.
        keys = [{**key, "exp": key["exp"] + 10**10} if "exp" in key else key for key in vector["keys"]]
        both = Identity(json.dumps({"keys": keys}), AGENT)
        assert f'keyid="{vector["signs"]}"' in both.sign("GET", "https://a.test/", now=vector["now"])["Signature-Input"]
        assert both.directory(now=vector["now"]).count('"kid"') == 2
        one = Identity(json.dumps({"keys": vector["keys"]}), AGENT)
        assert one.directory(now=vector["now"]) == vector["directory"]
        assert one.thumbprint == thumbprint("rfc8037"), "it signs since 1970, and the other has expired"


def test_each_signature_is_new_and_holds_for_clocks_off_by_a_minute() -> None:
    own = Identity(json.dumps(OURS), AGENT)
    one, two = (own.sign("GET", "https://a.test/", now=1_800_000_000.9) for _ in range(2))
    assert own.agent == DIRECTORY and one["Signature-Agent"] == f'sig1="{DIRECTORY}"' == two["Signature-Agent"]
    assert one["Signature-Input"] != two["Signature-Input"] and one["Signature"] != two["Signature"]
    assert ";created=1799999940;" in one["Signature-Input"] and ";expires=1800000120;" in one["Signature-Input"]
    # Another implementation's address of the host, in letters of its own.
    assert own.sign("GET", "https://bücher.example/").keys() == one.keys()


def test_only_the_hosts_that_it_is_for_are_shown_it() -> None:
    own = Identity(json.dumps(OURS), AGENT, hosts=["*.B.test", "c.test"])
    shown = {host for host in ("b.test", "x.b.test", "xb.test", "c.test", "x.c.test") if own.is_for(host)}
    assert shown == {"b.test", "x.b.test", "c.test"}
    assert own.sign("GET", "https://a.test/") == {} != own.sign("GET", "https://X.b.test/")
    for name in ("a b", "", "a.test/x", "a.test:80", "*.", "u@a.test"):
        with pytest.raises(IdentityError, match="is no host's name"):
            Identity(json.dumps(OURS), AGENT, hosts=[name])


@pytest.mark.parametrize(
    ("agent", "sent"),
    [
        ("https://Bot.example", DIRECTORY),
        ("https://bot.example:8443/", "https://bot.example:8443/.well-known/http-message-signatures-directory"),
        ("https://bot.example/keys.json", "https://bot.example/keys.json"),
        ("http://bot.example", None),
        ("https://me@bot.example", None),
        ("https://bot.example/?a", None),
        ("bot.example", None),
        ("", None),
    ],
)
def test_an_agent_is_an_https_url(agent: str, sent: str | None) -> None:
    if sent is None:
        with pytest.raises(IdentityError, match="agent: .* is no https URL without user, query and fragment"):
            Identity(json.dumps(OURS), agent)
    else:
        assert Identity(json.dumps(OURS), agent).agent == sent


def test_a_key_file_has_one_of_three_forms() -> None:
    pair = ed25519.Ed25519PrivateKey.from_private_bytes(base64.urlsafe_b64decode(OURS["d"] + "="))
    pem = pair.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    padded = {**OURS, "x": OURS["x"] + "=", "nbf": 0}
    for text in (json.dumps(OURS), json.dumps({"keys": [OURS]}), pem, pem.decode(), json.dumps(padded)):
        assert Identity(text, AGENT).thumbprint == thumbprint("ours")
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    for text, reason in (
        ("", "neither a private JWK"),
        (b"\xff", "neither a private JWK"),
        ("{", "neither a private JWK"),
        ('{"keys":{}}', "neither a private JWK"),
        ('{"keys":[1]}', "neither a private JWK"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "neither a private JWK"),
        ('{"keys":[]}', "it has 0 keys"),
        (json.dumps({"keys": [OURS] * 33}), "it has 33 keys"),
        (curve, "its PEM has no Ed25519 key"),
        (json.dumps({**OURS, "crv": "Ed448"}), "it is no Ed25519 key"),
        (json.dumps({**OURS, "x": OTHER["x"]}), "x and d are not two halves of one key"),
        (json.dumps({**OURS, "d": "AAAA"}), "d is no Ed25519 key"),
        (json.dumps({**OURS, "x": "a+b"}), "x is not base64url"),
        (json.dumps({**OURS, "nbf": "now"}), "nbf and exp are seconds"),
        (json.dumps({**OURS, "d": None}), "it has no private half"),
        (json.dumps({**OURS, "exp": 1}), "none of its keys signs now: crawler identity new FILE adds one"),
        (json.dumps(KEYS["rfc9421"]), "the test key of RFC 9421"),
    ):
        with pytest.raises(IdentityError, match=reason) as caught:
            Identity(text, AGENT)
        assert isinstance(caught.value, CrawlerError) and OURS["d"] not in f"{caught.value!r}"


def test_a_file_is_its_owners_alone(tmp_path: pathlib.Path) -> None:
    file = written(tmp_path / "identity.json", OURS)
    assert Identity.read(file, AGENT).thumbprint == thumbprint("ours")
    file.chmod(0o640)
    with pytest.raises(IdentityError) as caught:
        Identity.read(str(file), AGENT)
    assert str(caught.value) == f"{file}: others than its owner may read it (mode 640): chmod 600 {file}"
    with pytest.raises(FileNotFoundError):
        Identity.read(tmp_path / "none.json", AGENT)


def test_keys_are_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOT_KEY", json.dumps(OURS))
    assert Identity.read("env:BOT_KEY", AGENT).sign("GET", "https://a.test/")
    monkeypatch.delenv("BOT_KEY")
    with pytest.raises(IdentityError, match="env:BOT_KEY: the variable is not set"):
        Identity.read("env:BOT_KEY", AGENT)


def test_a_file_that_changes_is_read_anew_and_a_broken_one_changes_nothing(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = written(tmp_path / "identity.json", OURS)
    own = Identity.read(file, AGENT)
    for broken in ("half a fi", json.dumps({**OTHER, "exp": 1}), None):
        if broken is None:
            file.unlink()
        else:
            file.write_text(broken)
        with caplog.at_level(logging.WARNING):
            assert [own.thumbprint, own.thumbprint] == [thumbprint("ours")] * 2
        assert len(caplog.records) == 1 and OURS["d"] not in caplog.text, "it is said once"
        caplog.clear()
    written(file, {**OTHER, "nbf": 5}, OURS)
    assert own.thumbprint == thumbprint("rfc8037")
    assert f'keyid="{thumbprint("rfc8037")}"' in own.sign("GET", "https://a.test/")["Signature-Input"]


def test_without_cryptography_the_extra_is_named() -> None:
    code = "import sys; sys.modules['cryptography'] = None; import crawler_frontier.identity"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = ended.stderr.strip().splitlines()[-1]
    assert last == (
        "ModuleNotFoundError: crawler_frontier.identity needs the package cryptography: pip install 'crawler-frontier[identity]'"
    )
    code = "import sys, crawler_frontier; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0, "the package itself goes without"
