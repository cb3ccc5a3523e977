// Lines over time, as SVG.

import { h, svg } from "./dom.js";

const LINES = 8;
const HEIGHT = 170, LEFT = 46, BOTTOM = 22, TOP = 8;

const short = (value) => value >= 1e6 ? `${+(value / 1e6).toFixed(1)}M` : value >= 1e3 ? `${+(value / 1e3).toFixed(1)}k` : String(+value.toFixed(value < 1 ? 2 : 1));

// A round number that is not less.
function roof(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 4, 5, 8, 10].map((step) => step * unit).find((level) => level >= value * 0.999) ?? value;
}

// series: {name: values}, one value for each time; width in pixels. The highest `LINES` of them are drawn.
export function chart(title, times, all, width) {
  const highest = (name) => Math.max(0, ...all[name]);
  const names = Object.keys(all).sort((a, b) => highest(b) - highest(a)).slice(0, LINES);
  const most = roof(Math.max(1e-9, ...names.map(highest)) < 1e-6 ? 1 : Math.max(...names.map(highest)));
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 1];
  const x = (at) => LEFT + ((at - first) / Math.max(1, last - first)) * (width - LEFT - 8);
  const y = (value) => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const drawing = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title });
  for (const part of [0, 0.5, 1]) {
    const level = most * part;
    drawing.append(svg("line", { class: "grid", x1: LEFT, x2: width - 8, y1: y(level), y2: y(level) }),
      svg("text", { x: LEFT - 6, y: y(level) + 4, "text-anchor": "end" }, short(level)));
  }
  if (times.length) {
    const clock = (at) => new Date(at).toLocaleTimeString("en-GB");
    drawing.append(svg("text", { x: LEFT, y: HEIGHT - 6 }, clock(first)), svg("text", { x: width - 8, y: HEIGHT - 6, "text-anchor": "end" }, clock(last)));
  }
  names.forEach((name, index) => {
    const points = all[name].map((value, at) => `${x(times[at]).toFixed(1)} ${y(value).toFixed(1)}`);
    if (points.length < 2) return;
    if (names.length === 1) drawing.append(svg("path", { class: "area", d: `M${points.join("L")}L${x(last).toFixed(1)} ${y(0)}L${x(first).toFixed(1)} ${y(0)}Z` }));
    drawing.append(svg("path", { class: `line line-${index}`, d: `M${points.join("L")}` }));
  });
  const legend = names.length < 2 ? null : h("div", { class: "legend" }, names.map((name, index) => h("span", {}, h("span", { class: `swatch line-${index}` }), name)));
  return h("div", {}, h("h3", {}, title), drawing, times.length < 2 ? h("p", { class: "soft" }, "The first figures come in a few seconds.") : null, legend);
}
