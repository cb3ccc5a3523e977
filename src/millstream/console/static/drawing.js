// A topology as the server draws it, with figures at its topics, and what there is to say of what is chosen.

import { count, fill, h, svg } from "./dom.js";

const HOT = 1000;

export function drawing(found) {
  const place = h("div", { class: "drawing", tabindex: "0", role: "region", "aria-label": "Drawing" });
  const details = h("section", { class: "card", "aria-live": "polite" }, h("p", { class: "soft" }, "Choose a node, a store or a topic."));
  // The server's own drawing: parsed as XML, and only shapes and texts are in it.
  const picture = document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true);
  picture.removeAttribute("role");
  picture.querySelector("title")?.remove();
  place.append(picture);
  const labels = makeFigures(picture, found);
  let latest = found, before = null;
  for (const part of picture.querySelectorAll("[data-node],[data-store],[data-topic]")) makeChoice(part, picture, (chosen) => showDetails(details, latest, chosen));
  return {
    place, details,
    // Shows the figures of another answer about the same topology.
    update(answer) {
      latest = answer;
      const now = { at: Date.now(), totals: totals(answer.figures) };
      for (const [topic, label] of labels(now.totals)) {
        const lag = sumOf(answer.lags, topic);
        const rate = before ? ((now.totals.get(topic) - (before.totals.get(topic) ?? 0)) * 1000) / (now.at - before.at) : null;
        label.textContent = `${rate === null ? "" : `${count(Math.max(0, Math.round(rate)))}/s · `}${count(lag)} behind`;
        label.classList.toggle("hot", lag >= HOT);
      }
      before = now;
    },
  };
}

function topicOf(place) {
  return place.slice(0, place.lastIndexOf("-"));
}

function sumOf(places, topic) {
  return Object.entries(places).reduce((sum, [place, value]) => sum + (topicOf(place) === topic ? value : 0), 0);
}

// Positions of all partitions together, by topic.
function totals(figures) {
  const found = new Map();
  for (const [place, value] of Object.entries(figures)) {
    if (!/-\d+$/.test(place)) continue;
    found.set(topicOf(place), (found.get(topicOf(place)) ?? 0) + value);
  }
  return found;
}

// Internal topics are drawn without the name of the application, which their real names begin with.
function makeFigures(picture, found) {
  const drawn = new Map();
  for (const part of picture.querySelectorAll("[data-topic]")) {
    const box = part.querySelector("rect");
    const label = svg("text", { class: "figure", "text-anchor": "middle",
      x: Number(box.getAttribute("x")) + Number(box.getAttribute("width")) / 2, y: Number(box.getAttribute("y")) - 5 });
    part.after(label);  // not inside: what is chosen is called by its name alone
    drawn.set(part.getAttribute("data-topic"), label);
  }
  return (known) => [...known.keys()].flatMap((topic) => {
    const label = drawn.get(topic) ?? drawn.get(topic.replace(`${found.application}-`, ""));
    return label ? [[topic, label]] : [];
  });
}

function makeChoice(part, picture, chosen) {
  part.setAttribute("tabindex", "0");
  part.setAttribute("role", "button");
  part.setAttribute("aria-pressed", "false");
  part.querySelector("title")?.remove();  // its texts are its name, and its details tell more
  const choose = () => {
    for (const other of picture.querySelectorAll("[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
    part.setAttribute("aria-pressed", "true");
    chosen(part);
  };
  part.addEventListener("click", choose);
  part.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); }
  });
}

function showDetails(details, found, part) {
  const lines = [];
  const line = (name, value) => { if (value?.length) lines.push(h("dt", {}, name), h("dd", {}, value)); };
  const [node, store, topic] = ["node", "store", "topic"].map((kind) => part.getAttribute(`data-${kind}`));
  if (node !== null) {
    const known = found.nodes[node] ?? {};
    line("Kind", known.kind);
    line("In", known.part);
    line("Reads topics", known.topics?.join(", "));
    line("Stores", known.stores?.join(", "));
    line("Writes", known.target);
    line("Comes after", known.before?.join(", "));
    line("Goes on to", known.after?.join(", "));
  } else if (store !== null) {
    line("Kind", "store");
    line("Used by", Object.entries(found.nodes).filter(([, known]) => known.stores?.includes(store)).map(([name]) => name).join(", "));
    line("Changelog", `${found.application}-${store}-changelog`);
  } else {
    line("Kind", "topic");
    const full = [topic, `${found.application}-${topic}`];
    line("Positions", Object.entries(found.figures).filter(([place]) => full.includes(topicOf(place))).map(([place, at]) => `${place.slice(topicOf(place).length + 1)}: ${count(at)}`).join("; "));
    line("Behind", Object.entries(found.lags).filter(([place]) => full.includes(topicOf(place))).map(([place, lag]) => `${place.slice(topicOf(place).length + 1)}: ${count(lag)}`).join("; "));
  }
  fill(details, h("h3", {}, node ?? store ?? topic), h("dl", {}, lines),
    topic === null ? null : h("a", { href: `#/topics/${encodeURIComponent(topic)}` }, "Its records"));
}
