import { get } from "../api.js";
import { chart } from "../chart.js";
import { count, fill, h, table, update } from "../dom.js";

export function stateBadge(state) {
  const kind = { RUNNING: "good", ERROR: "bad", PENDING_ERROR: "bad", UNRESPONSIVE: "bad", PAUSED: "warn", REBALANCING: "warn" }[state] ?? "";
  return h("span", { class: `badge ${kind}` }, state.replaceAll("_", " "));
}

const seconds = (value) => value >= 1 ? `${value.toFixed(1)} s` : `${Math.round(value * 1000)} ms`;

const STAGES = { read: "reading records", process: "the topology's own work", save: "saving state", write: "writing outputs and changelogs" };

// What lanes did with their time so far.
function showStages(totals) {
  const all = Object.keys(STAGES).map((name) => totals[`${name}-seconds-total`] ?? 0);
  const sum = all.reduce((one, other) => one + other, 0) || 1;
  return [h("h3", {}, "Where the time of lanes went"),
    h("div", { class: "stages", "aria-hidden": "true" }, all.map((value, index) => h("span", { class: `line-${index}`, "data-share": (value / sum).toFixed(3) }))),
    h("div", { class: "legend" }, Object.values(STAGES).map((text, index) => h("span", {}, h("span", { class: `swatch line-${index}` }), `${text}: ${Math.round((all[index] / sum) * 100)} %, ${seconds(all[index])}`)))];
}

// What is drawn: figures of the last minutes. The server tells them once, and after that what is new.
const DRAWN_MS = 10 * 60 * 1000;

function joined(known, news) {
  const times = [...known.times, ...news.times].filter((at) => at > (news.times.at(-1) ?? 0) - DRAWN_MS);
  const all = { times };
  for (const kind of new Set([...Object.keys(known), ...Object.keys(news)])) {
    if (kind === "times") continue;
    const [before, after] = [known[kind] ?? {}, news[kind] ?? {}];
    all[kind] = Object.fromEntries([...new Set([...Object.keys(before), ...Object.keys(after)])].map((name) => [name, [
      ...before[name] ?? known.times.map(() => 0), ...after[name] ?? news.times.map(() => 0),
    ].slice(-times.length)]));
  }
  return all;
}

export async function overview({ content, every, session, signal }) {
  const tiles = h("div", { class: "tiles" });
  const charts = h("div", { class: "charts" });
  const queries = h("div", {});
  const isService = session.kind === "service";
  const stages = isService ? null : h("section", { class: "card", hidden: "" });
  fill(content, h("h2", {}, "Overview"), tiles, charts,
    h("section", { class: "card" }, h("h3", {}, isService ? "Persistent queries" : "The application"), queries), stages);
  let history = { times: [] };
  every(2, async () => {
    const found = await get("/overview", { after: history.times.at(-1) }, signal);
    if (found.history.times.length) history = joined(history, found.history);
    const tile = (name, value, text, bad) => h("div", { class: bad ? "tile bad" : "tile", "data-tile": name }, h("b", {}, value), h("span", {}, text));
    const total = (name) => found.queries.reduce((sum, query) => sum + (query[name] ?? 0), 0);
    const failed = found.queries.filter((query) => query.state === "ERROR").length;
    const [application] = found.queries;
    update(tiles,
      isService ? tile("queries", count(found.queries.length), failed ? `queries, ${failed} failed` : "persistent queries", failed)
        : tile("state", application.state.replaceAll("_", " ").toLowerCase(), "state", application.state === "ERROR"),
      tile("rate", count(Math.round(total("rate"))), "records / second"),
      tile("processed", count(total("processed")), "records processed"),
      tile("lag", count(total("lag")), "records behind"),
      isService ? tile("push", count(found.pushQueries.length), "push queries") : application.batchSeconds === null ? tile("commits", count(application.commits), "commits") : tile("batch", seconds(application.batchSeconds), "last batch"),
      tile("lanes", found.lanes ? count(found.lanes) : "starting", isService ? "lanes here" : "lanes"));
    const { times, rates = {}, lag, batch } = history;
    const drawn = [["Records per second", rates], ["Records behind", lag], ...(batch ? [["Seconds per batch", batch]] : [])];
    const width = Math.max(280, (charts.clientWidth - 16 * (drawn.length - 1)) / (charts.clientWidth > 700 ? drawn.length : 1) - 34);
    update(charts, ...drawn.map(([title, series]) => h("section", { class: "card" }, chart(title, times, series ?? {}, Math.round(width)))));
    if (stages && application.batchSeconds !== null) {
      stages.hidden = false;
      update(stages, ...showStages(found.totals));
      for (const part of stages.querySelectorAll("[data-share]")) part.style.flexGrow = part.getAttribute("data-share");
    }
    update(queries, found.queries.length === 0 ? h("p", { class: "soft" }, "There are none yet: ", h("a", { href: "#/sql" }, "write one"), ".") : table([
      [isService ? "Query" : "Name", (query) => h("a", { href: `#/topology/${encodeURIComponent(query.id)}` }, query.id)],
      ["State", (query) => stateBadge(query.state)],
      ["From", (query) => query.sources.join(", ")],
      ["To", (query) => query.sink],
      ["Processed", (query) => count(query.processed), "number"],
      ["Per second", (query) => count(query.rate), "number"],
      ["Behind", (query) => count(query.lag), "number"],
      ...(isService ? [] : [application.batchSeconds === null ? ["Commits", (query) => count(query.commits), "number"] : ["Batch", (query) => `${seconds(query.batchSeconds)}, ${count(query.batchRecords)} records`, "number"], ["Dropped", (query) => count(query.dropped), "number"]]),
      ["Errors", (query) => query.errors.length ? h("details", {}, h("summary", {}, String(query.errors.length)), query.errors.map((error) => h("p", { class: "error" }, error.errorMessage ?? String(error)))) : "0", "number"],
    ], found.queries, isService ? "Persistent queries" : "The application"));
  });
}
