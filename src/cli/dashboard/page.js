// The script of the live page. Whatever comes from the web or from the job becomes text, never markup.
"use strict";

const $ = id => document.getElementById(id);
const token = document.querySelector("meta[name=crawler-token]").content;
const thousands = new Intl.NumberFormat("en");
const few = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const CHART_SECONDS = 300;
// Seconds since the crawl began, and its pages a second.
const samples = [];
let state = "connecting";
let events = null;

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

function count(number) {
  return thousands.format(Math.round(number || 0));
}

function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${unit ? few.format(number) : count(number)} ${units[unit]}`;
}

function time(us) {
  if (us < 1000) return `${count(us)} µs`;
  if (us < 1e6) return `${count(us / 1e3)} ms`;
  const seconds = us / 1e6;
  if (seconds < 60) return `${few.format(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds % 3600 / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor(seconds % 86400 / 3600)} h`;
}

function share(number) {
  if (!number) return "0";
  return number >= 0.001 ? `${few.format(number * 100)} %` : number.toExponential(1);
}

function sum(counts) {
  return Object.values(counts || {}).reduce((all, one) => all + one, 0);
}

// Fills a list with names and numbers, and leaves alone what has not changed: a reader's place is kept.
function fill(list, rows) {
  const text = JSON.stringify(rows);
  if (list.dataset.shown === text) return;
  list.dataset.shown = text;
  list.replaceChildren(...rows.flatMap(([name, number, note]) => {
    const parts = [element("dt", name), element("dd", number)];
    if (note === undefined) return parts;
    parts.push(element("dd", note, "note"));
    const card = element("div");
    card.append(...parts);
    return [card];
  }));
}

function most(counts, rows) {
  const sorted = Object.entries(counts || {}).filter(([, one]) => one > 0).sort((a, b) => b[1] - a[1]);
  const shown = sorted.slice(0, rows).map(([name, one]) => [name, count(one)]);
  const rest = sorted.slice(rows).reduce((all, [, one]) => all + one, 0);
  if (rest > 0) shown.push(["others", count(rest)]);
  return shown.length ? shown : [["none", ""]];
}

function showState(now) {
  if (now === state) return;
  const before = state;
  state = now;
  $("state").textContent = now;
  $("state").dataset.state = now;
  $("pause").textContent = now === "paused" ? "Resume" : "Pause";
  $("pause").disabled = $("stop").disabled = now !== "running" && now !== "paused";
  if (before !== "connecting") $("said").textContent = `The crawl is ${now}.`;
}

// Pages that are done and failed: an error, or a status of 400 or more.
function failed(urls) {
  const statuses = Object.entries(urls.statuses).filter(([status]) => status >= 400);
  return urls.failed + statuses.reduce((all, [, one]) => all + one, 0);
}

function showErrors(pages, urls, hosts) {
  const names = Object.keys(pages.errors).sort((a, b) => pages.errors[b] - pages.errors[a]);
  const refusing = hosts.refusing_hosts || [], broken = urls.failed_pages || [];
  const text = JSON.stringify([pages.errors, pages.examples, hosts.refusing, refusing, broken, failed(urls)]);
  if ($("errors").dataset.shown === text) return;
  $("errors").dataset.shown = text;
  $("errors").replaceChildren(...names.flatMap(name => {
    const list = element("ul", undefined, "examples");
    for (const { url, message } of (pages.examples || {})[name] || []) {
      list.append(element("li", message ? `${url}: ${message}` : url));
    }
    return [element("h3", `${name}: ${count(pages.errors[name])}`), list];
  }));
  if (broken.length) {
    const list = element("ul", undefined, "examples");
    for (const { url, status, error, referrer } of broken) {
      list.append(element("li", `${status || error} ${url}, ${referrer ? `found on ${referrer}` : "a seed"}`));
    }
    $("errors").prepend(element("h3", `Pages that failed: ${count(failed(urls))}`), list);
  }
  if (hosts.refusing) {
    const list = element("ul", undefined, "examples");
    for (const { host, answers, refused, by } of refusing) {
      list.append(element("li", `${host} refuses us: ${by}, ${count(refused)} of ${count(answers)} answers`));
    }
    $("errors").prepend(element("h3", `Hosts that refuse us: ${count(hosts.refusing)}`), list);
  }
  if (!$("errors").hasChildNodes()) $("errors").append(element("p", "None."));
}

// A page that is opened late, or after the crawl has ended, begins with the rates that the crawl has kept.
function draw(kept, elapsed, rate) {
  if (!samples.length) samples.push(...kept);
  if (!samples.length || elapsed > samples.at(-1)[0]) samples.push([elapsed, rate]);
  while (samples.length > 1 && samples[0][0] < elapsed - CHART_SECONDS) samples.shift();
  const top = Math.max(1, ...samples.map(([, one]) => one));
  const begin = samples[0][0];
  const span = samples.at(-1)[0] - begin;
  const point = ([at, one]) => `${(span ? (at - begin) * 600 / span : 0).toFixed(1)},${(116 - one / top * 110).toFixed(1)}`;
  // A single rate is a line of full width.
  $("line").setAttribute("points", [...samples.map(point), `600,${(116 - samples.at(-1)[1] / top * 110).toFixed(1)}`].join(" "));
  $("chart-note").textContent = `The last ${time((span || elapsed) * 1e6)}, five minutes at most; the top is ${few.format(top)}.`;
}

function show({ job, state: now, is_steered, waits, pages_per_second, wire_bytes_per_second, rates, left_us, report }) {
  const { urls, pages, hosts, politeness, seen } = report;
  const filter = seen.merged;
  // An interval that is wider than the number is large says less than what is expected.
  const { audit } = filter;
  const lost = audit && audit.lost_high - audit.lost_low <= audit.lost
    ? [few.format(audit.lost), "measured"]
    : [few.format(filter.expected_lost), "expected"];
  document.title = `${now}: ${count(urls.fetched)} pages, ${job}`;
  $("job").textContent = job;
  $("acts").hidden = !is_steered;
  showState(now);
  fill($("cards"), [
    ["Pages", count(urls.fetched), `${few.format(pages_per_second)} a second`],
    ["Bytes", bytes(pages.wire_bytes), `${bytes(wire_bytes_per_second)} a second`],
    ["Queued", count(urls.queued), left_us ? `${time(left_us)} left` : `${count(urls.in_flight)} in flight`],
    ["Hosts", count(hosts.active), `active, of ${count(hosts.known)}; ${count(hosts.resting)} rest`],
    ["Failed", count(failed(urls)),
      `${count(hosts.failing)} hosts fail, ${count(hosts.unreachable)} unreachable${hosts.refusing ? `, ${count(hosts.refusing)} refuse us` : ""}`],
    ["Found", count(urls.found), `${count(sum(urls.refused))} refused`],
    ["Lost to the filter", lost[0], lost[1]],
    ["Running for", time(report.elapsed_us), report.cost.cpu_us ? `CPU ${time(report.cost.cpu_us)}` : " "],
  ]);
  const said = waits.length ? waits : ["It does not wait."];
  if ($("waits").dataset.shown !== said.join("\n")) {
    $("waits").dataset.shown = said.join("\n");
    $("waits").replaceChildren(...said.map(reason => element("li", reason)));
  }
  $("alarm").hidden = !politeness.violations;
  if (politeness.violations) $("alarm").textContent = `${count(politeness.violations)} requests came too early.`;
  showErrors(pages, urls, hosts);
  $("fill").value = filter.fill_ratio;
  $("fill-text").textContent = share(filter.fill_ratio);
  fill($("filter"), [
    ["URLs, about", count(filter.cardinality)],
    ["capacity", count(filter.capacity)],
    ["new URLs taken for seen, now", share(filter.false_positive_rate_estimated)],
    ["the same, as was asked for", share(filter.false_positive_rate_target)],
    ["memory", bytes(filter.bytes)],
  ]);
  fill($("refused"), most(urls.refused, 10));
  fill($("statuses"), most(urls.statuses, 10));
  draw(rates, report.elapsed_us / 1e6, pages_per_second);
}

function listen() {
  if (events) return;
  events = new EventSource("/events");
  events.onmessage = event => show(JSON.parse(event.data));
  events.onerror = () => {
    if (state !== "lost") showState("lost");
    // A stream that the server has refused is not tried again by itself.
    if (events && events.readyState === EventSource.CLOSED) {
      hush();
      setTimeout(listen, 5000);
    }
  };
}

function hush() {
  if (events) events.close();
  events = null;
}

let asked = 0;

async function showHosts() {
  const mine = asked += 1;
  const answer = await fetch(`/hosts?find=${encodeURIComponent($("find-text").value)}`).catch(() => null);
  if (!answer || mine !== asked) return;
  if (!answer.ok) {
    $("hosts-note").textContent = await answer.text();
    return;
  }
  const { found, hosts, dropped } = await answer.json();
  showDropped(dropped);
  const note = `${count(found)} found${found > hosts.length ? `, the ${count(hosts.length)} with most queued shown` : ""}.`;
  if ($("hosts-note").textContent !== note) $("hosts-note").textContent = note;
  $("hosts").replaceChildren(...hosts.map(host => {
    const row = element("tr");
    const name = element("th", host.host);
    name.scope = "row";
    const error = host.message || host.error;
    const rests = host.state !== "idle" && host.due_in_us > 0;
    row.append(
      name,
      element("td", host.state),
      element("td", rests ? time(host.due_in_us) : "–", "number"),
      element("td", time(host.delay_us), "number"),
      element("td", count(host.queued), "number"),
      element("td", count(host.requests), "number"),
      element("td", count(host.failures), "number"),
      element("td", error ? `${host.why}; ${error}` : host.why),
      dropper(new URL(host.host).hostname),
    );
    return row;
  }));
}

function dropper(host) {
  const cell = element("td");
  const button = element("button", "Drop…");
  button.type = "button";
  button.setAttribute("aria-label", `Drop ${host}`);
  button.disabled = $("acts").hidden;
  button.addEventListener("click", () => {
    $("drop-title").textContent = `Send no more requests to ${host}?`;
    $("drop-yes").dataset.host = host;
    $("drop-sure").showModal();
  });
  cell.append(button);
  return cell;
}

// What is dropped, by the page, the command or an earlier run, and a way to take it back.
function showDropped(rules) {
  const text = JSON.stringify([rules, $("acts").hidden]);
  if ($("dropped").dataset.shown === text) return;
  $("dropped").dataset.shown = text;
  $("dropped").hidden = !rules.length;
  $("dropped").replaceChildren(...rules.map(rule => {
    const line = element("li", `Dropped: ${rule} `);
    const button = element("button", "Take back");
    button.type = "button";
    button.setAttribute("aria-label", `Take back: ${rule}`);
    button.disabled = $("acts").hidden;
    button.addEventListener("click", () => drop(rule, true));
    line.append(button);
    return line;
  }));
}

async function drop(rule, undo) {
  const headers = { "X-Crawler-Token": token };
  const path = `/drop?rule=${encodeURIComponent(rule)}&undo=${undo}`;
  const answer = await fetch(path, { method: "POST", headers }).catch(() => null);
  if (answer && answer.ok) $("said").textContent = undo ? `Taken back: ${rule}.` : `Dropped: ${rule}.`;
  else $("said").textContent = answer ? await answer.text() : "The crawl does not answer.";
  showHosts();
}

async function act(what) {
  const headers = { "X-Crawler-Token": token };
  const answer = await fetch(`/${what}`, { method: "POST", headers }).catch(() => null);
  if (answer && answer.ok) showState((await answer.json()).state);
  else $("said").textContent = answer ? await answer.text() : "The crawl does not answer.";
}

async function explain(event) {
  event.preventDefault();
  const url = $("url").value.trim();
  if (!url) return;
  const answer = await fetch(`/explain?url=${encodeURIComponent(url)}`).catch(() => null);
  $("answer").hidden = false;
  $("answer").textContent = answer ? await answer.text() : "The crawl does not answer.";
}

const steer = () => act(state === "paused" ? "resume" : "pause");

$("pause").addEventListener("click", steer);
$("stop").addEventListener("click", () => $("sure").showModal());
$("no").addEventListener("click", () => $("sure").close());
$("yes").addEventListener("click", () => {
  $("sure").close();
  act("stop");
});
$("drop-no").addEventListener("click", () => $("drop-sure").close());
$("drop-yes").addEventListener("click", () => {
  $("drop-sure").close();
  drop(`host ${$("drop-yes").dataset.host}`, false);
});
$("explain").addEventListener("submit", explain);
$("find").addEventListener("submit", event => {
  event.preventDefault();
  showHosts();
});
let soon = 0;
$("find-text").addEventListener("input", () => {
  clearTimeout(soon);
  soon = setTimeout(showHosts, 300);
});
document.addEventListener("keydown", event => {
  const isTyping = event.target.matches("input, textarea") || $("sure").open || $("drop-sure").open;
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = { "/": () => $("find-text").focus(), e: () => $("url").focus() };
  if (!$("acts").hidden && !$("pause").disabled) keys.p = steer;
  if (keys[event.key]) {
    event.preventDefault();
    keys[event.key]();
  }
});
// Nothing is computed for a page that nobody sees.
document.addEventListener("visibilitychange", () => (document.hidden ? hush() : listen()));
setInterval(() => document.hidden || state === "lost" || showHosts(), 3000);
listen();
showHosts();
