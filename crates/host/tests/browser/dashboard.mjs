// The dashboard in a browser: see README.md.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";

const env = process.env;
const root = resolve(import.meta.dirname, "../../../..");
const require = createRequire(join(resolve(env.PACKAGES ?? import.meta.dirname), "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const probity = env.PROBITY ?? join(root, "target/debug/probity");
const filler = env.BOARD_STORE ?? join(root, "target/debug/examples/board_store");
const runs = Number(env.RUNS ?? 10_000);
const [KEY, BLIND] = ["look-at-everything", "look-at-rows"];
const folder = mkdtempSync(join(tmpdir(), "board-"));
const figures = {};
const shots = env.SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const step = (text) => console.log(`- ${text}`);

/** A store, and a host on it. */
async function host() {
  const store = env.STORE ?? join(folder, "runs.db");
  if (!existsSync(store)) execFileSync(filler, [store, String(runs)], { stdio: "inherit" });
  const keys = join(folder, "keys.toml");
  const { writeFileSync } = await import("node:fs");
  writeFileSync(keys, `[[key]]\nkey_env = "ALL_KEY"\n[[key]]\nkey_env = "BLIND_KEY"\nprincipal = "blind"\nscopes = ["runs:read"]\n`, { mode: 0o600 });
  const work = join(folder, "work");
  mkdirSync(work);
  const child = spawn(probity, ["serve", "--store", `sqlite:${store}`, "--addr", "127.0.0.1:0", "--keys", keys, "--workspace-root", work, "--json"], {
    env: { ...env, ALL_KEY: KEY, BLIND_KEY: BLIND, HOME: folder }, stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const told = JSON.parse(line);
    if (told.event === "listening") {
      child.stdout.resume();
      return { url: told.url, dashboard: told.dashboard, work, child };
    }
  }
  throw new Error("the host does not listen");
}

const api = (base, path, init = {}, key = KEY) => fetch(`${base}/api/v1/${path}`, { ...init, headers: { authorization: `Bearer ${key}`, ...init.headers } });

/** The index has every run. */
async function filled(base) {
  const begin = performance.now();
  for (;;) {
    const page = await (await api(base, "board/runs?limit=1")).json();
    if (page.isComplete) break;
    await new Promise((done) => setTimeout(done, 100));
  }
  figures.index_filled_ms = Math.round(performance.now() - begin);
}

/** How long the host takes for each question, in the middle of 15. */
async function timed(base) {
  const since = Date.now() - 7 * 86_400_000;
  for (const path of ["board/runs", "board/runs?outcome=not_verified&delegate=codex", "board/runs?q=backup", "board/claims", `board/claims?since=${since}`, "board/drift", "board/checks", "board/runs/xss-probe"]) {
    const times = [];
    for (let at = 0; at < 15; at += 1) {
      const begin = performance.now();
      const answer = await api(base, path);
      await answer.arrayBuffer();
      assert.equal(answer.status, 200, path);
      times.push(performance.now() - begin);
    }
    figures[`${path.replace(/since=\d+/, "since=7d")}, median ms`] = Number(times.sort((a, b) => a - b)[7].toFixed(1));
  }
}

/** A page that fails on whatever a browser complains about. */
async function opened(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) complaints.push(message.text()); });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => { if (/look-at/.test(request.url())) complaints.push(`a key in ${request.url()}`); });
  await page.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
  });
  const clean = async () => {
    assert.deepEqual(await page.evaluate(() => globalThis.violations), []);
    assert.deepEqual(complaints, []);
  };
  return { context, page, complaints, clean };
}

async function signIn(page, dashboard, key = KEY) {
  await page.goto(dashboard);
  await page.getByLabel("API key").fill(key);
  await page.keyboard.press("Enter");
  await page.locator("table.runs tbody tr").first().waitFor();
}

async function accessible(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter((it) => ["serious", "critical"].includes(it.impact));
  assert.deepEqual(bad.map((it) => [it.id, it.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary?.slice(0, 200)}`)]), [], where);
  return violations.map((it) => `${it.id} (${it.impact})`);
}

const shot = async (page, name, options) => { if (shots) await page.screenshot({ path: join(shots, `${name}.png`), ...options }); };
const drawn = (page) => page.locator("figure.chart").first().waitFor();

async function looks(browser, { dashboard }) {
  const { page, context, clean } = await opened(browser);
  let bytes = 0;
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  session.on("Network.loadingFinished", (event) => { bytes += event.encodedDataLength; });
  await page.goto(dashboard);
  await page.getByLabel("API key").fill("wrong");
  await page.keyboard.press("Enter");
  await page.getByText("That key is not known here.").waitFor();
  await page.context().close();
  step("a wrong key is refused in words");

  const second = await opened(browser);
  const begin = performance.now();
  const cdp = await second.context.newCDPSession(second.page);
  await cdp.send("Network.enable");
  bytes = 0;
  cdp.on("Network.loadingFinished", (event) => { bytes += event.encodedDataLength; });
  await signIn(second.page, dashboard);
  figures.first_look_ms = Math.round(performance.now() - begin);
  figures.first_look_bytes = bytes;
  const store = await second.page.evaluate(() => [location.href, document.cookie, JSON.stringify(localStorage), Object.keys(sessionStorage)]);
  assert.ok(!store.slice(0, 3).some((it) => it.includes(KEY)) && store[1] === "", String(store));
  assert.deepEqual(store[3], ["probity.key"]);
  step("the key is in the session of the tab and nowhere else");
  return second;
}

async function lists(page) {
  const total = async () => Number((await page.locator(".numbers dd b").first().textContent()).replaceAll(",", ""));
  const all = await total();
  assert.ok(all >= runs, `${all}`);
  await page.locator("select[name=outcome]").selectOption("exhausted");
  await page.waitForURL(/outcome=exhausted/);
  await page.locator("table.runs tbody tr").first().waitFor();
  const words = await page.locator("table.runs .outcome").allTextContents();
  assert.ok(words.length > 10 && words.every((it) => it.includes("NOT VERIFIED") && it.includes("exhausted")), String(words));
  await page.locator("select[name=delegate]").selectOption("codex");
  await page.waitForURL(/delegate=codex/);
  await page.locator("table.runs tbody tr").first().waitFor();
  const less = await total();
  assert.ok(less > 0 && less < all);
  const first = await page.locator("table.runs .which a").first().getAttribute("href");
  await page.getByRole("button", { name: "Older" }).click();
  await page.getByText("Page 2").waitFor();
  assert.notEqual(await page.locator("table.runs .which a").first().getAttribute("href"), first);
  await page.getByRole("link", { name: "Show all" }).click();
  await page.locator("input[name=q]").fill("backup.dump");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=backup/);
  await page.locator("table.runs .title", { hasText: "backup.dump" }).first().waitFor();
  const titles = await page.locator("table.runs .title").allTextContents();
  assert.ok(titles.length === 50 && titles.every((it) => it.includes("backup.dump")), String(titles));
  step("the list is narrowed, turned and searched");
}

/** Verified is the only word in its colour, and no other looks like it. */
async function nothingLooksLikeSuccess(page, dashboard) {
  await page.goto(`${dashboard}#/runs`);
  await page.locator("table.runs tbody tr").first().waitFor();
  const tags = await page.evaluate(() => [...document.querySelectorAll("table.runs .tag")].map((tag) => [tag.querySelector("b").textContent, getComputedStyle(tag).color]));
  const green = new Set(tags.filter(([word]) => word === "VERIFIED").map(([, colour]) => colour));
  assert.equal(green.size, 1);
  for (const [word, colour] of tags) if (word !== "VERIFIED") assert.ok(!green.has(colour), word);
}

async function markup(page, dashboard) {
  await page.goto(`${dashboard}#/runs/xss-probe`);
  await page.locator(".kind-claim pre").first().waitFor();
  assert.ok((await page.locator(".kind-claim pre").first().textContent()).includes("<script>window.pwned = 1</script>"));
  assert.ok((await page.locator(".task").textContent()).includes("<script>"));
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  assert.equal(await page.locator("main script, main img").count(), 0);
  await page.goto(`${dashboard}#/runs`);
  await page.locator("table.runs .title", { hasText: "<script>" }).first().waitFor();
  assert.equal(await page.evaluate(() => globalThis.pwned), undefined);
  step("claimed markup is text");
}

/** A run is left for the worker of the host, opened, and looked at until its seal, across a break. */
async function live(page, { url, dashboard, work }) {
  const script = "sleep 3; if [ -f tried ]; then touch out.txt; fi; touch tried; echo done";
  const body = { task: "create out.txt, slowly", kind: "slow", command: ["sh", "-c", script], workspace: work, expect: ["file:out.txt"] };
  const answer = await api(url, "delegations", { method: "POST", body: JSON.stringify(body) });
  assert.equal(answer.status, 201, await answer.clone().text());
  const { runId } = await answer.json();
  await page.goto(`${dashboard}#/runs`);
  await page.locator(`table.runs a[href$="${runId}"]`).waitFor();
  step("a run that begins appears in the list by itself");
  const row = page.locator("tr", { has: page.locator(`a[href$="${runId}"]`) });
  await page.locator(`table.runs a[href$="${runId}"]`).focus();
  await page.keyboard.press("Enter");
  await page.locator(".summary .tag b", { hasText: "OPEN" }).waitFor();
  await page.locator(".kind-verdict").first().waitFor({ timeout: 20_000 });
  assert.ok((await page.locator(".kind-verdict").first().textContent()).includes("REVISE"));
  await page.context().setOffline(true);
  await page.context().setOffline(false);
  await page.locator(".kind-seal").waitFor({ timeout: 30_000 });
  await page.locator(".summary .tag b", { hasText: /^VERIFIED$/ }).waitFor();
  const said = await page.locator("#said").textContent();
  assert.equal(await page.locator(".kind-claim").count(), 2);
  step(`a run is followed to its seal (${said})`);
  await page.goto(`${dashboard}#/runs`);
  await row.locator(".tag b", { hasText: /^VERIFIED$/ }).waitFor();
  return runId;
}

async function charts(page, dashboard) {
  for (const [view, marks] of [["failures", 20], ["drift", 3], ["checks", 3]]) {
    await page.goto(`${dashboard}#/${view}?since=all`);
    await drawn(page);
    const count = await page.locator("figure.chart .mark").count();
    assert.ok(count >= marks, `${view}: ${count}`);
    const stage = page.locator("figure.chart .stage").first();
    await stage.focus();
    await page.keyboard.press("End");
    const reading = await page.locator("figure.chart .reading").first().textContent();
    assert.match(reading, /\d/, view);
    await page.locator("figure.chart .values summary").first().click();
    assert.ok((await page.locator("figure.chart .values tbody tr").count()) > 0);
    await page.locator("figure.chart .values summary").first().click();
  }
  step("charts are drawn, read by keyboard, and told as tables");
}

async function blind(browser, { dashboard }) {
  const { page, context, clean } = await opened(browser);
  await signIn(page, dashboard, BLIND);
  assert.equal(await page.locator("table.runs .title").count(), 0);
  await page.goto(`${dashboard}#/runs/xss-probe`);
  await page.locator(".kind-seal").waitFor();
  await page.getByText("content:read").first().waitFor();
  assert.equal(await page.locator("main pre").count(), 0);
  await page.goto(`${dashboard}#/failures?since=all`);
  await drawn(page);
  assert.equal(await page.locator(".reasons").count(), 0);
  await clean();
  await context.close();
  step("a key without content sees none");
}

async function everywhere(browser, { dashboard }, runId) {
  const notes = new Set();
  for (const [name, options] of Object.entries({
    light: { colorScheme: "light" },
    dark: { colorScheme: "dark" },
    narrow: { colorScheme: "light", viewport: { width: 360, height: 780 }, reducedMotion: "reduce" },
  })) {
    const { page, context, complaints, clean } = await opened(browser, { ...options, bypassCSP: true });
    await page.goto(dashboard);
    await page.getByLabel("API key").waitFor();
    await accessible(page, `${name}: key`);
    await shot(page, `${name}-key`);
    await signIn(page, dashboard);
    for (const [view, wait] of [["runs", "table.runs tbody tr"], ["runs/xss-probe", ".kind-seal"], [`runs/${runId}`, ".kind-seal"], ["failures?since=all", "figure.chart"], ["drift?since=all", "figure.chart"], ["checks?since=all", "figure.chart"]]) {
      await page.goto(`${dashboard}#/${view}`);
      await page.locator(wait).first().waitFor();
      await page.waitForTimeout(150);
      for (const note of await accessible(page, `${name}: ${view}`)) notes.add(note);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name}: ${view} is ${wide} pixels too wide`);
      const file = view.startsWith("runs/") ? (view === "runs/xss-probe" ? "markup" : "run") : view.replace(/\?.*/, "");
      await shot(page, `${name}-${file}`, { fullPage: env.FULL === "1" });
    }
    assert.deepEqual(complaints, []);
    await context.close();
  }
  figures.axe_minor = [...notes];
  step("nothing serious for axe, in light, in dark, and narrow");
}

async function keyboard(browser, { dashboard }) {
  const { page, context, clean } = await opened(browser);
  await signIn(page, dashboard);
  await page.goto(`${dashboard}#/runs`);
  await page.reload();
  await page.locator("table.runs tbody tr").first().waitFor();
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
  const seen = new Set();
  for (let at = 0; at < 40; at += 1) {
    await page.keyboard.press("Tab");
    const told = await page.evaluate(() => {
      const it = document.activeElement;
      const { outlineStyle, outlineWidth } = getComputedStyle(it);
      return [it.tagName, it.name ?? "", outlineStyle !== "none" && parseFloat(outlineWidth) > 0 || it.tagName === "BODY"];
    });
    assert.ok(told[2], `no focus to be seen on ${told}`);
    seen.add(`${told[0]} ${told[1]}`);
  }
  for (const wanted of ["INPUT q", "SELECT outcome", "SELECT delegate"]) assert.ok(seen.has(wanted), [...seen].join());
  await clean();
  await context.close();
  step("all of it is reached by keyboard, and focus is seen");
}

const served = await host();
const browser = await chromium.launch({ executablePath: env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
  await filled(served.url);
  await timed(served.url);
  const { page, context, complaints } = await looks(browser, served);
  complaints.length = 0;
  await lists(page);
  await nothingLooksLikeSuccess(page, served.dashboard);
  await markup(page, served.dashboard);
  const runId = await live(page, served);
  await charts(page, served.dashboard);
  assert.deepEqual(await page.evaluate(() => globalThis.violations), []);
  const offline = /ERR_(INTERNET_DISCONNECTED|NETWORK_CHANGED|FAILED)/;
  assert.deepEqual(complaints.filter((it) => !offline.test(it)), []);
  await context.close();
  await blind(browser, served);
  await keyboard(browser, served);
  await everywhere(browser, served, runId);
  console.log(JSON.stringify(figures, null, 2));
} finally {
  await browser.close();
  served.child.kill("SIGTERM");
}
