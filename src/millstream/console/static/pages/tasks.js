import { get } from "../api.js";
import { count, fill, h, progress, table, time, update } from "../dom.js";
import { stateBadge } from "./overview.js";

const size = (bytes) => bytes === null || bytes === undefined ? "–" : bytes >= 1e6 ? `${(bytes / 1e6).toFixed(1)} MB` : `${Math.round(bytes / 1e3)} kB`;

// While a task is restored, its lane says how far it is; how many rows came is told with its first batch.
function restored(task) {
  if (task.restored !== null && task.restored < 100) return progress(task.restored / 100, task.rest);
  if (task.restoredRecords) return h("span", { class: "badge good" }, `${count(task.restoredRecords)} records`);
  return task.restored === 100 ? h("span", { class: "badge good" }, "restored") : task.processed === null ? "–" : "nothing to restore";
}

export async function tasks({ content, every, signal }) {
  const state = h("p", {}), all = h("div", { id: "tasks" }), copies = h("div", { id: "copies" });
  fill(content, h("h2", {}, "Tasks"), state,
    h("section", { class: "card" }, h("h3", {}, "Tasks, and the lanes (processes) that run them"), all),
    h("section", { class: "card" }, h("h3", {}, "Copies of stores that are asked, and where they live"), copies));
  every(1.5, async () => {
    const found = await get("/tasks", {}, signal);
    update(state, stateBadge(found.state), found.state === "REBALANCING" ? " Tasks are being assigned." : "");
    update(all, found.tasks.length === 0 ? h("p", { class: "soft" }, "No tasks are assigned yet.") : table([
      ["Task", (task) => task.task, "key"],
      ["Lane", (task) => task.lane, "number"],
      ["Restored", restored],
      ["Processed", (task) => count(task.processed), "number"],
      ["Dropped", (task) => count(task.dropped), "number"],
      ["Stream time", (task) => task.streamTime > 0 ? time(task.streamTime) : "–", "time"],
      ["State written", (task) => size(task.stateBytes), "number"],
    ], found.tasks, "Tasks"));
    const lines = Object.entries(found.copies.stores).flatMap(([store, instances]) => instances.flatMap((instance) => instance.partitions.map((partition) => ({ store, ...instance, ...partition }))));
    update(copies, found.copies.problem ? h("p", { class: "soft" }, found.copies.problem) : lines.length === 0 ? h("p", { class: "soft" }, "It has no stores that can be asked.") : table([
      ["Store", (line) => h("a", { href: `#/state/${encodeURIComponent(line.store)}` }, line.store)],
      ["Partition", (line) => line.partition, "number"],
      ["Instance", (line) => `${line.instance}${line.here ? " (this one)" : ""}`, "key"],
      ["Role", (line) => h("span", { class: "badge" }, line.standby ? "standby" : "active")],
      ["Has read", (line) => line.end === undefined ? "–" : line.end === 0 ? "it is empty" : progress(line.position / line.end, `${count(line.position)} of ${count(line.end)}`)],
      ["Age", (line) => line.staleMs === undefined ? "–" : line.staleMs === null ? "not read up yet" : `${count(line.staleMs)} ms`, "number"],
    ], lines, "Copies"));
  });
}
