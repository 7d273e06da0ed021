// Drift: how far the world departed from what was claimed.

import { columns } from "./chart.js";
import { filled, narrowing } from "./claims.js";
import { brief, count, h, runName, share, time } from "./dom.js";
import { listOf } from "./runs.js";
import { resultTag, spoken } from "./words.js";

export function driftView(wanted, signal) {
  const top = narrowing("drift", wanted);
  return [
    h("div", { class: "head" }, h("h1", null, "Drift")),
    h("p", { class: "lead" }, "A verdict that is no pass carries drift: ", h("b", { class: "drift-yellow" }, "yellow"), " where the world is not as claimed or did not say, ", h("b", { class: "drift-red" }, "red"),
      " where it did not answer in time or a check broke. The same code again and again is a mode, not an accident."),
    top.node,
    filled("board/drift", top.params, signal, (page) => drawn(page, top.since)),
  ];
}

function drawn({ drifts, decisions, verdicts, verdictsOfAll }, since) {
  const codes = new Map();
  for (const it of drifts) {
    const of = codes.get(it.code) ?? [0, 0];
    of[it.drift === "red" ? 1 : 0] += it.verdicts;
    codes.set(it.code, of);
  }
  const points = [...codes].sort(([, a], [, b]) => b[0] + b[1] - a[0] - a[1]).slice(0, 10).map(([code, values]) => [code.length > 13 ? `${code.slice(0, 12)}…` : code, code, values]);
  const named = since === "all" ? "" : since;
  return [
    h("dl", { class: "numbers" },
      h("div", null, h("dt", null, "verdicts with drift"), h("dd", null, h("b", null, share(verdicts, verdictsOfAll)), h("small", null, `${count(verdicts)} of ${count(verdictsOfAll)}`))),
      h("div", null, h("dt", null, "red"), h("dd", null, h("b", null, count(drifts.reduce((sum, it) => sum + (it.drift === "red" ? it.verdicts : 0), 0))), h("small", null, "no answer in time, or a check broke"))),
      h("div", null, h("dt", null, "yellow"), h("dd", null, h("b", null, count(drifts.reduce((sum, it) => sum + (it.drift === "yellow" ? it.verdicts : 0), 0))), h("small", null, "the world is not as claimed, or did not say")))),
    points.length ? h("section", null, h("h2", { class: "unseen" }, "By code"), columns("Drift by code", "The ten most frequent codes.", "verdicts", [["unsettled", "yellow"], ["refused", "red"]], points)) : null,
    h("section", null, h("h2", null, "Where it comes from"), drifts.length ? table(drifts, named) : h("p", { class: "note" }, "No drift in that time.")),
    h("section", null, h("h2", null, "Decisions under an envelope"),
      decisions.length ? envelopes(decisions) : h("p", { class: "note" }, "No run of that time ran under an envelope, so there are no episodes."),
      h("p", { class: "note" }, "Each sealed run under an envelope has an episode: ", h("code", null, "probity episode export RUN"), ". Fingerprints, recurrence and recommended patches are told by ", h("code", null, "probity drift list"), "; signals that were found after a run ended are not in its log and not in these figures.")),
  ];
}

function table(drifts, since) {
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Drift" }, h("table", { class: "figures-table" },
    h("thead", null, h("tr", null, ["Drift", "Code", "Said", "Delegate", "Verdicts", "Runs", "First", "Last", "In run"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, drifts.map((it) => h("tr", null,
      h("td", null, h("b", { class: `drift-${it.drift}` }, it.drift)),
      h("th", { scope: "row" }, h("a", { href: listOf({ code: it.code, delegate: it.delegate, since }) }, h("code", null, it.code))),
      h("td", null, resultTag(it.judgement)), h("td", null, it.delegate), h("td", { class: "number" }, count(it.verdicts)), h("td", { class: "number" }, count(it.runs)),
      h("td", { class: "number" }, time(it.firstAtMs)), h("td", { class: "number" }, time(it.lastAtMs)),
      h("td", null, h("a", { href: `#/runs/${encodeURIComponent(it.lastRun)}` }, runName(it.lastRun))))))));
}

function envelopes(decisions) {
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Envelopes" }, h("table", { class: "figures-table" },
    h("thead", null, h("tr", null, ["Envelope", "Runs", "Episodes", "Outcomes", "Last", "In run"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", null, decisions.map((it) => h("tr", null, h("th", { scope: "row" }, brief(it.envelopeDigest)), h("td", { class: "number" }, count(it.runs)), h("td", { class: "number" }, count(it.sealed)),
      h("td", null, Object.entries(it.outcomes).map(([word, runs]) => `${spoken(word)} ${count(runs)}`).join(", ")), h("td", { class: "number" }, time(it.lastAtMs)),
      h("td", null, h("a", { href: `#/runs/${encodeURIComponent(it.lastRun)}` }, runName(it.lastRun))))))));
}
