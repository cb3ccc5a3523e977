import { get } from "../api.js";
import { count, fill, h, progress, table, update } from "../dom.js";

export async function lanes({ content, every, signal }) {
  const all = h("div", { id: "lanes" }), here = h("div", { id: "here" });
  fill(content, h("h2", {}, "Lanes"),
    h("section", { class: "card" }, h("h3", {}, "Tasks in the lanes of this server"), here),
    h("section", { class: "card" }, h("h3", {}, "Lanes of the service, on all servers"), all));
  every(1.5, async () => {
    const found = await get("/lanes", {}, signal);
    update(all, h("p", { class: "soft" }, found.problem ?? `The group is ${found.state}; ${found.slots} slots are shared out, each with the tasks that fall to it.`),
      table([
        ["Lane", (member) => member.client],
        ["Host", (member) => member.host],
        ["Slots", (member) => count(member.slots.length), "number"],
        ["Which", (member) => member.slots.join(" "), "key"],
      ], found.members, "Lanes of the service"));
    const rows = found.here.flatMap((lane) => lane.queries.length ? lane.queries.map((query) => ({ ...lane, ...query })) : [{ ...lane, tasks: [], restoring: {} }]);
    update(here, found.here.length === 0 ? h("p", { class: "soft" }, "Spark is starting.") : table([
      ["Lane", (row) => row.lane, "number"],
      ["Process", (row) => `${row.process} on ${row.host}`],
      ["Query", (row) => row.query],
      ["Tasks at work", (row) => row.tasks.join(" ") || "–", "key"],
      ["Being restored", (row) => Object.keys(row.restoring).length ? h("div", {}, Object.entries(row.restoring).map(([task, share]) => progress(share, task))) : "–"],
    ], rows, "Tasks"));
  });
}
