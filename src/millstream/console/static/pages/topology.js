import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { drawing } from "../drawing.js";

export async function topology({ content, parts, session, every, signal }) {
  const names = await get("/names", {}, signal);
  if (!names.queries.length) return fill(content, h("h2", {}, "Topology"), h("p", { class: "card soft" }, "There are no persistent queries."));
  const id = parts[0] || names.queries[0];
  const choose = h("select", { onchange: () => { location.hash = `#/topology/${encodeURIComponent(choose.value)}`; } },
    names.queries.map((name) => h("option", { value: name, selected: name === id }, name)));
  const place = h("div", {});
  fill(content, h("h2", {}, "Topology"), h("div", { class: "row" }, session.kind === "service" ? h("label", {}, "Query", choose) : null,
    h("p", { class: "soft hint" }, "Figures are of the lanes of this server, and sampled while this page is open: records per second, and the share of the time.")), place);
  const path = `/topology/${encodeURIComponent(id)}`;
  let found = null, drawn = null;
  every(2, async () => {
    // The drawing stays as it is: after the first answer only figures are asked for.
    found = found ? { ...found, ...await get(`${path}/figures`, {}, signal) } : await get(path, {}, signal);
    if (!drawn) {
      drawn = drawing(found);
      fill(place, h("div", { class: "beside" }, h("section", { class: "card" }, drawn.place), drawn.details),
        found.sql === null ? null : h("section", { class: "card" }, h("h3", {}, "Statement"), h("pre", {}, found.sql)),
        h("details", { class: "card" }, h("summary", {}, "As text"), h("pre", {}, found.text)));
    }
    drawn.update(found);
  });
}
