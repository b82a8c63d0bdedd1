"""What redis-py and valkey-py do with the filters, unchanged. Arguments: the module's name, the port, the token."""

import importlib
import sys

name, port, token = sys.argv[1:]
module = importlib.import_module(name)
Client = {"redis": "Redis", "valkey": "Valkey"}[name]

for protocol in (2, 3):
    # After 5 seconds redis-py would send a command again. A disk that stalls for longer is not what is tried here.
    client = getattr(module, Client)(port=int(port), password=token, protocol=protocol, socket_timeout=60)
    assert client.ping()
    key = f"{name}:{protocol}"
    assert client.sadd(key, "http://a.example/", b"\x00\xff") == 2
    assert client.sadd(key, "http://a.example/") == 0
    assert client.sismember(key, "http://a.example/") and not client.sismember(key, "x")
    assert [bool(there) for there in client.smismember(key, ["x", b"\x00\xff"])] == [False, True]
    assert client.scard(key) == 2
    pipeline = client.pipeline(transaction=False)
    for number in range(10_000):
        pipeline.sadd(key, f"http://a.example/{number % 7_000}")
    assert sum(pipeline.execute()) == 7_000

    bloom, filters = f"{key}:bloom", client.bf()
    assert filters.create(bloom, 0.001, 10_000)
    try:
        filters.create(bloom, 0.001, 10_000)
        raise SystemExit("it was there")
    except module.ResponseError as error:
        assert str(error) == "item exists", error
    assert filters.add(bloom, "a") == 1 and filters.add(bloom, "a") == 0
    assert [int(new) for new in filters.madd(bloom, "a", "b")] == [0, 1]
    assert [int(new) for new in filters.insert(f"{bloom}:2", ["a", "b", "a"], capacity=100, error=0.01)] == [1, 1, 0]
    assert filters.exists(bloom, "b") == 1
    assert [int(there) for there in filters.mexists(bloom, "b", "x")] == [1, 0]
    assert filters.card(bloom) == 2
    information = filters.info(bloom)
    # With version 3 it may be the map as it came.
    if isinstance(information, dict):
        known = {name if isinstance(name, str) else name.decode(): value for name, value in information.items()}
    else:
        known = {"Capacity": information.capacity, "Number of items inserted": information.insertedNum}
    assert (known["Capacity"], known["Number of items inserted"]) == (10_000, 2), known
    assert client.type(bloom).lower() == b"mbbloom--" and client.type(key) == b"set"
    assert client.delete(bloom, key) == 2 and client.exists(bloom) == 0
    try:
        client.get("a")
        raise SystemExit("a GET was answered")
    except module.ResponseError as error:
        assert "unknown command 'GET'" in str(error), error
    client.close()

try:
    getattr(module, Client)(port=int(port), password="another").ping()
    raise SystemExit("a stranger was let in")
except module.AuthenticationError:
    pass
print("ok")
