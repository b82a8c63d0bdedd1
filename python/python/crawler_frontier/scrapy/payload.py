"""Requests as bytes: what a request differs in from a plain one, pickled.

Scrapy pickles all attributes, and finds a callback's name by looking at all of the spider's methods. Here a name is looked up, and what is as
it would be anyway is left out: some 300 bytes for a link with a callback and its depth. ``scrapy.utils.request.request_from_dict`` reads both.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import request_from_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

#: The attributes of a plain request that are left out where they are these.
_DEFAULTS: dict[str, Any] = {
    "callback": None,
    "errback": None,
    "method": "GET",
    "headers": {},
    "body": b"",
    "cookies": {},
    "meta": {},
    "encoding": "utf-8",
    "priority": 0,
    "dont_filter": False,
    "flags": [],
    "cb_kwargs": {},
}


class Unserializable(ValueError):
    """A request cannot be written to disk. The message says what of it."""


def dump(request: Request, spider: Spider) -> bytes:
    """A request as bytes.

    Raises:
        Unserializable: If its callback is no method of the spider, or something in it cannot be pickled.
    """
    kind = type(request)
    fields: dict[str, Any] = {}
    for name in kind.attributes:
        value = getattr(request, name)
        if name == "callback" or name == "errback":
            if value is None:
                continue
            value = _name(value, spider) if callable(value) else value
        elif name == "headers":
            value = dict(value)
        if name not in _DEFAULTS or value != _DEFAULTS[name]:
            fields[name] = value
    if kind is not Request:
        fields["_class"] = f"{kind.__module__}.{kind.__name__}"
    try:
        return pickle.dumps(fields, protocol=4)
    except Exception as error:  # Whatever an object's own pickling raises.
        raise Unserializable(f"{error}") from error


def load(payload: bytes, spider: Spider) -> Request:
    """The request of these bytes.

    Raises:
        Exception: Whatever unpickling raises; ``ValueError`` if the spider has no such callback any more.
    """
    return request_from_dict(pickle.loads(payload), spider=spider)


def _name(callback: Callable[..., Any], spider: Spider) -> str:
    """The name of a method of the spider."""
    name = getattr(callback, "__name__", None)
    if name is not None and getattr(callback, "__self__", None) is spider:
        method = getattr(spider, name, None)
        if method is not None and getattr(method, "__func__", None) is getattr(callback, "__func__", False):
            return str(name)
        # The method has another name than its function.
        for other in dir(type(spider)):
            method = getattr(spider, other, None)
            if getattr(method, "__func__", None) is getattr(callback, "__func__", False):
                return other
    raise Unserializable(f"{callback} is no method of {spider}")
