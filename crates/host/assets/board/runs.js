// The list of runs: narrowed by its form, counted above, new while it is looked at.

import { ask } from "./ask.js";
import { whole } from "./chart.js";
import { arrange, button, count, h, many, runName, say, share, show, span, time } from "./dom.js";
import { attempts, endOf, OUTCOMES, outcomeTag, spoken } from "./words.js";

/** How often the list is asked for again, in milliseconds. */
const AGAIN_MS = 4000;
export const DAY_MS = 86_400_000;
/** Since when, in words. */
export const SINCE = { "": "any time", "1h": "the last hour", "24h": "the last 24 hours", "7d": "the last 7 days", "30d": "the last 30 days" };
const LENGTHS = { "1h": 3_600_000, "24h": DAY_MS, "7d": 7 * DAY_MS, "30d": 30 * DAY_MS };
const NAMES = ["outcome", "delegate", "stage", "code", "since", "until", "waived", "q"];

/** The begin of a span of time, to the minute so that questions repeat. */
export function begin(since) {
  if (/^\d+$/.test(since)) return Number(since);
  return since in LENGTHS ? Math.floor((Date.now() - LENGTHS[since]) / 60_000) * 60_000 : undefined;
}

/** The address of a list with that in it. */
export function listOf(wanted) {
  const query = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
  return `#/runs${query.size ? `?${query}` : ""}`;
}

export function runsView(wanted, signal) {
  const values = Object.fromEntries(NAMES.map((name) => [name, wanted.get(name) ?? ""]));
  const state = { cursors: [null], rows: new Map(), known: false, words: null };
  const above = h("section", { class: "figures", "aria-label": "Counts" });
  const body = h("tbody");
  const note = h("p", { class: "note" });
  const pager = h("nav", { class: "pager", "aria-label": "Pages" });
  const live = h("span", { class: "live" }, "");
  const form = filters(values);
  const look = async (isQuiet) => {
    const cursor = state.cursors.at(-1);
    try {
      const params = { ...values, since: begin(values.since), until: values.until, cursor, limit: 50 };
      const page = await ask("board/runs", params, signal);
      if (signal.aborted) return;
      if (page.counts) counted(above, page, values);
      if (page.words && !state.words) form.offer(state.words = page.words);
      listed(body, page, state, isQuiet);
      remark(note, page, values);
      pages(pager, page, state, look);
      live.textContent = cursor ? "" : `live · ${new Date(page.nowMs).toLocaleTimeString("en-GB")}`;
      live.classList.toggle("on", !cursor);
    } catch (error) {
      if (signal.aborted) return;
      live.classList.remove("on");
      live.textContent = `not reached: ${error.message}`;
    }
  };
  const again = setInterval(() => {
    if (document.visibilityState === "visible" && state.cursors.length === 1) look(true);
  }, AGAIN_MS);
  signal.addEventListener("abort", () => clearInterval(again));
  look(false);
  return [
    h("div", { class: "head" }, h("h1", null, "Runs"), live),
    above, form.node, note,
    h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Runs, newest first" },
      h("table", { class: "runs" },
        h("caption", { class: "unseen" }, "Runs, newest first"),
        h("thead", null, h("tr", null, ["Outcome", "Run", "Delegate", "Attempts", "Code", "Opened", "Took"].map((text) => h("th", { scope: "col" }, text)))), body)),
    pager,
  ];
}

/** How the runs that are meant ended. */
function counted(node, { counts, isComplete }, values) {
  const of = (word) => counts.outcomes[word] ?? 0;
  const ended = counts.total - of("open") - of("escalated") - counts.damaged;
  const parts = Object.entries(OUTCOMES).map(([word, [tone]]) => {
    const value = word === "damaged" ? counts.damaged : of(word);
    return [tone, word === "verified" ? "VERIFIED" : spoken(word), value, word === "damaged" ? listOf({ ...values, outcome: "", stage: "damaged" }) : listOf({ ...values, outcome: word })];
  });
  show(node,
    h("dl", { class: "numbers" },
      figure("runs", count(counts.total), isComplete ? "" : "still reading the store"),
      figure("verified", share(of("verified"), ended), `${count(of("verified"))} of ${count(ended)} that ended`, "tone-verified"),
      figure("not verified", count(ended - of("verified")), "ended otherwise", "tone-refused"),
      figure("open", count(of("open")), "go on now", "tone-open"),
      figure("wait for a human", count(of("escalated")), "", "tone-human"),
      figure("waived", count(counts.waived), "a human answers for them; not verified")),
    whole(parts, "Runs by outcome"));
}

function figure(term, value, more, tone = "") {
  return h("div", { class: tone }, h("dt", null, term), h("dd", null, h("b", null, value), more ? h("small", null, more) : null));
}

function remark(node, page, values) {
  const said = [];
  if (!page.isComplete) said.push("The host is still reading its store: older runs follow.");
  if (values.q && !page.hasContent) said.push("Tasks are not searched: this key may not read content.");
  if (values.q && page.hasContent && !page.isSearched) said.push("Not every task is searched yet; look again for more.");
  if (!page.runs.length) said.push("No such runs.");
  node.textContent = said.join(" ");
}

function listed(body, page, state, isQuiet) {
  let [fresh, ended] = [0, 0];
  const rows = page.runs.map((run) => {
    const told = JSON.stringify(run);
    const text = `${told} ${run.isSealed ? 0 : Math.floor(page.nowMs / 10_000)}`;
    const known = state.rows.get(run.runId);
    if (known?.text === text) return known.row;
    if (known && known.end === "open" && endOf(run) !== "open") ended += 1;
    if (!known) fresh += 1;
    const row = rowOf(run, page.nowMs);
    if (isQuiet && state.known && known?.told !== told) row.classList.add("new");
    if (known?.row.contains(document.activeElement)) queueMicrotask(() => row.querySelector("a").focus());
    state.rows.set(run.runId, { told, text, row, end: endOf(run) });
    return row;
  });
  arrange(body, rows);
  if (isQuiet && state.known && fresh + ended) {
    say([fresh ? many(fresh, "new run") : "", ended ? `${many(ended, "run")} ended` : ""].filter(Boolean).join(", "));
  }
  state.known = true;
}

function rowOf(run, nowMs) {
  const until = run.endedAtMs ?? (run.isSealed ? run.changedAtMs : nowMs);
  return h("tr", null,
    h("td", { class: "outcome" }, outcomeTag(run)),
    h("th", { scope: "row", class: "which" }, h("a", { href: `#/runs/${encodeURIComponent(run.runId)}` },
      run.title ? h("span", { class: "title" }, run.title) : null, " ", runName(run.runId))),
    h("td", { "data-name": "delegate" }, run.delegate ?? "–"),
    h("td", { "data-name": "attempts" }, run.stage === "damaged" ? "–" : attempts(run), run.interruptions ? h("span", { class: "cut", title: "crashes, restarts and lost leases survived" }, ` +${run.interruptions} cut off`) : null),
    h("td", { "data-name": "code" }, run.code ? h("code", null, run.code) : "–"),
    h("td", { "data-name": "opened", class: "number" }, time(run.openedAtMs, nowMs)),
    h("td", { "data-name": "took", class: "number" }, run.openedAtMs ? span(Math.max(0, until - run.openedAtMs)) : "–"));
}

function pages(node, page, state, look) {
  const newer = button("Newer", () => { state.cursors.pop(); look(false); }, { disabled: state.cursors.length === 1 });
  const older = button("Older", () => { state.cursors.push(page.nextCursor); look(false); scrollTo(0, 0); }, { disabled: !page.nextCursor });
  const had = node.contains(document.activeElement) ? document.activeElement.textContent : null;
  show(node, newer, h("span", null, `Page ${state.cursors.length}`), older);
  if (had) (had === "Newer" && !newer.disabled ? newer : older.disabled ? newer : older).focus();
}

/** The form above the list. What it says is the address, so that it can be kept and sent. */
function filters(values) {
  const go = (more) => { location.hash = listOf({ ...values, ...more }); };
  const pick = (name, label, options) => {
    const select = h("select", { name, onchange: () => go({ [name]: select.value }) });
    const fill = (list) => {
      const known = list.some(([value]) => value === values[name]) || !values[name];
      show(select, [...list, ...(known ? [] : [[values[name], spoken(values[name])]])].map(([value, text]) => h("option", { value, selected: value === values[name] }, text)));
      select.value = values[name];
    };
    fill(options);
    return { node: h("label", null, h("span", null, label), select), fill };
  };
  const any = [["", "any"]];
  const outcomes = [["", "any"], ["not_verified", "NOT VERIFIED, all"], ...Object.keys(OUTCOMES).filter((word) => word !== "damaged").map((word) => [word, word === "verified" ? "VERIFIED" : spoken(word)])];
  const picks = {
    outcome: pick("outcome", "Outcome", outcomes), delegate: pick("delegate", "Delegate", any), stage: pick("stage", "Stage", any),
    code: pick("code", "Code", any), since: pick("since", "Opened", Object.entries(SINCE)),
  };
  const search = h("input", { type: "search", name: "q", value: values.q, placeholder: "task, run, pool, code", maxlength: 200 });
  const waived = h("input", { type: "checkbox", name: "waived", onchange: () => go({ waived: waived.checked ? "true" : "" }) });
  waived.checked = values.waived === "true";
  const isNarrow = NAMES.some((name) => values[name]);
  const node = h("form", { class: "filters", role: "search", "aria-label": "Narrow the list", onsubmit: (event) => { event.preventDefault(); go({ q: search.value.trim() }); } },
    h("label", { class: "grow" }, h("span", null, "Search"), search), Object.values(picks).map((it) => it.node),
    h("label", { class: "tick" }, waived, h("span", null, "waived only")),
    h("button", { type: "submit" }, "Search"), isNarrow ? h("a", { class: "reset", href: "#/runs" }, "Show all") : null);
  const offer = ({ delegates, stages, codes }) => {
    const list = (words) => [...any, ...words.map((word) => [word, spoken(word)])];
    picks.delegate.fill([...any, ...delegates.map((word) => [word, word])]);
    picks.stage.fill(list(stages));
    picks.code.fill([...any, ...codes.map((word) => [word, word])]);
  };
  return { node, offer };
}
