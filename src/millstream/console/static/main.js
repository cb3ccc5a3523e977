// Which page is shown, and who looks at it.

import { get, isLoggedIn, logIn, Refused } from "./api.js";
import { fill, h } from "./dom.js";
import { lanes } from "./pages/lanes.js";
import { letters } from "./pages/letters.js";
import { overview } from "./pages/overview.js";
import { sql } from "./pages/sql.js";
import { state } from "./pages/state.js";
import { stores } from "./pages/stores.js";
import { tasks } from "./pages/tasks.js";
import { topics } from "./pages/topics.js";
import { topology } from "./pages/topology.js";

// What there is to see depends on what the console is of.
const PAGES = {
  service: {
    overview: ["Overview", overview],
    topology: ["Topology", topology],
    sql: ["SQL", sql],
    state: ["State", state],
    topics: ["Topics", topics],
    letters: ["Dead letters", letters],
    lanes: ["Lanes", lanes],
  },
  application: {
    overview: ["Overview", overview],
    topology: ["Topology", topology],
    state: ["State", stores],
    topics: ["Topics", topics],
    letters: ["Dead letters", letters],
    tasks: ["Tasks", tasks],
  },
};

const main = document.getElementById("main");
let session = null;
let leaving = new AbortController();

async function show() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  try {
    session ??= await get("/session");
  } catch (error) {
    fill(document.getElementById("pages"));
    if (error instanceof Refused && error.status === 401) return login(isLoggedIn() ? error.message : null);
    return fill(main, h("p", { class: "error", role: "alert" }, error.message), h("button", { onclick: show }, "Try again"));
  }
  const pages = PAGES[session.kind];
  const [name, ...parts] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const page = pages[name] ? name : "overview";
  document.title = `${pages[page][0]} – ${session.name} – Millstream`;
  fill(document.getElementById("pages"), Object.entries(pages).map(([key, [title]]) =>
    h("a", { href: `#/${key}`, "aria-current": key === page ? "page" : undefined }, title)));
  showWho();
  const content = h("div", { "data-page": page });
  fill(main, content);
  const told = h("p", { class: "error", role: "alert", hidden: true });
  // Pages that go on asking tell what went wrong last, and take it back when the server answers again.
  const problem = (error) => {
    if (signal.aborted || error?.name === "AbortError") return;
    if (error?.status === 401) { session = null; show(); return; }
    told.hidden = !error;
    told.textContent = error ? error.message : "";
  };
  try {
    await pages[page][1]({ content, parts, session, signal, problem, every: (seconds, work) => every(seconds, work, signal, problem) });
  } catch (error) {
    problem(error);
  }
  if (!signal.aborted) content.prepend(told);
}

// Does something at once and again and again, while the page is open and seen.
async function every(seconds, work, signal, problem) {
  while (!signal.aborted) {
    if (!document.hidden) {
      try {
        await work();
        problem(null);
      } catch (error) {
        problem(error);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  }
}

function showWho() {
  fill(document.getElementById("who"),
    h("span", {}, `${session.kind} `, h("b", {}, session.name)),
    session.user ? h("span", {}, session.user) : null,
    session.mayChange ? null : h("span", { class: "badge warn", id: "read-only" }, "read-only"),
    isLoggedIn() ? h("button", { onclick: () => { logIn(null); session = null; fill(document.getElementById("who")); show(); } }, "Log out") : null);
}

function login(message) {
  const user = h("input", { autocomplete: "username", id: "user" });
  const secret = h("input", { type: "password", autocomplete: "current-password", id: "secret" });
  const enter = async (event) => {
    event.preventDefault();
    const basic = () => btoa(String.fromCharCode(...new TextEncoder().encode(`${user.value}:${secret.value}`)));
    logIn(user.value ? `Basic ${basic()}` : `Bearer ${secret.value}`);
    await show();
  };
  fill(main, h("form", { class: "card login", onsubmit: enter },
    h("h2", {}, "Log in"),
    message ? h("p", { class: "error", role: "alert" }, message) : null,
    h("div", { class: "row" }, h("label", { class: "grow" }, "User (none for a token)", user)),
    h("div", { class: "row" }, h("label", { class: "grow" }, "Password or token", secret)),
    h("button", { class: "main" }, "Log in")));
  user.focus();
}

window.addEventListener("hashchange", () => { show(); main.focus({ preventScroll: true }); });
show();
