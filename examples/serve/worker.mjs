// A worker of `crawler serve` in JavaScript: leases pages, fetches them, and sends their links until nothing is left.
//
//   node worker.mjs http://127.0.0.1:7071/v1/crawls/news
//
// Its crawl says that workers mind robots.txt: {"politeness": {"robots": false}}.
const crawl = process.argv[2];
const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** Asks until there is an answer: the server may be started again meanwhile. Whatever is asked twice is done once. */
async function ask(path, body = "") {
  for (;;) {
    try {
      const answer = await fetch(`${crawl}/${path}`, { method: "POST", body });
      if (answer.ok) return await answer.text();
    } catch {}
    await pause(1000);
  }
}

async function work({ token, url }) {
  try {
    const began = Date.now();
    // A redirect is a page of its own, with its own host's turn.
    const page = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(60_000) });
    const latency = (Date.now() - began) / 1000;
    const text = await page.text();
    const links = [...text.matchAll(/href="([^"]*)"/g)].map(([, link]) => link);
    const retryAfter = Number(page.headers.get("retry-after")) || undefined;
    const location = page.headers.get("location") ?? undefined;
    return { token, status: page.status, links, latency, location, retry_after: retryAfter };
  } catch (error) {
    return { token, failure: "connect", message: String(error.cause ?? error) };
  }
}

for (;;) {
  const { leases, state } = JSON.parse(await ask(`lease?n=10&wait=${process.env.WAIT ?? "10s"}`));
  const done = await Promise.all(leases.map(work));
  if (done.length) await ask("done", done.map((end) => JSON.stringify(end)).join("\n"));
  if (state === "drained") break;
}
