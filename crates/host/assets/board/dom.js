// Elements. Whatever comes from elsewhere becomes a text node: there is no way in here to write markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with properties and children. */
export function h(tag, props, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** An SVG element. */
export function s(tag, props, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else node.append(child);
  }
}

/** Puts nodes in the place of what a node holds. */
export function show(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

/** Brings the children of a node in that order and touches no more than it has to, so that focus stays. */
export function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, at) => {
    if (parent.children[at] !== node) parent.insertBefore(node, parent.children[at] ?? null);
  });
}

let saying = 0;

/** Tells those who listen instead of looking. */
export function say(text) {
  const place = document.getElementById("said");
  clearTimeout(saying);
  place.textContent = "";
  saying = setTimeout(() => { place.textContent = text; }, 120);
}

const number = new Intl.NumberFormat("en-GB");
const shortDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const whole = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "long" });

export const count = (value) => number.format(value ?? 0);

export const many = (value, one, more = `${one}s`) => `${count(value)} ${value === 1 ? one : more}`;

/** A share of a whole, in percent; a dash where there is no whole. */
export function share(part, of) {
  if (!of) return "–";
  const percent = (100 * part) / of;
  if (part > 0 && percent < 0.1) return "<0.1 %";
  if (part < of && percent > 99.9) return ">99.9 %";
  return `${percent.toFixed(percent === 0 || percent === 100 ? 0 : 1)} %`;
}

/** A time of the day, with its date where it is not today's. */
export function time(ms, now = Date.now()) {
  if (!ms) return h("span", null, "–");
  const at = new Date(ms);
  const isToday = new Date(now).toDateString() === at.toDateString();
  const text = isToday ? clock.format(at) : `${shortDay.format(at)} ${minute.format(at)}`;
  return h("time", { datetime: at.toISOString(), title: whole.format(at) }, text);
}

/** How long something took. */
export function span(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
  return `${Math.floor(ms / 86_400_000)} d ${Math.round((ms % 86_400_000) / 3_600_000)} h`;
}

/** The begin of a digest or of a name, with the whole of it for those who want it. */
export function brief(text, chars = 12) {
  if (!text) return "–";
  return h("code", { class: "brief", title: text }, text.length > chars + 3 ? `${text.slice(0, chars)}…` : text);
}

/** The part of a run's name that tells it from others. */
export function runName(id) {
  const uuid = /^(?:[0-9a-f]{12}-)?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-([0-9a-f]{12}))$/.exec(id);
  return h("code", { class: "brief", title: id }, uuid ? `…${uuid[2]}` : id);
}

/** A button that does something. */
export function button(text, onclick, props) {
  return h("button", { type: "button", onclick, ...props }, text);
}
