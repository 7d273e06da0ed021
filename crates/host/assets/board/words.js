// The words of the design, one meaning each, with a shape that tells them apart without colour.

import { h, s } from "./dom.js";

/** Every outcome: its tone, its shape, what it means. Only one of them is a success. */
export const OUTCOMES = {
  verified: ["verified", "tick", "the checks passed on the real state of the world"],
  exhausted: ["refused", "square", "every attempt that was allowed was refused"],
  rejected: ["refused", "cross", "a check said that more attempts are of no use"],
  inconclusive: ["unsettled", "question", "the checks could not find out"],
  unverified: ["unchecked", "ring", "nothing checked it"],
  faulted: ["unsettled", "bang", "a check broke: there is no verdict"],
  delegate_failed: ["unsettled", "slash", "the delegate made no claim"],
  cancelled: ["unchecked", "dash", "somebody stopped it"],
  escalated: ["human", "hand", "it waits for a human"],
  open: ["open", "dots", "it goes on"],
  damaged: ["refused", "bang", "its log cannot be read"],
};

/** What a check or a verdict can say. A pass has not the sign of a verified run. */
export const RESULTS = {
  pass: ["pass", "check"], revise: ["refused", "square"], fail: ["refused", "cross"],
  inconclusive: ["unsettled", "question"], fault: ["unsettled", "bang"],
  unverified: ["unchecked", "ring"], not_applicable: ["unchecked", "dash"],
};

const SHAPES = {
  tick: () => [s("circle", { cx: 8, cy: 8, r: 7, class: "fill" }), s("path", { d: "M4.6 8.3l2.4 2.4 4.5-5", class: "cut" })],
  check: () => [s("circle", { cx: 8, cy: 8, r: 6.4, class: "line" }), s("path", { d: "M5 8.3l2.1 2.1 3.9-4.4", class: "line" })],
  square: () => [s("rect", { x: 2, y: 2, width: 12, height: 12, rx: 1.5, class: "line" }), s("path", { d: "M5 8h6", class: "line" })],
  cross: () => [s("path", { d: "M3.2 3.2l9.6 9.6M12.8 3.2l-9.6 9.6", class: "line thick" })],
  question: () => [s("path", { d: "M8 1l7 7-7 7-7-7z", class: "line" }), s("path", { d: "M6.4 6.6c0-2 3.2-2 3.2 0 0 1.2-1.6 1.3-1.6 2.6M8 11.2v.1", class: "line" })],
  ring: () => [s("circle", { cx: 8, cy: 8, r: 6, class: "line dashed" })],
  bang: () => [s("path", { d: "M8 1.6l6.8 12.2H1.2z", class: "line" }), s("path", { d: "M8 6v4M8 11.8v.1", class: "line" })],
  slash: () => [s("circle", { cx: 8, cy: 8, r: 6, class: "line" }), s("path", { d: "M4 12l8-8", class: "line" })],
  dash: () => [s("path", { d: "M3 8h10", class: "line thick" })],
  hand: () => [s("circle", { cx: 8, cy: 5, r: 3, class: "line" }), s("path", { d: "M2.5 14.5c.6-3.6 2.6-5 5.5-5s4.9 1.4 5.5 5", class: "line" })],
  dots: () => [2.5, 8, 13.5].map((cx) => s("circle", { cx, cy: 8, r: 1.7, class: "fill" })),
};

export function glyph(shape, tone) {
  return s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, class: `glyph tone-${tone}`, "aria-hidden": "true" }, SHAPES[shape]());
}

export const spoken = (word) => String(word ?? "").replaceAll("_", " ");

/** The word under which a run stands in lists: its outcome, or that it goes on. */
export const endOf = (run) => (run.stage === "damaged" ? "damaged" : run.outcome ?? "open");

/** An outcome as people read it: whether it is verified comes first, in words. */
export function outcomeTag(run, isLarge = false) {
  const end = endOf(run);
  const [tone, shape, means] = OUTCOMES[end] ?? OUTCOMES.open;
  const [word, more] = end === "verified" ? ["VERIFIED", ""]
    : end === "open" ? ["OPEN", spoken(run.stage)]
    : ["NOT VERIFIED", spoken(end)];
  return h("span", { class: `tag tone-${tone}${isLarge ? " large" : ""}`, title: means },
    glyph(shape, tone), h("b", null, word), more ? h("span", { class: "more" }, more) : null,
    run.waived && end !== "verified" ? h("span", { class: "waived", title: "a named human answers for it" }, "waived") : null);
}

/** What a check or a verdict said. A pass of one check is no success of the run. */
export function resultTag(result) {
  const [tone, shape] = RESULTS[result] ?? RESULTS.not_applicable;
  return h("span", { class: `tag tone-${tone}` }, glyph(shape, tone), h("b", null, spoken(result).toUpperCase()));
}

/** Claims that were spent and allowed, as marks and as numbers. */
export function attempts(run) {
  const allowed = Math.min(run.maxAttempts, 10);
  const marks = Array.from({ length: allowed }, (_, at) => h("i", { class: at < run.attempts ? "spent" : "" }));
  return h("span", { class: "attempts" }, h("span", { class: "pips", "aria-hidden": "true" }, marks), `${run.attempts} of ${run.maxAttempts}`);
}
