// What node-redis does with the filters, unchanged. Arguments: the directory of its package, the port, the token.
import assert from 'node:assert';
import { createRequire } from 'node:module';

const [directory, port, password] = process.argv.slice(2);
const { createClient } = createRequire(`${directory}/`)('redis');

for (const RESP of [2, 3]) {
    const client = await createClient({ socket: { port: Number(port) }, password, RESP }).connect();
    const [key, bloom] = [`node:${RESP}`, `node:${RESP}:bloom`];
    assert.equal(await client.ping(), 'PONG');
    assert.equal(await client.sAdd(key, ['http://a.example/', 'b']), 2);
    assert.equal(Number(await client.sIsMember(key, 'b')), 1);
    assert.deepEqual((await client.smIsMember(key, ['b', 'x'])).map(Number), [1, 0]);
    assert.equal(await client.sCard(key), 2);
    // Sent at once, as it does by itself.
    const added = await Promise.all(Array.from({ length: 1000 }, (_, number) => client.sAdd(key, `${number % 700}`)));
    assert.equal(added.reduce((sum, one) => sum + one), 700);
    assert.equal(await client.bf.reserve(bloom, 0.001, 10_000), 'OK');
    assert.equal(await client.bf.add(bloom, 'a'), true);
    assert.deepEqual(await client.bf.mAdd(bloom, ['a', 'b']), [false, true]);
    assert.deepEqual(await client.bf.insert(`${bloom}:2`, ['a', 'a'], { CAPACITY: 100, ERROR: 0.01 }), [true, false]);
    assert.equal(await client.bf.exists(bloom, 'b'), true);
    assert.deepEqual(await client.bf.mExists(bloom, ['b', 'x']), [true, false]);
    assert.equal(await client.bf.card(bloom), 2);
    const information = await client.bf.info(bloom);
    assert.equal(information.Capacity, 10_000);
    await assert.rejects(client.get('a'), /unknown command 'GET'/);
    assert.equal(await client.del([key, bloom]), 2);
    client.destroy();
}
console.log('ok');
