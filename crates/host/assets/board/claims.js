// Failure modes: what delegates claimed, what was true, and why it was not.

import { ask } from "./ask.js";
import { columns, line, meter } from "./chart.js";
import { count, h, many, runName, share, show, time } from "./dom.js";
import { begin, listOf, SINCE } from "./runs.js";
import { resultTag } from "./words.js";

const SERIES = [["verified", "passed"], ["refused", "false"], ["unsettled", "undecided"], ["unchecked", "unchecked"]];
/** Delegates whose attempts are drawn. */
const DRAWN = 6;

/** The row above a view of figures: of when, and of whom. */
export function narrowing(view, wanted, more = []) {
  const since = wanted.get("since") ?? "7d";
  const delegate = wanted.get("delegate") ?? "";
  const go = (change) => {
    const query = new URLSearchParams([...wanted, ...Object.entries(change)].filter(([, value]) => value !== null));
    for (const [name, value] of Object.entries(change)) query.set(name, value);
    location.hash = `#/${view}?${query}`;
  };
  const select = (name, label, value, options) => h("label", null, h("span", null, label),
    h("select", { name, onchange: (event) => go({ [name]: event.target.value }) }, options.map(([it, text]) => h("option", { value: it, selected: it === value }, text))));
  return {
    since, delegate, params: { since: begin(since), delegate },
    node: h("form", { class: "filters", "aria-label": "Narrow the figures", onsubmit: (event) => event.preventDefault() },
      select("since", "Runs opened", since, Object.entries(SINCE).map(([value, text]) => [value || "all", text])), more,
      delegate ? h("a", { class: "reset", href: `#/${view}?since=${since}` }, `only ${delegate} — show all delegates`) : null),
  };
}

export const unfinished = (page) => (page.isComplete ? null : h("p", { class: "note" }, "The host is still reading its store: these figures grow."));

/** Fills a view with what the host answers. */
export function filled(path, params, signal, draw) {
  const node = h("div", { class: "view" }, h("p", { class: "note" }, "Asking the host…"));
  const look = async () => {
    try {
      const page = await ask(path, params, signal);
      if (signal.aborted) return;
      show(node, unfinished(page), draw(page));
      if (!page.isComplete) setTimeout(look, 3000);
    } catch (error) {
      if (!signal.aborted) show(node, h("p", { class: "why" }, `It cannot be shown: ${error.message}`));
    }
  };
  look();
  return node;
}

export function claimsView(wanted, signal) {
  const isShort = ["1h", "24h"].includes(wanted.get("since"));
  const by = wanted.get("by") ?? (isShort ? "hour" : "day");
  const top = narrowing("failures", wanted);
  return [
    h("div", { class: "head" }, h("h1", null, "Failure modes")),
    h("p", { class: "lead" }, "Each claim says ", h("q", null, "done"), ". A false claim is one that a check refused: revise or fail. What no check could decide, or nothing looked at, stands apart; it is no success."),
    top.node,
    filled("board/claims", { ...top.params, by }, signal, (page) => drawn(page, by, top)),
  ];
}

function drawn(page, by, { since }) {
  const [day, hour] = [new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }), new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", timeZone: "UTC" })];
  const points = gaps(page.overTime, page.bucketMs).map((at) => {
    const short = by === "hour" ? hour.format(at.atMs) : day.format(at.atMs);
    return [short, `${day.format(at.atMs)}${by === "hour" ? ` ${short}` : ""} UTC`, at];
  });
  return [
    h("section", { class: "charts" }, h("h2", { class: "unseen" }, "Over time"),
      columns("Claims over time", `What came of claims, by ${by} (UTC).`, "claims", SERIES, points.map(([label, long, at]) => [label, long, [at.passed, at.refused, at.unsettled, at.unchecked]])),
      line("False claims over time", "Claims that a check refused, as a share of the claims that were decided.", points.map(([label, long, at]) => [label, long, at.refused, at.refused + at.passed]), "decided claims were false")),
    h("section", null, h("h2", null, "By kind of delegate"), delegates(page.delegates, since)),
    h("section", null, h("h2", null, "Attempts until verified"), h("div", { class: "small" }, page.delegates.filter((it) => it.outcomes.verified).slice(0, DRAWN).map(histogram))),
    h("section", null, h("h2", null, "Most frequent codes"), refusals(page.refusals, since)),
    h("section", null, h("h2", null, "Most frequent reasons"), reasons(page.reasons, page.hasContent)),
  ];
}

/** The pieces of time between those that something happened in, too. */
function gaps(overTime, bucketMs) {
  if (!overTime.length) return [];
  const known = new Map(overTime.map((at) => [at.atMs, at]));
  const last = overTime.at(-1).atMs;
  const first = Math.max(overTime[0].atMs, last - bucketMs * 119);
  const all = [];
  for (let atMs = first; atMs <= last; atMs += bucketMs) all.push(known.get(atMs) ?? { atMs, passed: 0, refused: 0, unsettled: 0, unchecked: 0 });
  return all;
}

function delegates(all, since) {
  if (!all.length) return h("p", { class: "note" }, "No runs in that time.");
  const head = ["Delegate", "Runs", "Verified", "First claim true", "False claims", "Undecided", "Waived", "Tokens per run"];
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "By kind of delegate" }, h("table", { class: "figures-table" },
    h("thead", null, h("tr", null, head.map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, all.map((it) => {
      const ended = it.runs - (it.outcomes.open ?? 0) - (it.outcomes.escalated ?? 0);
      const verified = it.outcomes.verified ?? 0;
      const first = it.attemptsToVerify["1"] ?? 0;
      const decided = it.passed + it.refused;
      return h("tr", null, h("th", { scope: "row" }, h("a", { href: `#/failures?since=${since}&delegate=${encodeURIComponent(it.delegate)}` }, it.delegate)),
        h("td", { class: "number" }, h("a", { href: listOf({ delegate: it.delegate, since: since === "all" ? "" : since }) }, count(it.runs))),
        h("td", null, meter(verified, ended, "verified", share(verified, ended))),
        h("td", { class: "number" }, share(first, ended)),
        h("td", null, meter(it.refused, decided, "refused", share(it.refused, decided))),
        h("td", { class: "number" }, count(it.unsettled + it.unchecked)), h("td", { class: "number" }, count(it.waived)),
        h("td", { class: "number" }, it.runs && it.tokens ? count(Math.round(it.tokens / it.runs)) : "–"));
    }))));
}

function histogram(it) {
  const most = Math.max(...Object.keys(it.attemptsToVerify).map(Number), 3);
  const points = Array.from({ length: Math.min(most, 20) }, (_, at) => [`${at + 1}`, many(at + 1, "attempt"), [it.attemptsToVerify[at + 1] ?? 0]]);
  return columns(it.delegate, `${many(it.outcomes.verified, "verified run")}`, "runs", [["verified", "verified runs"]], points, 150);
}

function refusals(all, since) {
  if (!all.length) return h("p", { class: "note" }, "Every claim passed, or there was none.");
  const most = Math.max(...all.map((it) => it.claims));
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Most frequent codes" }, h("table", { class: "figures-table" },
    h("thead", null, h("tr", null, ["Code", "Said", "Delegate", "Claims", "Runs", "Last", "In run"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, all.slice(0, 30).map((it) => h("tr", null,
      h("th", { scope: "row" }, h("a", { href: listOf({ code: it.code, delegate: it.delegate, since: since === "all" ? "" : since }) }, h("code", null, it.code))),
      h("td", null, resultTag(it.judgement)), h("td", null, it.delegate),
      h("td", null, meter(it.claims, most, ["revise", "fail"].includes(it.judgement) ? "refused" : it.judgement === "unverified" ? "unchecked" : "unsettled", count(it.claims))), h("td", { class: "number" }, count(it.runs)), h("td", { class: "number" }, time(it.lastAtMs)),
      h("td", null, h("a", { href: `#/runs/${encodeURIComponent(it.lastRun)}` }, runName(it.lastRun))))))));
}

function reasons(all, hasContent) {
  if (!hasContent) return h("p", { class: "note" }, "Reasons are content: this key lacks the scope ", h("code", null, "content:read"), ".");
  const told = all.filter((it) => it.text).slice(0, 12);
  if (!told.length) return h("p", { class: "note" }, "No reasons in that time.");
  return h("ol", { class: "reasons" }, told.map((it) => h("li", null,
    h("p", { class: "line" }, resultTag(it.judgement), h("code", { class: "code" }, it.code), h("span", null, `${it.check} on ${it.delegate}, ${many(it.claims, "claim")} of ${many(it.runs, "run")}, last in `, h("a", { href: `#/runs/${encodeURIComponent(it.lastRun)}` }, runName(it.lastRun)))),
    h("pre", { tabindex: 0, "aria-label": "reason" }, it.text.length > 400 ? `${it.text.slice(0, 400)}…` : it.text))));
}


