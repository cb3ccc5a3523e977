import { get } from "../api.js";
import { count, fill, h, table, update } from "../dom.js";

export async function lanes({ content, every, signal }) {
  const all = h("div", {}), here = h("div", {});
  fill(content, h("h2", {}, "Lanes"),
    h("section", { class: "card" }, h("h3", {}, "Lanes of the service, on all servers"), all),
    h("section", { class: "card" }, h("h3", {}, "Tasks in the lanes of this server"), here));
  every(3, async () => {
    const found = await get("/lanes", {}, signal);
    update(all, h("p", { class: "soft" }, found.problem ?? `The group is ${found.state}; ${found.slots} slots are shared out, each with the tasks that fall to it.`),
      table([
        ["Lane", (member) => member.client],
        ["Host", (member) => member.host],
        ["Slots", (member) => count(member.slots.length), "number"],
        ["Which", (member) => member.slots.join(" "), "key"],
      ], found.members, "Lanes of the service"));
    const rows = found.here.flatMap((lane) => lane.queries.length ? lane.queries.map((query) => ({ lane: lane.lane, ...query })) : [{ lane: lane.lane }]);
    update(here, found.here.length === 0 ? h("p", { class: "soft" }, "Spark is starting.") : table([
      ["Lane", (row) => row.lane, "number"],
      ["Query", (row) => row.query],
      ["Tasks at work", (row) => count(row.tasks), "number"],
      ["Being restored", (row) => row.restoring ? h("span", { class: "badge warn" }, count(row.restoring)) : count(row.restoring), "number"],
    ], rows, "Tasks"));
  });
}
