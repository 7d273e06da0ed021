// Charts, drawn by hand: axes with units, a reading by pointer and by keyboard, and the same values as a table.

import { count, h, s, show } from "./dom.js";

let charts = 0;

/** A chart with its title, its reading and its table. It is drawn for the width that it has: `draw` gives the
 *  drawing and the marks that can be read, each with its words. */
function figure(title, note, draw, head, rows, legend) {
  const reading = h("output", { class: "reading" }, rows.length ? "Point at the chart, or focus it and use the arrow keys." : "Nothing to show yet.");
  let [marks, at] = [[], -1];
  const read = (next) => {
    if (!marks.length) return;
    marks[at]?.node.classList.remove("read");
    at = Math.max(0, Math.min(marks.length - 1, next));
    marks[at].node.classList.add("read");
    reading.textContent = marks[at].text;
  };
  const stage = h("div", {
    class: "stage", tabindex: rows.length ? 0 : null, role: "group", "aria-label": `${title}: readings, by arrow keys`,
    onkeydown: (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (event.key === "Home") read(0);
      else if (event.key === "End") read(marks.length - 1);
      else if (step) read(at + step);
      else return;
      event.preventDefault();
    },
  });
  const redraw = (width) => {
    const drawn = draw(width);
    drawn.svg.setAttribute("role", "img");
    drawn.svg.setAttribute("aria-label", `${title}. ${note ?? ""} ${rows.length ? "The values follow as a table." : "No values."}`);
    marks = drawn.marks;
    marks.forEach((mark, index) => {
      mark.node.addEventListener("pointerenter", () => read(index));
      mark.node.append(s("title", null, mark.text));
    });
    if (at >= 0) marks[at]?.node.classList.add("read");
    show(stage, drawn.svg);
  };
  let wide = 0;
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.max(Math.floor(contentRect.width), 240);
    if (width !== wide) redraw(wide = width);
  }).observe(stage);
  return h("figure", { class: "chart" },
    h("figcaption", null, h("h3", null, title), note ? h("p", null, note) : null),
    legend?.length > 1 ? h("ul", { class: "legend" }, legend.map(([tone, label]) => h("li", null, swatch(tone), label))) : null,
    stage,
    h("div", { class: "under" }, reading, table(title, head, rows)));
}

function table(title, head, rows) {
  if (!rows.length) return null;
  return h("details", { class: "values" }, h("summary", null, "Values as a table"),
    h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `${title}: values` }, h("table", null,
      h("thead", null, h("tr", null, head.map((cell) => h("th", { scope: "col" }, cell)))),
      h("tbody", null, rows.map(([first, ...rest]) =>
        h("tr", null, h("th", { scope: "row" }, first), rest.map((cell) => h("td", null, cell))))))));
}

function swatch(tone) {
  return s("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }, ...area(tone, { x: 0.5, y: 0.5, width: 13, height: 13 }));
}

/** Patterns, so that tones are told apart without colour. */
function patterns(prefix) {
  const of = (tone, ...marks) => s("pattern", { id: `${prefix}${tone}`, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, ...marks);
  return s("defs", null,
    of("refused", s("path", { d: "M-1 1l2-2M0 6l6-6M5 7l2-2", class: "hatch" })),
    of("unsettled", s("circle", { cx: 1.5, cy: 1.5, r: 1.1, class: "dot" }), s("circle", { cx: 4.5, cy: 4.5, r: 1.1, class: "dot" })),
    of("human", s("path", { d: "M0 3h6", class: "hatch" })),
    of("open", s("path", { d: "M3 0v6", class: "hatch" })));
}

/** One piece of area in a tone: its colour below, its pattern above. */
function area(tone, box, prefix = "shared-") {
  const has = !["verified", "unchecked"].includes(tone);
  return [s("rect", { ...box, class: `area tone-${tone}` }), has ? s("rect", { ...box, fill: `url(#${prefix}${tone})`, class: "over" }) : null];
}

/** Patterns that legends use, once for the page. */
export function sharedPatterns() {
  return s("svg", { class: "unseen", width: 0, height: 0, "aria-hidden": "true" }, patterns("shared-"));
}

/** Round numbers from 0 up to what has to fit. */
function ticks(most, wanted = 4) {
  if (most <= 0) return [0, 1];
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max([1, 2, 5, 10].find((it) => it * power >= rough) * power, Number.isInteger(most) && most < 5 ? 1 : 0);
  const values = [];
  for (let value = 0; value < most + step; value += step) values.push(Number(value.toPrecision(6)));
  return values;
}

const short = (value) => (value >= 10_000 ? `${Number((value / 1000).toPrecision(3))}k` : count(value));

/** The frame of a chart: its axes, and where values are. */
function frame(width, height, most, unit, format = short) {
  const [left, right, top, bottom] = [44, 8, 18, 26];
  const values = ticks(most);
  const highest = values.at(-1);
  const y = (value) => top + (height - top - bottom) * (1 - value / highest);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", width, height });
  for (const value of values) {
    svg.append(s("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: value ? "grid" : "axis" }),
      s("text", { x: left - 6, y: y(value) + 3.5, "text-anchor": "end" }, format(value)));
  }
  svg.append(s("text", { x: 0, y: 10, class: "unit" }, unit));
  return { svg, y, left, right, bottom, inner: width - left - right };
}

/** Labels below, as many as there is room for. */
function below(svg, labels, at, height, inner) {
  const every = Math.max(1, Math.ceil((labels.length * 52) / inner));
  labels.forEach((label, index) => {
    if (index % every === 0) svg.append(s("text", { x: at(index), y: height - 9, "text-anchor": "middle" }, label));
  });
}

/** Columns of several series on each other. `points`: [label, long label, [values]]. */
export function columns(title, note, unit, series, points, height = 200) {
  const rows = points.map(([label, long, values]) => [long ?? label, ...values.map(count)]);
  return figure(title, note, (width) => {
    const prefix = `c${charts += 1}-`;
    const most = Math.max(0, ...points.map(([, , values]) => values.reduce((sum, it) => sum + it, 0)));
    const { svg, y, left, inner } = frame(width, height, most, unit);
    svg.append(patterns(prefix));
    const slot = inner / Math.max(points.length, 1);
    const bar = Math.max(1, Math.min(slot * 0.74, 46));
    const marks = points.map(([label, long, values], index) => {
      const group = s("g", { class: "mark" }, s("rect", { x: left + slot * index, y: 18, width: slot, height: y(0) - 18, class: "hit" }));
      let base = 0;
      values.forEach((value, at) => {
        if (!value) return;
        const box = { x: left + slot * index + (slot - bar) / 2, y: y(base + value), width: bar, height: Math.max(y(base) - y(base + value), 0.8) };
        group.append(...area(series[at][0], box, prefix).filter(Boolean));
        base += value;
      });
      svg.append(group);
      const said = values.map((value, at) => (value || series.length < 3 ? `${count(value)} ${series[at][1]}` : null)).filter(Boolean);
      return { node: group, text: `${long ?? label}: ${said.join(", ") || "nothing"}` };
    });
    below(svg, points.map(([label]) => label), (index) => left + slot * (index + 0.5), height, inner);
    return { svg, marks };
  }, ["", ...series.map(([, label]) => label)], rows, series);
}

/** A line of shares in percent; a gap where there is no whole. `points`: [label, long, part, of]. */
export function line(title, note, points, what, height = 200) {
  const values = points.map(([, , part, of]) => (of ? (100 * part) / of : null));
  const rows = points.map(([label, long, part, of], index) => [long ?? label, values[index] === null ? "–" : values[index].toFixed(1), count(part), count(of)]);
  const said = ([label, long, part, of], value) => `${long ?? label}: ${of ? `${value.toFixed(1)} % (${count(part)} of ${count(of)} ${what})` : "no claims"}`;
  return figure(title, note, (width) => {
    const { svg, y, left, inner } = frame(width, height, Math.max(...values, 4), "percent", (value) => `${value}`);
    const slot = inner / Math.max(points.length, 1);
    const x = (index) => left + slot * (index + 0.5);
    const path = values.map((value, index) => (value === null ? "" : `${index && values[index - 1] !== null ? "L" : "M"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`)).join("");
    svg.append(s("path", { d: path, class: "curve tone-refused" }));
    const marks = values.map((value, index) => {
      const group = s("g", { class: "mark" }, s("rect", { x: left + slot * index, y: 18, width: slot, height: y(0) - 18, class: "hit" }));
      if (value !== null) group.append(s("circle", { cx: x(index), cy: y(value), r: slot < 9 ? 1.6 : 3, class: "point tone-refused" }));
      svg.append(group);
      return { node: group, text: said(points[index], value) };
    });
    below(svg, points.map(([label]) => label), x, height, inner);
    return { svg, marks };
  }, ["", "percent", "of them", "of all"], rows);
}

/** Ranges on a logarithmic axis: half, 99 of 100, slowest. `rows`: [label, p50, p99, max]. */
export function ranges(title, note, rows, format) {
  const [step, right] = [24, 16];
  const height = rows.length * step + 44;
  const most = Math.max(10, ...rows.map((row) => row[3] ?? 0));
  const powers = Math.ceil(Math.log10(most));
  return figure(title, note, (width) => {
    const left = width < 500 ? 96 : 170;
    const x = (value) => left + ((width - left - right) * Math.log10(Math.max(value, 1))) / powers;
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", width, height });
    for (let power = 0; power <= powers; power += 1) {
      const at = x(10 ** power);
      svg.append(s("line", { x1: at, x2: at, y1: 8, y2: height - 30, class: power ? "grid" : "axis" }),
        s("text", { x: at, y: height - 15, "text-anchor": power === powers ? "end" : power ? "middle" : "start" }, power ? format(10 ** power) : "≤ 1 ms"));
    }
    svg.append(s("text", { x: width - right, y: height - 2, "text-anchor": "end", class: "unit" }, "wall time, logarithmic"));
    const room = Math.floor((left - 10) / 7.2);
    const marks = rows.map(([label, p50, p99, max], index) => {
      const y = 20 + index * step;
      const group = s("g", { class: "mark" },
        s("rect", { x: 0, y: y - step / 2, width, height: step, class: "hit" }),
        s("text", { x: left - 8, y: y + 4, "text-anchor": "end", class: "name" }, label.length > room ? `${label.slice(0, room - 1)}…` : label),
        s("line", { x1: x(p50), x2: x(max), y1: y, y2: y, class: "whisker" }),
        s("line", { x1: x(p50), x2: x(p99), y1: y, y2: y, class: "range" }),
        s("circle", { cx: x(p50), cy: y, r: 4.5, class: "half" }),
        s("path", { d: `M${x(p99)} ${y - 6}v12`, class: "edge" }),
        s("path", { d: `M${x(max)} ${y - 3}v6`, class: "far" }));
      svg.append(group);
      return { node: group, text: `${label}: half within ${format(p50)}, 99 of 100 within ${format(p99)}, slowest ${format(max)}` };
    });
    return { svg, marks };
  }, ["check", "p50", "p99", "slowest"], rows.map(([label, ...values]) => [label, ...values.map(format)]));
}

/** One bar of parts that make a whole, each a link or a word. `parts`: [tone, label, value, href]. */
export function whole(parts, label) {
  const sum = parts.reduce((total, part) => total + part[2], 0);
  const prefix = `w${charts += 1}-`;
  const svg = s("svg", { viewBox: "0 0 1000 22", preserveAspectRatio: "none", class: "whole", "aria-hidden": "true" }, patterns(prefix));
  let x = 0;
  for (const [tone, word, value] of parts) {
    if (!value) continue;
    const width = Math.max((1000 * value) / sum, 1);
    const group = s("g", null, s("title", null, `${word}: ${count(value)}`), ...area(tone, { x, y: 0, width: Math.max(width - 2, 1), height: 22 }, prefix).filter(Boolean));
    svg.append(group);
    x += width;
  }
  return h("div", { class: "wholebox", role: "group", "aria-label": label }, svg,
    h("ul", { class: "parts" }, parts.filter((part) => part[2]).map(([tone, word, value, href]) =>
      h("li", null, swatch(tone), href ? h("a", { href }, word) : word, " ", h("b", null, count(value))))));
}

/** A share as a small bar beside its number. */
export function meter(part, of, tone, text) {
  const width = of ? Math.max((60 * part) / of, part ? 1.5 : 0) : 0;
  return h("span", { class: "meter" },
    s("svg", { viewBox: "0 0 60 10", width: 60, height: 10, "aria-hidden": "true" },
      s("rect", { x: 0, y: 0, width: 60, height: 10, class: "trough" }), ...area(tone, { x: 0, y: 0, width, height: 10 }).filter(Boolean)), text);
}
