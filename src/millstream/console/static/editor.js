// A text area with SQL in colours, names that fit, and errors at their place.

import { fill, h } from "./dom.js";

const KEYWORDS = `ADD ALTER AND ANY ARRAY AS ASSERT BEGINNING BETWEEN BIGINT BOOLEAN BY BYTES CASE CAST CHANGES COLUMN CONNECTOR CONNECTORS CREATE
DATE DAYS DECIMAL DEFINE DELETE DESCRIBE DISTINCT DOUBLE DROP ELSE EMIT END ESCAPE EXISTS EXPLAIN EXTENDED FALSE FINAL FROM FULL FUNCTION FUNCTIONS
GRACE GROUP HAVING HEADERS HOPPING HOURS IF IN INNER INSERT INT INTEGER INTERVAL INTO IS JOIN KEY LEFT LIKE LIMIT LIST MAP MILLISECONDS MINUTES NOT
NULL ON OR OUTER PARTITION PARTITIONS PAUSE PERIOD PRIMARY PRINT PROPERTIES QUERIES REPLACE RESUME RETENTION RIGHT SECONDS SELECT SESSION SET SHOW SINK
SIZE SOURCE STREAM STREAMS STRING STRUCT TABLE TABLES TERMINATE THEN TIME TIMESTAMP TO TOPIC TOPICS TRUE TUMBLING TYPE TYPES UNDEFINE UNSET VALUES
VARCHAR VARIABLES WHEN WHERE WINDOW WITH WITHIN`.split(/\s+/);
const KNOWN = new Set(KEYWORDS);
const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|(`[^`]*`?|"[^"]*"?)|(\b\d+(?:\.\d+)?\b)|([A-Za-z_@][\w@$]*)/g;
const MOST_CHOICES = 12;

export function editor({ text = "", names = [], onrun }) {
  const shown = h("pre", { "aria-hidden": "true" });
  const choices = h("ul", { class: "choices", role: "listbox", id: "choices", "aria-label": "Names that fit" });
  const area = h("textarea", {
    id: "statement", spellcheck: "false", autocomplete: "off", autocapitalize: "off", "aria-label": "SQL",
    "aria-controls": "choices", "aria-describedby": "editor-help", value: text,
  });
  let wrong = null, fitting = [], chosen = -1;

  function paint() {
    const value = area.value;
    const pieces = [];
    const mark = (piece, kind, at) => {
      // What is wrong is marked where it is, also inside a word.
      if (wrong !== null && at <= wrong && wrong < at + piece.length) {
        const inside = /^\w+|^./.exec(piece.slice(wrong - at))?.[0].length ?? 1;
        const cut = wrong - at;
        pieces.push(span(piece.slice(0, cut), kind), span(piece.slice(cut, cut + inside), `${kind} wrong`), span(piece.slice(cut + inside), kind));
      } else pieces.push(span(piece, kind));
    };
    let from = 0;
    for (const match of value.matchAll(TOKEN)) {
      mark(value.slice(from, match.index), "", from);
      const kind = match[1] ? "c" : match[2] ? "s" : match[4] ? "n" : match[5] && KNOWN.has(match[5].toUpperCase()) ? "k" : "";
      mark(match[0], kind, match.index);
      from = match.index + match[0].length;
    }
    mark(value.slice(from), "", from);
    if (wrong !== null && wrong >= value.length) pieces.push(span(" ", "wrong"));
    fill(shown, pieces, "\n");
  }

  const span = (piece, kind) => kind.trim() ? h("span", { class: kind.trim() }, piece) : piece;

  function word() {
    const before = area.value.slice(0, area.selectionStart);
    return /[A-Za-z_][\w$]*$/.exec(before)?.[0] ?? "";
  }

  function suggest() {
    const begun = word().toUpperCase();
    fitting = begun.length < 1 ? [] : [...new Set([...names, ...KEYWORDS])]
      .filter((name) => name.toUpperCase().startsWith(begun) && name.toUpperCase() !== begun).slice(0, MOST_CHOICES);
    chosen = -1;
    offer();
  }

  function offer() {
    fill(choices, fitting.map((name, index) => h("li", {
      role: "option", id: `choice-${index}`, "aria-selected": String(index === chosen),
      onmousedown: (event) => { event.preventDefault(); take(name); },
    }, name)));
    if (chosen >= 0) area.setAttribute("aria-activedescendant", `choice-${chosen}`);
    else area.removeAttribute("aria-activedescendant");
  }

  function take(name) {
    const begun = word();
    area.setRangeText(name, area.selectionStart - begun.length, area.selectionStart, "end");
    fitting = [];
    chosen = -1;
    changed();
    offer();
  }

  function changed() {
    wrong = null;
    paint();
  }

  area.addEventListener("input", () => { changed(); suggest(); });
  area.addEventListener("blur", () => { fitting = []; offer(); });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); onrun(); return; }
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); suggest(); chosen = fitting.length ? 0 : -1; offer(); return; }
    if (!fitting.length) return;
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) { event.preventDefault(); chosen = (chosen + move + fitting.length) % fitting.length; offer(); }
    else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) { event.preventDefault(); take(fitting[chosen]); }
    else if (event.key === "Escape") { fitting = []; offer(); }
  });
  paint();
  return {
    element: h("div", {}, h("div", { class: "editor" }, shown, area), choices,
      h("p", { class: "soft", id: "editor-help" }, "Ctrl+Enter runs it; Ctrl+Space shows names, arrows and Enter take one.")),
    get text() { return area.value; },
    // What is chosen, or all, and where that begins.
    get wanted() {
      const { selectionStart: from, selectionEnd: to, value } = area;
      return value.slice(from, to).trim() ? { text: value.slice(from, to), start: from } : { text: value, start: 0 };
    },
    set text(value) { area.value = value; changed(); },
    focus: () => area.focus(),
    markWrong(at) {
      wrong = Math.min(at, area.value.length);
      paint();
    },
  };
}
