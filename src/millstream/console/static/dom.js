// Elements, made of names, attributes and children. Text only ever becomes text: nothing here parses HTML.

export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in { value: 1, checked: 1, disabled: 1, selected: 1 } && name !== "progress") element[key] = value;
    else element.setAttribute(key === "class" ? "class" : key, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
}

// As `fill`, but what is there already stays and is only changed where it differs: who has the focus on something, or has
// opened it, keeps that while figures move. For content without listeners.
export function update(element, ...children) {
  const wanted = h("div", {}, ...children);
  alike(element, wanted);
}

function alike(old, wanted) {
  const [before, after] = [[...old.childNodes], [...wanted.childNodes]];
  after.forEach((node, index) => {
    const known = before[index];
    if (!known) old.append(node);
    else if (known.nodeType !== node.nodeType || known.nodeName !== node.nodeName) known.replaceWith(node);
    else if (node.nodeType === Node.TEXT_NODE) { if (known.data !== node.data) known.data = node.data; }
    else {
      for (const { name } of [...known.attributes]) if (!node.hasAttribute(name) && name !== "open" && name !== "style") known.removeAttribute(name);
      for (const { name, value } of node.attributes) if (name !== "style" && known.getAttribute(name) !== value) known.setAttribute(name, value);
      alike(known, node);
    }
  });
  for (const extra of before.slice(after.length)) extra.remove();
}

// Columns: [title, cell, class]; a cell is text, a number or an element.
export function table(columns, rows, caption) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", {},
      h("thead", {}, h("tr", {}, columns.map(([title, , kind]) => h("th", { scope: "col", class: kind === "number" ? "number" : undefined }, title)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, columns.map(([, cell, kind]) => {
        const found = cell(row);
        return h("td", { class: kind }, found instanceof Node ? found : found === null || found === undefined ? "–" : String(found));
      }))))));
}

// A bar that says how much is done, from 0 to 1, with a word about it.
export function progress(share, text) {
  return h("div", { class: "progress" }, h("progress", { max: "1", value: String(share), "aria-label": text }), h("span", { class: "soft" }, `${Math.floor(share * 100)} % ${text}`));
}

export function notice(text, bad = false) {
  const shown = h("div", { class: bad ? "notice bad" : "notice" }, text);
  document.getElementById("notices").append(shown);
  setTimeout(() => shown.remove(), bad ? 9000 : 4000);
}

// A question with a form in it; resolves to true if it is answered with yes. One with `only` has no other answer.
export function ask(title, content, { yes = "OK", danger = false, only = false } = {}) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-label": title },
      h("h3", {}, title), content,
      h("div", { class: "row" },
        h("button", { class: danger ? "danger" : "main", type: "button", onclick: () => dialog.close("yes") }, yes),
        // Who presses Enter without reading does no harm.
        only ? null : h("button", { type: "button", autofocus: danger, onclick: () => dialog.close("") }, "Cancel")));
    dialog.addEventListener("close", () => { resolve(dialog.returnValue === "yes"); dialog.remove(); });
    document.body.append(dialog);
    dialog.showModal();
  });
}

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
export const time = (ms) => new Date(ms).toISOString().replace("T", " ").replace("Z", "");
export const count = (number) => number === null || number === undefined ? "–" : Number(number).toLocaleString("en-US");
