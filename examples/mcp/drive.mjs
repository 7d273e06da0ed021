// Drives `probity mcp` with the TypeScript SDK of the protocol: a lie is refused, a task is verified, the
// record is audited, a call is cancelled. In a temporary folder; nothing of yours is touched.
//
//   npm install && node drive.mjs          over standard streams
//   npm install && node drive.mjs http     over streamable HTTP, with a key
//
// PROBITY names the binary; without it the one on your PATH is started.
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const probity = process.env.PROBITY ?? "probity";
const folder = mkdtempSync(join(tmpdir(), "probity-mcp-"));
const workspace = join(folder, "workspace");
const key = "a key for this example";
const env = {
  ...process.env,
  XDG_STATE_HOME: join(folder, "state"),
  XDG_CONFIG_HOME: join(folder, "config"),
  PROBITY_API_KEY: key,
};

// What the operator configures: three agents under a name, and what must hold whoever works.
function configure() {
  const agent = (name, script) =>
    writeFileSync(
      join(workspace, `.probity/agents/${name}.md`),
      `---\nkind: ${name}\ncommand: [sh, -c, '${script}']\n---\nYou write short files.\n`,
    );
  mkdirSync(join(workspace, ".probity/agents"), { recursive: true });
  agent("liar", "cat > /dev/null; echo Done.");
  agent("mender", "if grep -q VERIFICATION; then echo hello > out.txt; fi; echo Done.");
  agent("sleeper", "cat > /dev/null; sleep 600; echo Done.");
  writeFileSync(
    join(workspace, ".probity/probity.toml"),
    'expect = [{ file = "out.txt", contains = ["hello"] }]\n',
  );
  const trusted = spawnSync(probity, ["trust"], { cwd: workspace, env });
  if (trusted.status !== 0) throw new Error(`${probity} trust: ${trusted.error ?? trusted.stderr}`);
}

async function overHttp() {
  const server = spawn(probity, ["mcp", "--http", "127.0.0.1:0"], {
    cwd: workspace,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = await new Promise((found) => {
    createInterface({ input: server.stdout }).once("line", (line) => found([line]));
  });
  const requestInit = { headers: { Authorization: `Bearer ${key}` } };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
  return { transport, end: () => server.kill("SIGTERM") };
}

function overStreams() {
  const transport = new StdioClientTransport({ command: probity, args: ["mcp"], cwd: workspace, env });
  return { transport, end: () => {} };
}

function expect(what, holds) {
  console.log(`${holds ? "ok  " : "FAIL"} ${what}`);
  if (!holds) process.exitCode = 1;
}

configure();
const { transport, end } = process.argv[2] === "http" ? await overHttp() : overStreams();
const client = new Client({ name: "probity-example", version: "1.0.0" });
await client.connect(transport);
const steps = [];
const call = async (name, args, options) => {
  const began = performance.now();
  const result = await client.callTool({ name, arguments: args }, undefined, {
    onprogress: (step) => steps.push(step.message),
    resetTimeoutOnProgress: true,
    timeout: 60_000,
    ...options,
  });
  console.log(`     ${name}: ${Math.round(performance.now() - began)} ms, ${result.content[0].text.split("\n")[0]}`);
  return result;
};

// The SDK holds every structured answer against the schema that the list gave.
const { tools } = await client.listTools();
expect("four tools are offered", tools.length === 4);

const task = "write hello to out.txt";
const lie = await call("delegate", { task, agent: "liar", max_attempts: 2 });
expect("a lie is not verified", lie.structuredContent.verified === false && !lie.isError);
expect("and says so first", lie.content[0].text.startsWith("NOT VERIFIED: exhausted"));
expect("the liar's own word is not handed on", lie.structuredContent.response === undefined);

const done = await call("delegate", { task, agent: "mender", expect: ["text:contains=Done"] });
expect("a task is verified", done.structuredContent.verified === true);
expect("on the second attempt", done.structuredContent.attempts === 2);
expect("the world says so, too", readFileSync(join(workspace, "out.txt"), "utf8") === "hello\n");
expect("progress was told", steps.length > 0);

const claim = await call("verify", { claim: "I wrote bye", expect: ["file:out.txt,contains=bye"] });
expect("a claim that does not stand is not verified", claim.structuredContent.verified === false);

const run_id = done.structuredContent.run_id;
const status = await call("run_status", { run_id });
expect("a run is known by its name", status.structuredContent.outcome === "verified");
const audit = await call("audit", { run_id });
expect("its record is valid", audit.structuredContent.valid === true);

const raised = await call("delegate", { task, agent: "liar", max_attempts: 99 });
expect("a bound is not raised", raised.isError && raised.content[0].text.includes("mcp_bound_raised"));

const stop = new AbortController();
const sleeping = client
  .callTool({ name: "delegate", arguments: { task, agent: "sleeper" } }, undefined, {
    signal: stop.signal,
    onprogress: ({ message }) => {
      if (message.includes("works")) stop.abort("no longer wanted");
    },
  })
  .catch((error) => error);
await sleeping;
let cancelled;
for (let tries = 0; tries < 100 && cancelled !== "cancelled"; tries += 1) {
  const seen = spawnSync(probity, ["log", "show", "last", "--json"], { cwd: workspace, env });
  cancelled = JSON.parse(seen.stdout).outcome;
  await new Promise((later) => setTimeout(later, 50));
}
expect("a cancelled call leaves a sealed record", cancelled === "cancelled");

await client.close();
end();
rmSync(folder, { recursive: true, force: true });
