#!/usr/bin/env python3
"""Speaks the Agent Client Protocol with an agent as a client would, and writes down what is said.

    acp_probe.py --workdir WORKSPACE --log acp.jsonl -- AGENT [ARGUMENT...]

`initialize`, `session/new` (with `authenticate` before it where the agent asks), the task, and in
the same session that it was not done. Permissions are given once each; files are read and written
for the agent if it asks. The log has one line for each message: `{"from": "client"|"agent", ...}`;
of long texts and long lists in it, the beginning stands there.
Exit code 0 when the agent answered both prompts and `out.txt` stands in the workspace.
"""

import argparse
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading

TASK = "Write hello to out.txt"
CORRECTION = "VERIFICATION FAILED on attempt 1 of 3. The task is NOT done.\n\nfile `out.txt` does not exist\n"


def cut(value):
    """A message for the log: at most 400 characters of a text, at most 4 entries of a list."""
    if isinstance(value, str):
        return value if len(value) <= 400 else value[:400] + "[...]"
    if isinstance(value, list):
        return [cut(entry) for entry in value[:4]]
    if isinstance(value, dict):
        return {key: cut(entry) for key, entry in value.items()}
    return value


class Agent:
    """An agent on standard input and output, one JSON message a line."""

    def __init__(self, command, workdir, log, timeout_s):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=workdir, start_new_session=True, **pipes)
        self.log, self.timeout_s, self.number = log, timeout_s, 0
        self.lines = queue.Queue()
        threading.Thread(target=self.pump, daemon=True).start()

    def pump(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def end(self):
        """Kills the agent and what it started, and waits for it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def note(self, sender, message):
        self.log.write(json.dumps({"from": sender, "message": cut(message)}, ensure_ascii=False) + "\n")
        self.log.flush()

    def send(self, message):
        message = {"jsonrpc": "2.0", **message}
        self.note("client", message)
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        """The response to a request; what the agent asks meanwhile is answered."""
        self.number += 1
        number = self.number
        self.send({"id": number, "method": method, "params": params})
        while True:
            line = self.lines.get(timeout=self.timeout_s)
            if line is None:
                sys.exit(f"the agent ended during {method}")
            try:
                message = json.loads(line)
            except ValueError:
                self.note("agent", {"not json": line.decode(errors="replace")})
                continue
            self.note("agent", message)
            if "method" in message and "id" in message:
                self.send({"id": message["id"], **serve(message["method"], message["params"])})
            elif message.get("id") == number and "method" not in message:
                return message


def serve(method, params):
    """What a client answers to an agent's request."""
    if method == "session/request_permission":
        options = params["options"]
        chosen = next((o for o in options if o["kind"] == "allow_once"), options[0])
        return {"result": {"outcome": {"outcome": "selected", "optionId": chosen["optionId"]}}}
    if method == "fs/write_text_file":
        pathlib.Path(params["path"]).write_text(params["content"])
        return {"result": {}}
    if method == "fs/read_text_file":
        path = pathlib.Path(params["path"])
        if path.is_file():
            return {"result": {"content": path.read_text()}}
        return {"error": {"code": -32002, "message": "Resource not found", "data": {"uri": params["path"]}}}
    return {"error": {"code": -32601, "message": f"Method not found: {method}"}}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--workdir", type=pathlib.Path, required=True)
    parser.add_argument("--log", type=pathlib.Path, required=True)
    parser.add_argument("--timeout-s", type=float, default=60, help="the longest silence of the agent")
    parser.add_argument("--auth", help="the method to authenticate with before a session is opened")
    parser.add_argument("--fs", choices=("none", "write", "both"), default="both", help="what to do for the agent")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    workdir = arguments.workdir.resolve()
    offered = {"readTextFile": arguments.fs == "both", "writeTextFile": arguments.fs != "none"}
    with arguments.log.open("w") as log:
        agent = Agent(arguments.command, workdir, log, arguments.timeout_s)
        try:
            agent.request("initialize", {
                "protocolVersion": 1,
                "clientCapabilities": {"fs": offered, "terminal": False},
            })
            if arguments.auth:
                agent.request("authenticate", {"methodId": arguments.auth})
            opened = agent.request("session/new", {"cwd": str(workdir), "mcpServers": []})
            if "error" in opened:
                sys.exit(f"no session: {opened['error']}")
            session = opened["result"]["sessionId"]
            for text in (TASK, CORRECTION):
                prompt = [{"type": "text", "text": text}]
                ended = agent.request("session/prompt", {"sessionId": session, "prompt": prompt})
                if "error" in ended:
                    sys.exit(f"no answer: {ended['error']}")
        except queue.Empty:
            sys.exit(f"the agent was silent for {arguments.timeout_s} s")
        finally:
            agent.end()
    sys.exit(0 if (workdir / "out.txt").is_file() else "out.txt was not written")


if __name__ == "__main__":
    main()
