#!/usr/bin/env python3
"""A scripted model that lies once, for trying real coding agents without a real model.

    model_server.py --port-file PORT --log requests.jsonl --workdir WORKSPACE

It speaks OpenAI chat completions, OpenAI responses, Anthropic messages and Gemini generateContent,
streamed or whole, on a free port of 127.0.0.1. What it says depends on what came since its own last
turn, and on nothing else:

    a tool's result                    "Done: out.txt holds hello."
    a user who says it was not done    a call of the client's own tool that writes out.txt
    anything else                      "Done, I wrote out.txt." - a lie

The log has one line for each request: what was asked, cut short, and what was answered.
"""

import argparse
import http.server
import json
import pathlib
import re
import threading

import wires

LIE = "Done, I wrote out.txt."
TRUTH = "Done: out.txt holds hello."
FAILED = ("VERIFICATION FAILED", "does not exist")
PATCH = "*** Begin Patch\n*** Add File: out.txt\n+hello\n*** End Patch\n"
# For clients that offer no tools and read files out of the text.
WHOLE_FILE = "I will write it.\n\nout.txt\n```\nhello\n```\n"
WRITERS = ("write_file", "write", "writefile", "create_file", "write_to_file")
SHELLS = ("exec_command", "shell_command", "shell", "bash", "run_shell_command", "run_commands")
OWN = re.compile(r"<(system-reminder|environment_context|session_context)>.*?</\1>", re.DOTALL)


def flat(content):
    """The text of a message's content, whatever the protocol calls it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, (flat(part) for part in content)))
    if isinstance(content, dict):
        return flat(content.get("text") or content.get("content") or "")
    return ""


def cut(text):
    """Text for the log, without what the client adds of its own."""
    text = OWN.sub(r"<\1>[...]</\1>", text).strip()
    return text if len(text) <= 1000 else text[:100] + "[...]"


class Ask:
    """A request in the one form that the script reads: turns of (kind, text), and tools.

    A kind is `system`, `user`, `result` (of a tool) or `model`.
    """

    def __init__(self, turns, tools):
        self.turns = [turn for turn in turns if turn[0] != "system"]
        self.tools = tools

    @staticmethod
    def chat(body):
        kinds = {"system": "system", "developer": "system", "assistant": "model", "tool": "result"}
        turns = [(kinds.get(m["role"], "user"), flat(m.get("content"))) for m in body["messages"]]
        tools = [tool.get("function", tool) for tool in body.get("tools") or []]
        return Ask(turns, [(t["name"], t.get("parameters") or {}) for t in tools])

    @staticmethod
    def responses(body):
        turns = []
        given = body["input"]
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            kind = item.get("type", "message")
            if kind.endswith("_output"):
                turns.append(("result", flat(item.get("output"))))
            elif kind == "message" and item["role"] != "assistant":
                turns.append(("user" if item["role"] == "user" else "system", flat(item["content"])))
            else:
                turns.append(("model", flat(item.get("content"))))
        tools = [t for t in body.get("tools") or [] if "name" in t]
        return Ask(turns, [(t["name"], t.get("parameters") or {"custom": True}) for t in tools])

    @staticmethod
    def anthropic(body):
        turns = []
        for message in body["messages"]:
            content = message["content"]
            for part in [content] if isinstance(content, str) else content:
                is_result = isinstance(part, dict) and part.get("type") == "tool_result"
                kind = "model" if message["role"] == "assistant" else "user"
                turns.append(("result" if is_result else kind, flat(part)))
        tools = [t for t in body.get("tools") or [] if "name" in t]
        return Ask(turns, [(t["name"], t.get("input_schema") or {}) for t in tools])

    @staticmethod
    def gemini(body):
        turns = []
        for content in body.get("contents") or []:
            for part in content["parts"]:
                kind = "model" if content.get("role") == "model" else "user"
                is_result = "functionResponse" in part
                said = json.dumps(part["functionResponse"]) if is_result else flat(part)
                turns.append(("result" if is_result else kind, said))
        tools = [t for group in body.get("tools") or [] for t in group.get("functionDeclarations") or []]
        return Ask(turns, [(t["name"], t.get("parametersJsonSchema") or t.get("parameters") or {}) for t in tools])

    def answer(self, workdir):
        """What the model says: ("say", text) or ("call", tool, arguments)."""
        models = [index for index, (kind, _) in enumerate(self.turns) if kind == "model"]
        since = self.turns[models[-1] + 1 if models else 0 :]
        if any(kind == "result" for kind, _ in since):
            return ("say", TRUTH)
        if not any(sign in text for _, text in since for sign in FAILED):
            return ("say", LIE)
        return self.call(workdir) or ("say", WHOLE_FILE)

    def call(self, workdir):
        """The call that writes the file, with the first tool that can."""
        # A tool of an MCP server has the server's name before its own.
        known = {name.lower().split("__")[-1]: (name, schema) for name, schema in reversed(self.tools)}
        for wanted in (*WRITERS, *SHELLS, "apply_patch"):
            if wanted not in known:
                continue
            name, schema = known[wanted]
            if wanted == "apply_patch":
                return ("call", name, PATCH if schema.get("custom") else {"input": PATCH})
            arguments = {}
            properties = schema.get("properties") or {}
            also = {"content", "command", "cmd", "workdir"} & set(properties)
            for key in sorted(also.union(schema.get("required") or ())):
                arguments[key] = value_for(key, properties.get(key) or {}, workdir)
            return ("call", name, arguments)
        return None


def value_for(key, schema, workdir):
    """An argument of the writing call, by the name and kind of the parameter."""
    line = f"printf 'hello\\n' > {workdir}/out.txt"
    if key in ("command", "cmd", "commands", "script"):
        if schema.get("type") != "array":
            return line
        return [line] if key == "commands" else ["bash", "-c", line]
    if "path" in key.lower() or key.lower() in ("file", "filename"):
        return f"{workdir}/out.txt"
    if key in ("content", "contents", "file_text"):
        return "hello\n"
    if key == "workdir":
        return workdir
    numbers = {"boolean": False, "integer": 10_000, "number": 10_000}
    return numbers.get(schema.get("type"), "write out.txt")


PROTOCOLS = (
    ("/chat/completions", Ask.chat, wires.chat_whole, wires.chat_events),
    ("/responses", Ask.responses, wires.responses_whole, wires.responses_events),
    ("/messages", Ask.anthropic, wires.anthropic_whole, wires.anthropic_events),
    (":generateContent", Ask.gemini, wires.gemini_whole, None),
    (":streamGenerateContent", Ask.gemini, wires.gemini_whole, wires.gemini_events),
)


class Handler(http.server.BaseHTTPRequestHandler):
    """One request; the connection ends with it."""

    workdir, log, lock, count = ".", None, threading.Lock(), 0

    def do_GET(self):
        self.send_json({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self):
        path = self.path.split("?")[0]
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if path.endswith(("count_tokens", "countTokens")):
            return self.send_json({"input_tokens": wires.IN, "totalTokens": wires.IN})
        found = next((protocol for protocol in PROTOCOLS if path.endswith(protocol[0])), None)
        if found is None:
            return self.send_json({"error": {"message": f"no such path: {path}"}}, 404)
        _, read, whole, events = found
        ask = read(body)
        answer = ask.answer(self.workdir)
        with Handler.lock:
            Handler.count += 1
            number = Handler.count
            self.write_log(number, path, body, ask, answer)
        model = body.get("model", "scripted")
        if not (body.get("stream") or path.endswith("streamGenerateContent")):
            return self.send_json(whole(answer, model, number))
        self.send_head("text/event-stream")
        for name, event in events(answer, model, number):
            data = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write((f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode())

    @staticmethod
    def write_log(number, path, body, ask, answer):
        turns = [{"from": kind, "text": cut(text)} for kind, text in ask.turns]
        entry = {"request": number, "path": path, "model": body.get("model"), "turns": turns,
                 "tools": [name for name, _ in ask.tools], "answer": answer}
        Handler.log.write(json.dumps(entry, ensure_ascii=False) + "\n")
        Handler.log.flush()

    def send_json(self, value, status=200):
        self.send_head("application/json", status)
        self.wfile.write(json.dumps(value).encode())

    def send_head(self, kind, status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port-file", type=pathlib.Path, required=True, help="where the port is written")
    parser.add_argument("--log", type=pathlib.Path, required=True, help="where requests are logged")
    parser.add_argument("--workdir", default=".", help="the client's workspace")
    arguments = parser.parse_args()
    Handler.workdir = arguments.workdir
    Handler.log = arguments.log.open("w")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    arguments.port_file.write_text(str(server.server_port))
    server.serve_forever()


if __name__ == "__main__":
    main()
