// Questions to this host, with the key of whoever looks. The key is kept for this tab and goes into one
// header; never into an address, a cookie or a log.

const KEY = "probity.key";
const BASE = new URL("api/v1/", document.baseURI);
/** How long it waits before it asks for a stream again, in milliseconds. */
const AGAIN_MS = [500, 1000, 2000, 5000, 10_000];

let onRefused = () => {};

/** What is done when the key is not, or no longer, right. */
export function whenRefused(does) {
  onRefused = does;
}

export const key = () => sessionStorage.getItem(KEY);
export const keep = (text) => sessionStorage.setItem(KEY, text);
export const forget = () => sessionStorage.removeItem(KEY);

/** Why a question was not answered. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body?.message ?? `the host answered ${status}`);
    this.status = status;
    this.scope = body?.details?.requiredScope;
  }
}

function request(path, params, headers, signal, text = key()) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(params ?? {})) {
    if (value !== undefined && value !== null && value !== "" && value !== false) url.searchParams.set(name, value);
  }
  return fetch(url, {
    headers: { authorization: `Bearer ${text}`, ...headers },
    cache: "no-store", credentials: "omit", redirect: "error", referrerPolicy: "no-referrer", signal,
  });
}

async function refused(response) {
  let body = null;
  try { body = await response.json(); } catch { /* it is no envelope */ }
  if (response.status === 401) onRefused();
  return new Refusal(response.status, body);
}

/** Asks and gives the answer. */
export async function ask(path, params, signal) {
  const response = await request(path, params, { accept: "application/json" }, signal);
  if (!response.ok) throw await refused(response);
  return response.json();
}

/** Whether a key is right; the answer, or why it is not. */
export async function tryKey(text) {
  const response = await request("board/runs", { limit: 1 }, {}, undefined, text);
  if (response.ok) return;
  let body = null;
  try { body = await response.json(); } catch { /* it is no envelope */ }
  throw new Refusal(response.status, body);
}

/** A file, as bytes. */
export async function fetchFile(path, signal) {
  const response = await request(path, {}, {}, signal);
  if (!response.ok) throw await refused(response);
  return response.blob();
}

/** Follows the log of a run to its seal, and goes on behind the last record after a break. */
export async function follow(run, from, signal, onEvent, onState) {
  let last = from;
  for (let broken = 0; !signal.aborted; broken += 1) {
    try {
      const response = await request(`delegations/${encodeURIComponent(run)}/events`, {},
        { accept: "text/event-stream", ...(last >= 0 ? { "last-event-id": String(last) } : {}) }, signal);
      if (!response.ok) {
        const why = await refused(response);
        if (why.status < 500 && why.status !== 429) throw why;
        throw new TypeError(why.message);
      }
      onState("live");
      for await (const event of events(response.body)) {
        broken = 0;
        last = Number(event.id);
        onEvent(event);
        if (event.type === "run.sealed") return;
      }
    } catch (error) {
      if (signal.aborted || error instanceof Refusal) return onState("ended");
    }
    onState("waiting");
    await rest(AGAIN_MS[Math.min(broken, AGAIN_MS.length - 1)], signal);
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = {};
      for (const line of text.slice(0, end).split("\n")) {
        const colon = line.indexOf(":");
        if (colon < 1) continue;
        const rest = line.slice(colon + 1).replace(/^ /, "");
        const name = line.slice(0, colon);
        if (name === "id") event.id = rest;
        else if (name === "event") event.type = rest;
        else if (name === "data") event.data = rest;
      }
      text = text.slice(end + 2);
      if (event.data !== undefined) yield event;
    }
  }
}

function rest(ms, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", () => { clearTimeout(timer); done(); }, { once: true });
  });
}
