import { get, post } from "../api.js";
import { ask, count, fill, h, notice, table, time } from "../dom.js";

const MOST_LINES = 200;
const FOLLOW_MS = 700;

export async function topics({ content, parts, session, signal, problem }) {
  const found = await get("/topics", {}, signal);
  const wanted = h("input", { type: "search", id: "filter", placeholder: "name", "aria-label": "Filter topics" });
  const internal = h("input", { type: "checkbox", id: "internal" });
  const list = h("ul", { class: "list" });
  const chosen = h("div", {});
  const arrange = () => fill(list, found
    .filter((topic) => (internal.checked || !topic.internal) && topic.name.toLowerCase().includes(wanted.value.toLowerCase()))
    .map((topic) => h("li", {},
      h("a", { class: "mono", href: `#/topics/${encodeURIComponent(topic.name)}`, "aria-current": topic.name === parts[0] ? "true" : undefined }, topic.name),
      h("span", { class: "soft" }, String(topic.partitions)))));
  wanted.addEventListener("input", arrange);
  internal.addEventListener("change", arrange);
  arrange();
  fill(content, h("h2", {}, "Topics"), h("div", { class: "columns" },
    h("section", { class: "card" }, h("div", { class: "row" }, h("label", { class: "grow" }, "Filter", wanted), h("label", { class: "check" }, internal, "internal")), list), chosen));
  if (!parts[0]) return fill(chosen, h("p", { class: "card soft" }, "Choose a topic."));
  await topic(chosen, parts[0], session, signal, problem);
}

async function topic(place, name, session, signal, problem) {
  const path = `/topics/${encodeURIComponent(name)}`;
  const about = h("div", {}), groups = h("div", {}), records = h("div", {});
  const partition = h("select", { id: "partition" }), offset = h("input", { id: "offset", inputmode: "numeric", placeholder: "last records", size: 12 });
  const follow = h("button", { id: "follow" }, "Follow live");
  let following = null;
  signal.addEventListener("abort", () => following?.abort());

  async function look(event) {
    event?.preventDefault();
    if (event) following?.abort();  // somebody wants to see others
    else if (following) return;
    try {
      const found = await get(`${path}/records`, { partition: partition.value, offset: offset.value.trim(), count: 50 }, signal);
      if (following && !following.signal.aborted) return;  // who follows by now sees those
      fill(records, found.length ? recordTable(found) : h("p", { class: "soft" }, "There are no records."));
    } catch (error) {
      fill(records, h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  async function showAbout() {
    const found = await get(path, {}, signal);
    const before = partition.value;
    fill(partition, h("option", { value: "" }, "all"), found.partitions.map((one) => h("option", { value: one.partition, selected: String(one.partition) === before }, String(one.partition))));
    fill(about, table([
      ["Partition", (one) => one.partition, "number"], ["First", (one) => count(one.begin), "number"],
      ["Next", (one) => count(one.end), "number"], ["Offsets", (one) => count(one.end - one.begin), "number"],
    ], found.partitions, "Partitions"));
  }

  async function showGroups() {
    fill(groups, h("p", { class: "soft" }, "Asking …"));
    try {
      const found = await get(`${path}/groups`, {}, signal);
      const lines = found.flatMap((group) => group.partitions.map((at) => ({ ...group, ...at })));
      fill(groups, lines.length ? table([
        ["Group", (line) => line.name, "key"], ["State", (line) => line.state], ["Partition", (line) => line.partition, "number"],
        ["Position", (line) => count(line.position), "number"], ["Behind", (line) => count(line.lag), "number"],
      ], lines, "Groups") : h("p", { class: "soft" }, "No group has a position here."));
    } catch (error) {
      fill(groups, h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  follow.addEventListener("click", async () => {
    if (following) { following.abort(); return; }
    following = new AbortController();
    follow.textContent = "Stop";
    const { signal: left } = following;
    const lines = h("div", { id: "live" });
    const status = h("p", { class: "soft", id: "live-status", "aria-live": "polite" }, "Asking …");
    fill(records, status, lines);
    let total = 0, shown = [], after = null;
    try {
      // Of records that come quickly the last are told: more could not be read anyway.
      while (!left.aborted) {
        const found = await get(`${path}/new`, { after: after && Object.entries(after).map((at) => at.join(":")).join(",") }, left);
        if (!after) status.textContent = "Waiting for new records …";
        after = found.after;
        total += found.count;
        if (found.records.length) {
          shown = [...found.records, ...shown].slice(0, MOST_LINES);
          fill(lines, recordTable(shown));
          status.textContent = `${count(total)} records, the newest first`;
        }
        await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS));
      }
    } catch (error) {
      problem(error);
    }
    following = null;
    follow.textContent = "Follow live";
  });

  async function writeRecord() {
    const key = h("input", { id: "new-key" }), value = h("textarea", { id: "new-value" }), headers = h("textarea", { id: "new-headers", placeholder: "name: value, one per line" });
    const noKey = h("input", { type: "checkbox" }), noValue = h("input", { type: "checkbox" });
    const form = h("div", {}, h("label", {}, "Key", key), h("label", { class: "check" }, noKey, "no key"),
      h("label", {}, "Value", value), h("label", { class: "check" }, noValue, "no value (a tombstone)"), h("label", {}, "Headers", headers));
    if (!await ask(`Write a record to ${name}`, form, { yes: "Write" })) return;
    const pairs = headers.value.split("\n").filter((line) => line.trim()).map((line) => [line.split(":")[0].trim(), line.slice(line.indexOf(":") + 1).trim()]);
    try {
      await post(`${path}/records`, { key: noKey.checked ? null : { text: key.value }, value: noValue.checked ? null : { text: value.value }, headers: pairs });
      notice(`A record was written to ${name}.`);
      await showAbout();
      if (!following) await look();
    } catch (error) {
      notice(error.message, true);
    }
  }

  fill(place, h("section", { class: "card" }, h("h3", { class: "mono" }, name), about),
    h("section", { class: "card" }, h("h3", {}, "Records"),
      h("form", { class: "row", onsubmit: look }, h("label", {}, "Partition", partition), h("label", {}, "From offset", offset),
        h("button", { class: "main" }, "Show"), follow,
        h("button", { type: "button", id: "write", disabled: !session.mayChange, title: session.mayChange ? undefined : "you may only look", onclick: writeRecord }, "Write a record")),
      records),
    h("section", { class: "card" }, h("h3", {}, "Groups"), groups, h("button", { onclick: showGroups }, "Show groups and lag")));
  follow.type = "button";
  await showAbout();
  await look();
}

export function dataCell(data) {
  if (data === null) return h("span", { class: "soft" }, "null");
  return h("span", {}, data.text, data.length ? h("span", { class: "soft" }, ` … ${count(data.length)} characters`) : null);
}

// A record alone is shown whole, however long it is.
async function showWhole(record) {
  const [whole] = await get(`/topics/${encodeURIComponent(record.topic)}/records`, { partition: record.partition, offset: record.offset, count: 1 });
  const part = (title, data) => [h("h4", {}, `${title}${data ? `, ${data.kind}` : ""}`), h("pre", { class: "lines" }, data ? data.text : "null")];
  await ask(`Record ${count(record.offset)} of partition ${record.partition}`, h("div", {}, part("Key", whole.key), part("Value", whole.value), whole.headers.map(([name, value]) => h("pre", {}, `${name}: ${value}`))), { yes: "Close", only: true });
}

export function recordTable(records) {
  return table([
    ["Time", (record) => time(record.timestamp), "time"],
    ["P", (record) => record.partition, "number"],
    ["Offset", (record) => h("button", { class: "link", title: "the whole record", onclick: () => showWhole(record).catch((error) => notice(error.message, true)) }, count(record.offset)), "number"],
    ["Key", (record) => dataCell(record.key), "data"],
    ["Value", (record) => dataCell(record.value), "data"],
    ["Format", (record) => h("span", { class: "soft" }, `${record.key?.kind ?? "–"} / ${record.value?.kind ?? "–"}`)],
    ["Headers", (record) => record.headers.length ? h("details", {}, h("summary", {}, String(record.headers.length)), record.headers.map(([name, value]) => h("pre", {}, `${name}: ${value}`))) : "0"],
  ], records, "Records");
}
