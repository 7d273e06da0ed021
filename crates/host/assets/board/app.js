// The page: who looks, at which view, since when. Views come and go; each ends what it began.

import { forget, keep, key, Refusal, tryKey, whenRefused } from "./ask.js";
import { sharedPatterns } from "./chart.js";
import { checksView } from "./checks.js";
import { claimsView } from "./claims.js";
import { button, h, say, show } from "./dom.js";
import { driftView } from "./drift.js";
import { runView } from "./run.js";
import { runsView } from "./runs.js";

const VIEWS = [
  ["runs", "Runs", runsView],
  ["failures", "Failure modes", claimsView],
  ["drift", "Drift", driftView],
  ["checks", "Checks", checksView],
];
const THEMES = ["auto", "light", "dark"];
const THEME = "probity.theme";

const main = document.getElementById("main");
let ending = null;

/** What the address says: a view, a run, and what is wanted of it. The key is never in it. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return { view: view || "runs", name: rest.length ? decoded(rest.join("/")) : null, wanted: new URLSearchParams(query ?? "") };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function open() {
  ending?.abort();
  if (!key()) return void signIn();
  ending = new AbortController();
  const { view, name, wanted } = place();
  const [word, title, make] = VIEWS.find(([known]) => known === view) ?? VIEWS[0];
  navigate(word);
  document.title = `${name ? "Run" : title} · Probity`;
  show(main, name && word === "runs" ? runView(name, ending.signal) : make(wanted, ending.signal));
}

function navigate(current) {
  const views = document.getElementById("views");
  views.hidden = false;
  document.getElementById("tools").hidden = false;
  show(views, VIEWS.map(([word, title]) =>
    h("a", { href: `#/${word}`, "aria-current": word === current ? "page" : null }, title)));
}

function tools() {
  const theme = () => localStorage.getItem(THEME) ?? "auto";
  const change = button("", () => {
    localStorage.setItem(THEME, THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
    dress();
    say(`Colours: ${theme()}`);
  }, { class: "quiet", title: "Light, dark, or as the system says" });
  const dress = () => {
    document.documentElement.dataset.theme = theme();
    change.textContent = `Colours: ${theme()}`;
  };
  dress();
  const leave = button("Forget key", () => { forget(); signIn("The key is forgotten."); }, { class: "quiet" });
  show(document.getElementById("tools"), change, leave);
}

function signIn(said) {
  ending?.abort();
  document.title = "Probity";
  document.getElementById("views").hidden = true;
  const why = h("p", { class: "why", role: "alert" }, said ?? "");
  const field = h("input", { id: "key", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "keyhint" });
  const enter = async (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text) return;
    show(why, "Asking the host…");
    try {
      await tryKey(text);
      keep(text);
      field.value = "";
      open();
      main.focus();
    } catch (error) {
      show(why, error instanceof Refusal && error.status === 401 ? "That key is not known here." : `It did not work: ${error.message}`);
      field.select();
    }
  };
  show(main, h("form", { class: "signin", onsubmit: enter },
    h("h1", null, "What was claimed, and what was true."),
    h("p", { id: "keyhint" }, "Enter an API key of this host with the scope ", h("code", null, "runs:read"), ". With ",
      h("code", null, "content:read"), " tasks, claims and reasons are shown in words. The key stays in this tab until you close it."),
    h("label", { for: "key" }, "API key"),
    h("div", { class: "row" }, field, h("button", { type: "submit", class: "primary" }, "Look")), why));
  field.focus();
}

whenRefused(() => { forget(); signIn("The host does not take this key any more."); });
document.body.append(sharedPatterns());
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
tools();
addEventListener("hashchange", () => { open(); main.focus({ preventScroll: true }); scrollTo(0, 0); });
open();
