// One run, from its first record to its seal; live while it goes on.

import { ask, fetchFile, follow, Refusal } from "./ask.js";
import { arrange, brief, button, count, h, many, runName, say, show, span, time } from "./dom.js";
import { stepNode } from "./steps.js";
import { attempts, OUTCOMES, outcomeTag, spoken } from "./words.js";

/** How often a run that goes on is asked for again at most, in milliseconds. */
const AGAIN_MS = 400;

export function runView(id, signal) {
  const live = h("span", { class: "live" });
  const summary = h("section", { class: "summary", "aria-label": "What it came to" }, h("p", null, "Asking the host…"));
  const line = h("div", { class: "timeline" });
  const kept = new Map();
  let [waiting, isFollowed] = [0, false];
  const look = async () => {
    waiting = 0;
    try {
      const told = await ask(`board/runs/${encodeURIComponent(id)}`, {}, signal);
      if (signal.aborted) return;
      summarise(summary, told, signal);
      timeline(line, told, kept);
      if (!told.run.isSealed && !isFollowed) watch(told.run.records - 1);
      if (told.run.isSealed) live.classList.remove("on");
    } catch (error) {
      if (!signal.aborted && !kept.size) show(summary, h("p", { class: "why" }, error instanceof Refusal && error.status === 404 ? "There is no such run, or it is not of this key's tenant." : `It cannot be shown: ${error.message}`));
    }
  };
  const later = () => { waiting ||= setTimeout(look, AGAIN_MS); };
  const watch = (from) => {
    isFollowed = true;
    follow(id, from, signal, (event) => { announce(event); later(); }, (state) => {
      live.classList.toggle("on", state === "live");
      live.textContent = { live: "live", waiting: "the stream broke; asking again", ended: "" }[state];
    }).then(() => { live.classList.remove("on"); live.textContent = ""; if (!signal.aborted) later(); });
  };
  signal.addEventListener("abort", () => clearTimeout(waiting));
  look();
  return [
    h("p", { class: "back" }, h("a", { href: "#/runs" }, "← Runs")),
    h("div", { class: "head" }, h("h1", null, "Run ", runName(id)), live), summary, line,
  ];
}

/** What those hear who do not look. */
function announce(event) {
  let it = null;
  try { it = JSON.parse(event.data).event; } catch { return; }
  if (event.type === "claim.received") say("The delegate made a claim.");
  if (event.type === "verdict.merged") say(`Verdict: ${spoken(it.judgement)}, ${spoken(it.code)}.`);
  if (event.type === "run.sealed") say(it.outcome === "verified" ? "Sealed: verified." : `Sealed: not verified, ${spoken(it.outcome)}.`);
}

function summarise(node, { run, mayMerge, waiver, hasContent, nowMs }, signal) {
  const isWaived = Boolean(waiver) || run.waived;
  const fact = (term, ...value) => h("div", null, h("dt", null, term), h("dd", null, ...value));
  const task = run.steps.find((step) => step.kind === "prompt")?.texts?.find((text) => text.label === "task")?.text;
  const means = OUTCOMES[run.outcome ?? "open"]?.[2];
  const merge = mayMerge.may ? (mayMerge.why === "waived" ? "yes, because somebody answers for it; it is NOT verified" : "yes: it is verified and sealed") : `no: ${spoken(mayMerge.why)}`;
  show(node,
    h("p", { class: "verdict" }, outcomeTag({ ...run, waived: isWaived }, true), run.code ? h("code", { class: "code" }, run.code) : null, h("span", { class: "means" }, means)),
    task ? h("p", { class: "task" }, task.length > 280 ? `${task.slice(0, 280)}…` : task) : null,
    waiver ? h("p", { class: "waiver" }, h("b", null, waiver.by), " answers for this run in spite of its outcome", waiver.principal ? ` (key of ${waiver.principal})` : "", waiver.reason ? [": ", h("q", null, waiver.reason)] : ".") : null,
    h("dl", { class: "grid" },
      fact("delegate", run.delegate), fact("attempts", attempts(run)), fact("may be merged", merge),
      fact("opened", time(run.openedAtMs, nowMs)), fact(run.isSealed ? "took" : "goes on for", span((run.isSealed ? run.changedAtMs : nowMs) - run.openedAtMs)),
      fact("records", count(run.records), run.isSealed ? ", sealed" : ", not sealed"), fact("last hash", brief(run.head)),
      run.tokens ? fact("tokens", count(run.tokens)) : null, run.interruptions ? fact("interruptions", count(run.interruptions), ", not charged") : null,
      run.parentId ? fact("part of", h("a", { href: `#/runs/${encodeURIComponent(run.parentId)}` }, runName(run.parentId))) : null,
      run.envelopeDigest ? fact("envelope", brief(run.envelopeDigest)) : null),
    weak(run), hasContent ? null : h("p", { class: "note" }, "Tasks, claims, reasons and evidence are content. This key may not read it: it lacks the scope ", h("code", null, "content:read"), "."),
    hasContent && run.isSealed ? button("Download the proof", (event) => download(run.runId, event.target, signal)) : null);
}

/** What a pass of this run is worth less for. */
function weak(run) {
  const constant = run.checks.filter((check) => check.discrimination === "non_discriminating");
  if (!constant.length) return null;
  return h("p", { class: "weak" }, `${many(constant.length, "check")} passed before anything was done, so a pass of it proves nothing here: `, constant.map((check) => [h("code", null, check.id), " "]));
}

/** The steps by attempt. Those that are known are kept, so that nothing that is open closes. */
function timeline(node, { run }, kept) {
  const parts = [["Before the delegate", []]];
  for (const step of run.steps) {
    if (step.kind === "prompt" || step.kind === "correction") parts.push([`Attempt ${step.facts.attempt}`, []]);
    if ((step.kind === "outcome" || step.kind === "escalated") && parts.at(-1)[0] !== "The end") parts.push(["The end", []]);
    parts.at(-1)[1].push(step);
  }
  const sections = parts.filter(([, steps]) => steps.length).map(([title, steps], at) => {
    const name = `${at} ${title}`;
    if (!kept.has(name)) {
      const list = h("ol");
      kept.set(name, { list, section: h("section", null, h("h2", null, title), list) });
    }
    const { list, section } = kept.get(name);
    arrange(list, steps.map((step) => {
      const text = JSON.stringify(step);
      const known = kept.get(step.sequence);
      if (known?.text === text) return known.node;
      const made = stepNode(step, run.openedAtMs);
      kept.set(step.sequence, { text, node: made });
      return made;
    }));
    return section;
  });
  if (run.isCut) sections.push(h("p", { class: "note" }, "There is more than is shown; the log has all of it."));
  if (!run.isSealed) sections.push(h("p", { class: "now" }, h("span", { class: "live on" }), ` now: ${spoken(run.stage)}`));
  arrange(node, sections);
}

async function download(id, from, signal) {
  from.disabled = true;
  try {
    const place = URL.createObjectURL(await fetchFile(`delegations/${encodeURIComponent(id)}/bundle`, signal));
    h("a", { href: place, download: `${id}.probity` }).click();
    setTimeout(() => URL.revokeObjectURL(place), 10_000);
    say("The proof is downloaded. Check it with probity audit.");
  } catch (error) {
    from.textContent = `It cannot be had: ${error.message}`;
  }
  from.disabled = false;
}
