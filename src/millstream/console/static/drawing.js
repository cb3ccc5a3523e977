// A topology as the server draws it, with figures at its topics and nodes, and what there is to say of what is chosen.

import { count, fill, h, svg, time, update } from "./dom.js";

const FAR_BEHIND = 1000;
// A node is hot if so much of the time goes into it, while there is that much to do.
const HOT_SHARE = 0.3, BUSY = 0.05;
const LEAST_SCALE = 0.7;
// Positions move with each batch: their rates are of the last so many answers.
const LOOKED_BACK = 5;

export function drawing(found) {
  const place = h("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": "Drawing" });
  const details = h("section", { class: "card details", "aria-label": "Details" }, h("p", { class: "soft" }, "Choose a node, a store or a topic."));
  // The server's own drawing: parsed as XML, and only shapes and texts are in it.
  const picture = document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true);
  picture.removeAttribute("role");
  picture.querySelector("title")?.remove();
  // As wide as there is room, unless its texts would be too small to be read.
  picture.style.minWidth = `${Number(picture.getAttribute("width")) * LEAST_SCALE}px`;
  place.append(picture);
  const pills = makePills(picture);
  const past = [];
  let latest = found, chosen = null;
  for (const part of picture.querySelectorAll("[data-node],[data-store],[data-topic]")) {
    makeChoice(part, picture, () => { chosen = part; fill(details); showDetails(details, latest, part); });
  }
  return {
    place, details,
    // Shows the figures of another answer about the same topology.
    update(answer) {
      latest = answer;
      const now = { at: Date.now(), totals: totals(answer.figures) }, [before] = past;
      for (const [topic, total] of now.totals) {
        const pill = pills.topics.get(topic) ?? pills.topics.get(topic.replace(`${answer.application}-`, ""));
        if (!pill) continue;
        const lag = sumOf(answer.lags, topic);
        const rate = before ? Math.max(0, ((total - (before.totals.get(topic) ?? 0)) * 1000) / (now.at - before.at)) : null;
        pill(`${rate === null ? "" : `${short(rate)}/s · `}${count(lag)} behind`, null, lag >= FAR_BEHIND);
      }
      for (const [name, node] of Object.entries(answer.seen.nodes)) {
        pills.nodes.get(name)?.(`${short(node.rate)}/s${node.share === null ? "" : ` · ${percent(node.share)}`}`, node.share, isHot(answer, node));
      }
      past.push(now);
      if (past.length > LOOKED_BACK) past.shift();
      if (chosen) showDetails(details, latest, chosen);
    },
  };
}

const percent = (share) => `${Math.round(share * 100)} %`;
const short = (rate) => rate >= 9999.5 ? `${(rate / 1000).toFixed(0)}k` : count(rate >= 10 ? Math.round(rate) : Math.round(rate * 10) / 10);
const isHot = (answer, node) => node.share !== null && node.share >= HOT_SHARE && answer.seen.busy >= BUSY;

function topicOf(place) {
  return place.slice(0, place.lastIndexOf("-"));
}

function sumOf(places, topic) {
  return Object.entries(places).reduce((sum, [place, value]) => sum + (topicOf(place) === topic ? value : 0), 0);
}

// Positions of all partitions together, by topic. Internal topics are drawn without the name of the application, which
// their real names begin with.
function totals(figures) {
  const found = new Map();
  for (const [place, value] of Object.entries(figures)) {
    if (!/-\d+$/.test(place)) continue;
    found.set(topicOf(place), (found.get(topicOf(place)) ?? 0) + value);
  }
  return found;
}

// For each topic and node, what shows figures at its upper edge: called with a text, a share of the time and whether it is hot.
function makePills(picture) {
  const found = { topics: new Map(), nodes: new Map() };
  for (const part of picture.querySelectorAll("[data-topic],[data-node]")) {
    const box = part.querySelector("rect");
    const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => Number(box.getAttribute(name)));
    const isTopic = part.hasAttribute("data-topic"), up = isTopic ? 11 : 0;
    const shape = svg("rect", { class: "pill", height: 17, rx: 8.5, y: y - 9 - up });
    const label = svg("text", { class: "figure", "text-anchor": "middle", y: y + 3.5 - up });
    const bar = svg("rect", { class: "share", x: x + 6, y: y + height - 5, height: 2.5, width: 0, rx: 1 });
    const shown = svg("g", { class: "figures", "aria-hidden": "true" }, bar, shape, label);
    const show = (text, share, hot) => {
      if (!shown.isConnected) part.after(shown);  // not inside: what is chosen is called by its name alone
      label.textContent = text;
      const wide = text.length * 6 + 14;
      // On the right of a node: lines come from above in its middle.
      const centre = isTopic ? x + width / 2 : x + width - wide / 2 + 6;
      label.setAttribute("x", centre);
      shape.setAttribute("x", centre - wide / 2);
      shape.setAttribute("width", wide);
      bar.setAttribute("width", (width - 12) * Math.min(1, share ?? 0));
      shown.classList.toggle("hot", hot);
      part.classList.toggle("hot", hot);
    };
    if (isTopic) found.topics.set(part.getAttribute("data-topic"), show);
    else found.nodes.set(part.getAttribute("data-node"), show);
  }
  return found;
}

function makeChoice(part, picture, chosen) {
  part.setAttribute("tabindex", "0");
  part.setAttribute("role", "button");
  part.setAttribute("aria-pressed", "false");
  part.querySelector("title")?.remove();  // its texts are its name, and its details tell more
  const choose = () => {
    for (const other of picture.querySelectorAll("[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
    part.setAttribute("aria-pressed", "true");
    chosen();
  };
  part.addEventListener("click", choose);
  part.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
  });
}

function showDetails(details, found, part) {
  const lines = [], more = [];
  const line = (name, value) => { if (value !== undefined && value !== null && String(value).length) lines.push(h("dt", {}, name), h("dd", {}, String(value))); };
  const [node, store, topic] = ["node", "store", "topic"].map((kind) => part.getAttribute(`data-${kind}`));
  if (node !== null) {
    const known = found.nodes[node] ?? {}, seen = found.seen.nodes[node];
    line("Kind", known.kind);
    line("In", known.part);
    line("Written at", known.origin?.join(", "));
    line("Records", seen && `about ${short(seen.rate)} per second`);
    line("Time", seen && seen.share !== null && `${percent(seen.share)} of what goes into tasks${isHot(found, seen) ? ": a hot spot" : ""}`);
    line("Reads topics", known.topics?.join(", "));
    line("Stores", known.stores?.join(", "));
    // Of a query, tables can be asked, and have names of their own.
    if (found.sql === null) more.push(...(known.stores ?? []).map((name) => h("p", {}, h("a", { href: `#/state/${encodeURIComponent(name)}` }, `Rows of ${name}`))));
    line("Writes", known.target);
    line("Comes after", known.before?.join(", "));
    line("Goes on to", known.after?.join(", "));
    more.push(h("h4", {}, "Last records, some of them"), seen?.last.length
      ? h("ul", { class: "last" }, seen.last.map((one) => h("li", {}, h("span", { class: "soft" }, time(one.timestamp)), h("pre", {}, h("b", {}, one.key), `  ${one.value}`))))
      : h("p", { class: "soft" }, "None was seen since this page is open."));
  } else if (store !== null) {
    line("Kind", "store");
    line("Used by", Object.entries(found.nodes).filter(([, known]) => known.stores?.includes(store)).map(([name]) => name).join(", "));
    line("Changelog", `${found.application}-${store}-changelog`);
    if (found.sql === null) more.push(h("a", { href: `#/state/${encodeURIComponent(store)}` }, "Its rows"));
  } else {
    line("Kind", "topic");
    const full = [topic, `${found.application}-${topic}`];
    const places = (figures) => Object.entries(figures).filter(([name]) => full.includes(topicOf(name))).map(([name, value]) => `${name.slice(topicOf(name).length + 1)}: ${count(value)}`).join("; ");
    line("Positions", places(found.figures));
    line("Behind", places(found.lags));
    more.push(h("a", { href: `#/topics/${encodeURIComponent(topic)}` }, "Its records"));
  }
  update(details, h("h3", { class: "mono" }, node ?? store ?? topic), h("dl", {}, lines), ...more);
}
