// How good the checks are: a check that cannot fail is none.

import { meter, ranges } from "./chart.js";
import { filled, narrowing } from "./claims.js";
import { count, h, share, span } from "./dom.js";

const RED = { discriminating: "can fail", non_discriminating: "passed before anything was done", not_assessed: "not assessed", exempt: "exempt" };

export function checksView(wanted, signal) {
  const top = narrowing("checks", wanted);
  return [
    h("div", { class: "head" }, h("h1", null, "Checks")),
    h("p", { class: "lead" }, "A check is worth as much as it can say no. It is ", h("b", null, "discriminating"), " in a run that it let through if it had said something else before, be it before the delegate began."),
    top.node,
    filled("board/checks", top.params, signal, drawn),
  ];
}

function drawn({ checks, isCut }) {
  if (!checks.length) return h("p", { class: "note" }, "No check looked at anything in that time.");
  const timed = checks.filter((it) => it.timed).slice(0, 20).map((it) => [it.check, it.p50Ms, it.p99Ms, it.maxMs]);
  return [
    isCut ? h("p", { class: "note" }, "There are more findings than are looked at: the oldest are left out.") : null,
    h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Checks by kind" }, h("table", { class: "figures-table" },
      h("thead", null, h("tr", null, ["Check", "Looks at", "Runs", "Let through", "Discriminating", "Before the start", "False claims found", "Inconclusive", "Faults"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", null, checks.map(row)))),
    timed.length ? h("section", null, h("h2", { class: "unseen" }, "Time"), ranges("How long checks take", "Dot: half of them. Bar: 99 of 100. Thin line: the slowest.", timed, span)) : null,
  ];
}

function row(it) {
  const said = (word) => it.results[word] ?? 0;
  const all = Object.values(it.results).reduce((sum, value) => sum + value, 0);
  const constant = it.redFirst.non_discriminating ?? 0;
  return h("tr", null,
    h("th", { scope: "row" }, h("code", null, it.check)), h("td", null, it.subject), h("td", { class: "number" }, count(it.runs)),
    h("td", { class: "number" }, count(it.passedAtLast)),
    h("td", null, meter(it.discriminating, it.passedAtLast, "open", share(it.discriminating, it.passedAtLast))),
    h("td", { class: "list" }, Object.entries(RED).filter(([word]) => it.redFirst[word]).map(([word, text]) => h("span", { class: word === "non_discriminating" && constant ? "warn" : "" }, `${count(it.redFirst[word])} ${text}`))),
    h("td", { class: "number" }, count(said("revise") + said("fail"))),
    h("td", { class: "number" }, share(said("inconclusive"), all)), h("td", { class: "number" }, said("fault") ? h("b", { class: "warn" }, `${count(said("fault"))} (${share(said("fault"), all)})`) : "0"));
}
