"""Checks the signatures of requests as a site would, by the package http-message-signatures of PyPI.

Standard input has a line of JSON: the keys of the directory, how many seconds the site's clock is off, and the requests. Prints a line of JSON: the key of
each signature, or why it does not hold.
"""

import base64
import datetime
import json
import sys

import http_message_signatures as signatures
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class Request:
    def __init__(self, given):
        self.method = "GET"
        self.url = given["url"]
        self.headers = given["headers"]


class Keys(signatures.HTTPSignatureKeyResolver):
    def __init__(self, keys):
        self.keys = {key["kid"]: key["x"] for key in keys}

    def resolve_public_key(self, key_id):
        return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(self.keys[key_id] + "="))

    def resolve_private_key(self, key_id):
        raise NotImplementedError


class Verifier(signatures.HTTPMessageVerifier):
    # The clock that is off, and no tolerance.
    off = datetime.timedelta()

    def validate_created_and_expires(self, sig_input, max_age=None):
        now = datetime.datetime.now(datetime.timezone.utc) + self.off
        created, expires = (sig_input.params[name] for name in ("created", "expires"))
        if not created <= now.timestamp() < expires:
            raise signatures.InvalidSignature(f"at {now.timestamp()} it does not hold: {created} to {expires}")


given = json.load(sys.stdin)
verifier = Verifier(signature_algorithm=signatures.algorithms.ED25519, key_resolver=Keys(given["keys"]))
verifier.off = datetime.timedelta(seconds=given["off"])
answers = []
for request in given["requests"]:
    try:
        [result] = verifier.verify(Request(request), max_age=None, expect_tag="web-bot-auth")
        covered = sorted(str(name) for name in result.covered_components)
        answers.append({"key": result.parameters["keyid"], "nonce": result.parameters["nonce"], "covered": covered})
    except Exception as error:
        answers.append({"error": f"{type(error).__name__}: {error}"})
print(json.dumps(answers))
