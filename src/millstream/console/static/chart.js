// Lines over time, as SVG.

import { h, svg } from "./dom.js";

const COLOURS = ["#3b82c4", "#d9822b", "#2e9e6b", "#b0559f", "#c2483f", "#7a6bd1", "#2a9d9d", "#8c7a2b"];
const HEIGHT = 190, LEFT = 56, BOTTOM = 22, TOP = 8;

const short = (value) => value >= 1e6 ? `${+(value / 1e6).toFixed(1)}M` : value >= 1e3 ? `${+(value / 1e3).toFixed(1)}k` : String(+value.toFixed(1));

// series: {name: values}, one value for each time; width in pixels.
export function chart(title, times, series, width) {
  const names = Object.keys(series);
  const most = Math.max(1, ...names.flatMap((name) => series[name]));
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 1];
  const x = (at) => LEFT + ((at - first) / Math.max(1, last - first)) * (width - LEFT - 8);
  const y = (value) => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const drawing = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": title });
  for (const part of [0, 0.5, 1]) {
    const level = most * part;
    drawing.append(svg("line", { class: "grid", x1: LEFT, x2: width, y1: y(level), y2: y(level) }),
      svg("text", { x: LEFT - 6, y: y(level) + 4, "text-anchor": "end" }, short(level)));
  }
  if (times.length) {
    const clock = (at) => new Date(at).toLocaleTimeString("en-GB");
    drawing.append(svg("text", { x: LEFT, y: HEIGHT - 6 }, clock(first)), svg("text", { x: width - 8, y: HEIGHT - 6, "text-anchor": "end" }, clock(last)));
  }
  names.forEach((name, index) => {
    const points = series[name].map((value, at) => `${x(times[at]).toFixed(1)} ${y(value).toFixed(1)}`);
    if (points.length) drawing.append(svg("path", { d: `M${points.join("L")}`, stroke: COLOURS[index % COLOURS.length] }));
  });
  const legend = h("div", { class: "legend" }, names.map((name, index) => {
    const swatch = h("span", { class: "swatch" });
    swatch.style.background = COLOURS[index % COLOURS.length];
    return h("span", {}, swatch, name);
  }));
  return h("div", {}, drawing, legend);
}
