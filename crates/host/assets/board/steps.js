// One thing that happened in a run, as people read it.

import { brief, count, h, many, span, time } from "./dom.js";
import { glyph, OUTCOMES, resultTag, RESULTS, spoken } from "./words.js";

const RED = {
  discriminating: "it said no before anything was done: a later pass means something",
  non_discriminating: "it passed before anything was done: a later pass proves nothing",
  not_assessed: "it could not be tried before the delegate began",
  exempt: "it looks at the claim, so there was nothing to look at yet",
};
/** What is said in words, of which long ones are folded. */
const LONG_CHARS = 600;

/** What stands at the head of each kind of step: its words, its tone, its shape. */
function head({ kind, facts: f }) {
  switch (kind) {
    case "opened": return ["Opened", `${many(f.checks ?? 0, "check")} declared`, "plain", "dots"];
    case "lease": return ["Taken up", `by worker ${f.worker}`, "plain", "dots"];
    case "resumed": return ["Taken up again", `after an interruption; ${f.interruptions} so far, none is an attempt`, "unsettled", "bang"];
    case "unreadable": return ["The workspace could not be read", f.code, "unsettled", "bang"];
    case "red": return [[h("code", null, f.check), " before the delegate began"], RED[f.discrimination], ...tone(f.result)];
    case "prompt": return [`Prompt of attempt ${f.attempt}`, f.step ? `fallback ${JSON.stringify(f.step)}` : "", "open", "dots"];
    case "correction": return [`Correction, for attempt ${f.attempt}`, f.checks?.length ? `sent back by ${f.checks.join(", ")}` : "sent back", "open", "dots"];
    case "claim": return ["Claim", "what the delegate says it did; nothing of it is believed", "plain", "ring"];
    case "check": return [[h("code", null, f.check), " looked"], f.rewrote ? "and put another claim in its place" : "", ...tone(f.result)];
    case "verdict": return ["Verdict", f.counted ? `charged; ${many(f.attempts, "attempt")} so far` : "not charged to the delegate", ...tone(f.judgement)];
    case "hook": return [["Hook ", h("code", null, f.hook)], spoken(f.action), "unsettled", "bang"];
    case "degraded": return ["Fell back", `${spoken(f.trigger)}: ${JSON.stringify(f.step)}`, "unsettled", "dash"];
    case "noted": return [many(f.count, "note"), "of what need not be done again after a crash", "plain", "dots"];
    case "parked": return ["Waits", f.untilMs ? "for a time" : "for an answer", "human", "hand"];
    case "woken": return ["Goes on", "", "human", "hand"];
    case "asked": return [["A human is asked by ", h("code", null, f.check)], "", "human", "hand"];
    case "escalated": return ["Waits for a human", `it would have ended as ${spoken(f.outcome)}`, "human", "hand"];
    case "answered": return ["A human answered", spoken(f.answer?.decision), "human", "hand"];
    case "steered": return ["Somebody said something to the delegate", "", "human", "hand"];
    case "cancel": return ["Somebody asked it to stop", "", "unchecked", "dash"];
    case "failed": return ["The delegate made no claim", f.code, "unsettled", "slash"];
    case "outcome": return f.isSealed ? outcome("Outcome", f) : unsealed(f);
    case "seal": return outcome("Sealed", f);
    default: return [spoken(kind), "", "plain", "dots"];
  }
}

const tone = (result) => RESULTS[result] ?? RESULTS.not_applicable;

function outcome(word, f) {
  const [of, shape, means] = OUTCOMES[f.outcome] ?? OUTCOMES.open;
  const said = f.outcome === "verified" ? "VERIFIED" : `NOT VERIFIED: ${spoken(f.outcome)}`;
  return [[`${word}: `, h("b", null, said), f.waived ? " (waived)" : ""], word === "Sealed" ? "nothing can be added any more" : means, of, shape];
}

/** What was decided and may still not come to be: it has neither the word nor the colour of an outcome. */
function unsealed(f) {
  return [["Decided, not sealed: ", h("b", null, spoken(f.outcome)), f.waived ? " (waived)" : ""], "the record is not sealed yet, so nothing counts", "open", "dots"];
}

/** A step. `since` is when the run was opened. */
export function stepNode(step, since) {
  const [title, more, of, shape] = head(step);
  const said = step.facts.result ?? step.facts.judgement;
  return h("li", { class: `step kind-${step.kind} tone-${of}`, id: `record-${step.sequence}` },
    h("div", { class: "dot" }, glyph(shape, of === "plain" ? "unchecked" : of)),
    h("div", { class: "what" },
      h("p", { class: "line" }, h("b", null, title), said ? resultTag(said) : null, step.facts.code && step.kind !== "failed" ? h("code", { class: "code" }, step.facts.code) : null,
        h("span", { class: "when", title: new Date(step.atMs).toISOString() }, `+${span(step.atMs - since)}`)),
      more ? h("p", { class: "more" }, more) : null,
      facts(step), words(step), evidence(step)));
}

function facts({ facts: f, kind }) {
  const said = [];
  if (f.candidate) said.push(h("span", null, "candidate ", brief(f.candidate)));
  if (f.tokens) said.push(`${count(f.tokens)} tokens`);
  if (f.toolCalls) said.push(many(f.toolCalls, "tool call"));
  if (f.elapsedMs !== null && f.elapsedMs !== undefined) said.push(`took ${span(f.elapsedMs)}`);
  if (f.criteria?.length) said.push(`criteria ${f.criteria.join(", ")}`);
  if (f.confidenceBp !== null && f.confidenceBp !== undefined) said.push(`confidence ${f.confidenceBp / 100} %`);
  if (f.drift) said.push(h("b", { class: `drift-${f.drift}` }, `drift ${f.drift}`));
  if (f.flaky) said.push(h("b", null, "flaky: the same work was refused before"));
  if (f.repeats) said.push(`the same claim as number ${f.repeats}`);
  if (f.reused) said.push(`judged as claim ${f.reused} was; no check was run`);
  if (f.untilMs) said.push(h("span", null, "until ", time(f.untilMs)));
  if (!said.length || kind === "opened") return null;
  return h("p", { class: "facts" }, said.map((it) => h("span", null, it)));
}

function words({ texts }) {
  return (texts ?? []).map((text) => {
    const quote = h("pre", { tabindex: 0, "aria-label": text.label }, text.text, text.isCut ? "\n… (cut)" : "");
    const isLong = text.text.length > LONG_CHARS || text.label.startsWith("tool");
    return isLong ? h("details", { class: "said" }, h("summary", null, `${text.label}, ${count(text.text.length)} characters`), quote)
      : h("div", { class: "said" }, h("span", { class: "label" }, text.label), quote);
  });
}

function evidence({ evidence: all }) {
  if (!all?.length) return null;
  return h("details", { class: "evidence", open: all.length < 4 },
    h("summary", null, `Evidence: ${many(all.length, "thing")} observed`),
    h("dl", null, all.map((it) => [h("dt", null, it.source, it.span ? ` [${it.span.join("–")}]` : ""), h("dd", null, it.observed, it.digest ? [" ", brief(it.digest)] : null)])));
}
