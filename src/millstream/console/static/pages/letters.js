import { get, post } from "../api.js";
import { ask, count, fill, h, notice, plural, table, time } from "../dom.js";
import { dataCell } from "./topics.js";

const MOST_SHOWN = 200;

export async function letters({ content, parts, session, signal }) {
  const likely = await get("/letters", {}, signal);
  const name = parts[0] ?? likely[0] ?? "";
  const wanted = h("input", { id: "letter-topic", value: name, list: "likely", "aria-label": "Dead-letter topic" });
  const place = h("div", {});
  fill(content, h("h2", {}, "Dead letters"),
    h("form", { class: "row", onsubmit: (event) => { event.preventDefault(); location.hash = `#/letters/${encodeURIComponent(wanted.value)}`; } },
      h("label", { class: "grow" }, "Topic", wanted, h("datalist", { id: "likely" }, likely.map((topic) => h("option", { value: topic })))),
      h("button", { class: "main" }, "Open")), place);
  if (!name) return fill(place, h("p", { class: "card soft" }, "No topic's name says that dead letters are in it. Write the name of one: it is dead_letter_queue_topic of an application."));
  await open(place, name, session, signal);
}

async function open(place, topic, session, signal) {
  const path = `/letters/${encodeURIComponent(topic)}`;
  let found = await get(path, {}, signal);
  let cause = null;
  const chosen = new Map();
  const filter = h("input", { type: "search", id: "letter-filter", "aria-label": "Filter letters" });
  const alsoDone = h("input", { type: "checkbox", id: "also-done" });
  const causes = h("div", {}), list = h("div", {}), actions = h("div", { class: "row" });
  const keyOf = (letter) => `${letter.partition}/${letter.offset}`;

  const visible = () => found.letters.filter((letter) => (alsoDone.checked || !letter.done) && (cause === null || letter.cause === cause)
    && JSON.stringify([letter.key?.text, letter.value?.text, letter.message, letter.cause, letter.node, letter.headers]).toLowerCase().includes(filter.value.toLowerCase()));

  async function again() {
    chosen.clear();
    found = await get(path, {}, signal);
    show();
  }

  async function act(what, letters, said) {
    try {
      await post(`${path}/${what}`, { letters });
      notice(said);
      await again();
    } catch (error) {
      notice(error.message, true);
    }
  }
  const places = () => [...chosen.values()].map(({ partition, offset }) => ({ partition, offset }));

  async function edit(letter) {
    const whole = await get(`${path}/${letter.partition}/${letter.offset}`, {}, signal);
    const isText = (data) => data === null || !data.base64;
    const key = h("input", { id: "edit-key", value: whole.key?.text ?? "", disabled: !isText(whole.key) });
    const value = h("textarea", { id: "edit-value", value: whole.value?.text ?? "", disabled: !isText(whole.value) });
    const form = h("div", {}, h("p", { class: "soft" }, `Goes to ${whole.from.topic}, as a new record.`), h("label", {}, "Key", key), h("label", {}, "Value", value),
      isText(whole.value) ? null : h("p", { class: "soft" }, "The value is no text, and is sent as it is."));
    if (!await ask("Mend and replay", form, { yes: "Replay" })) return;
    const changes = {};
    if (isText(whole.key) && key.value !== (whole.key?.text ?? "")) changes.key = { text: key.value };
    if (isText(whole.value) && value.value !== (whole.value?.text ?? "")) changes.value = { text: value.value };
    await act("replay", [{ partition: letter.partition, offset: letter.offset, edit: Object.keys(changes).length ? changes : null }], `Sent back to ${whole.from.topic}.`);
  }

  function show() {
    const byCause = new Map();
    for (const one of found.causes) {
      const known = byCause.get(one.cause) ?? { cause: one.cause, open: 0, done: 0, topics: new Set() };
      known[one.open ? "open" : "done"] += one.count;
      known.topics.add(one.topic ?? "?");
      byCause.set(one.cause, known);
    }
    fill(causes, table([
      ["Cause", (one) => h("button", { class: "link", "aria-pressed": String(one.cause === cause), onclick: () => { cause = cause === one.cause ? null : one.cause; show(); } }, one.cause)],
      ["From", (one) => [...one.topics].join(", "), "key"], ["Open", (one) => count(one.open), "number"], ["Done", (one) => count(one.done), "number"],
    ], [...byCause.values()], "Causes"));
    const letters = visible();
    const readOnly = { disabled: !session.mayChange, title: session.mayChange ? undefined : "you may only look" };
    const disabled = readOnly.disabled || chosen.size === 0;
    fill(actions, h("button", { id: "again", onclick: () => again().catch((error) => notice(error.message, true)) }, "Look again"),
      h("button", { id: "choose-all", onclick: () => { for (const letter of letters.slice(0, MOST_SHOWN)) chosen.set(keyOf(letter), letter); show(); } }, "Choose all"),
      h("button", { id: "replay", class: "main", ...readOnly, disabled, onclick: async () => {
        if (await ask(`Replay ${chosen.size} ${chosen.size === 1 ? "letter" : "letters"}?`, h("p", {}, "Each goes to the topic that it came from, as a new record."), { yes: "Replay" })) await act("replay", places(), "Sent back.");
      } }, `Replay ${chosen.size}`),
      h("button", { id: "done", ...readOnly, disabled, onclick: () => act("done", places(), "Marked as done.") }, "Mark as done"),
      h("button", { id: "reopen", ...readOnly, disabled, onclick: () => act("open", places(), "Open again.") }, "Open again"));
    fill(list, h("p", { class: "soft" }, `${plural(letters.length, "letter")}${letters.length > MOST_SHOWN ? `, the newest ${MOST_SHOWN} are shown` : ""}`), table([
      ["Choose", (letter) => h("input", { type: "checkbox", "aria-label": `letter ${keyOf(letter)}`, checked: chosen.has(keyOf(letter)), onchange: (event) => { if (event.target.checked) chosen.set(keyOf(letter), letter); else chosen.delete(keyOf(letter)); show(); } })],
      ["Time", (letter) => time(letter.timestamp), "time"],
      ["From", (letter) => `${letter.from.topic ?? "?"}${letter.from.offset ? ` ${letter.from.partition}:${letter.from.offset}` : ""}`, "key"],
      ["Key", (letter) => dataCell(letter.key), "data"],
      ["Value", (letter) => dataCell(letter.value), "data"],
      ["Error", (letter) => h("details", {}, h("summary", {}, `${letter.cause}: ${(letter.message ?? "").split("\n")[0]}`), letter.node ? h("p", {}, "At node ", h("span", { class: "mono" }, letter.node)) : null, h("pre", {}, letter.stacktrace ?? ""), letter.headers.map(([header, text]) => h("pre", {}, `${header}: ${text}`)))],
      ["State", (letter) => letter.done ? h("span", { class: "badge good" }, letter.done.what) : h("button", { ...readOnly, class: "edit", onclick: () => edit(letter) }, "Mend")],
    ], letters.slice(0, MOST_SHOWN), "Letters"));
  }

  filter.addEventListener("input", show);
  alsoDone.addEventListener("change", show);
  fill(place, h("section", { class: "card" }, h("h3", {}, "Causes"), causes),
    h("section", { class: "card" }, h("div", { class: "row" }, h("label", { class: "grow" }, "Filter", filter), h("label", { class: "check" }, alsoDone, "also those that are done")), actions, list));
  show();
}
