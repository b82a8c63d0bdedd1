"""Requests as bytes: JSON of what a request differs in from a plain one."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

from crawlee import Request

#: A body that is no UTF-8 is under this name.
_BODY = "payload_base64"


def dump(request: Request) -> bytes:
    """A request as one line of JSON, its unique key first. What JSON has no word for becomes text, as in Crawlee's file system client."""
    try:
        return request.model_dump_json(exclude_defaults=True).encode()
    except ValueError:
        fields = request.model_dump(exclude_defaults=True, exclude={"payload"})
    if request.payload is not None:
        fields[_BODY] = base64.b64encode(request.payload).decode()
    return json.dumps(fields, default=str, ensure_ascii=False, separators=(",", ":")).encode()


def load(line: bytes) -> Request:
    """The request of these bytes.

    Raises:
        ValueError: If they are none, or none that this version of Crawlee takes.
    """
    fields: Any = json.loads(line)
    if isinstance(fields, dict) and _BODY in fields:
        body: str = cast("dict[str, Any]", fields).pop(_BODY)
        fields["payload"] = base64.b64decode(body)
    return Request.model_validate(fields)


def prefix(unique_key: str) -> bytes:
    """How the line of a request with this unique key begins."""
    return b'{"unique_key":' + json.dumps(unique_key, ensure_ascii=False).encode() + b","
