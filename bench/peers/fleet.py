"""What tasks cost on nfactorial's workers, with a Redis of its own on loopback and a model that answers at once.

    fleet.py MODE TASKS none|everysec|always REDIS_SERVER     throughput
    fleet.py idle TASKS none|everysec|always REDIS_SERVER     one task at a time on an idle queue
    fleet.py long TURNS none|everysec|always REDIS_SERVER     one task of so many turns

MODE is `plain` (one turn, text), `output` (one turn, a declared type) or `tools4` (three turns with a call of a
tool, then text). Prints one JSON object. All tasks are in the queue before the clock starts; it starts with the
workers and stops when the last task has ended, which is looked at every 20 ms. Settings are the package's own.
"""

import asyncio
import importlib.metadata
import json
import logging
import os
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time

MODE, COUNT, DURABILITY, SERVER = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
OWNER = "bench"

os.environ.setdefault("OPENAI_API_KEY", "none")
from factorial import Agent, AgentContext, Orchestrator  # noqa: E402
from factorial import llms  # noqa: E402
from openai.types.chat import ChatCompletion  # noqa: E402
from pydantic import BaseModel  # noqa: E402
import redis.asyncio as redis  # noqa: E402

# What it logs is written, to nowhere: formatting it is part of what it costs.
null = logging.StreamHandler(open(os.devnull, "w"))
logging.getLogger().handlers = [null]
for name in list(logging.root.manager.loggerDict):
    logger = logging.getLogger(name)
    if logger.handlers:
        logger.handlers = [null]


class Answer(BaseModel):
    said: str


def edit(text: str) -> str:
    """Edits."""
    return f"wrote {text}"


def reply(text=None, call=None):
    message = {"role": "assistant", "content": text}
    if call:
        name, arguments, number = call
        function = {"name": name, "arguments": json.dumps(arguments)}
        message["tool_calls"] = [{"id": f"call-{number}", "type": "function", "function": function}]
    choice = {"index": 0, "finish_reason": "tool_calls" if call else "stop", "message": message}
    return ChatCompletion.model_validate(
        {"id": "1", "created": 1, "model": "fake", "object": "chat.completion", "choices": [choice]}
    )


class Fake:
    """Answers at once. How far the conversation is it reads from the answers of tools."""

    def __init__(self, turns, is_typed):
        self.turns, self.is_typed, self.asked = turns, is_typed, []

    async def completion(self, messages, **_):
        self.asked.append(time.perf_counter())
        calls = sum(1 for message in messages if message["role"] == "tool")
        if self.is_typed:
            return reply(call=("final_output", {"said": "Done"}, calls))
        if calls + 1 < self.turns:
            return reply(call=("edit", {"text": f"line {calls}"}, calls))
        return reply(text="Done")

    async def close(self):
        pass


def start_redis(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--save", "", "--appendonly", "no" if DURABILITY == "none" else "yes"]
    if DURABILITY != "none":
        flags += ["--appendfsync", DURABILITY]
    command = [SERVER, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, *flags]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL), port


def cpu_s(pid):
    """Of another process, all its threads."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def own_cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Bench:
    def __init__(self, port, turns, is_typed):
        self.fake = Fake(turns, is_typed)
        self.pool = redis.ConnectionPool(host="127.0.0.1", port=port, max_connections=200)
        self.redis = redis.Redis(connection_pool=redis.ConnectionPool(host="127.0.0.1", port=port))
        self.orchestrator = Orchestrator(redis_pool=self.pool)
        self.agent = Agent(
            name="fake",
            instructions="You write files.",
            tools=[edit],
            model=llms.gpt_41,
            client=self.fake,
            output_type=Answer if is_typed else None,
        )
        self.orchestrator.register_runner(agent=self.agent)
        self.stop = asyncio.Event()

    async def submit(self):
        payload = AgentContext(query="write hello to out.txt")
        await self.orchestrator.create_agent_task(self.agent, payload, OWNER)

    async def ended(self):
        queue = f"{self.orchestrator.namespace}:queue:{self.agent.name}"
        pipe = self.redis.pipeline()
        pipe.zcard(f"{queue}:completed").zcard(f"{queue}:failed")
        completed, failed = await pipe.execute()
        assert failed == 0, f"{failed} tasks failed"
        return completed

    async def wait(self, count, every_s):
        deadline = time.monotonic() + 1800
        while await self.ended() < count:
            assert time.monotonic() < deadline, "the tasks do not end"
            await asyncio.sleep(every_s)

    def start(self):
        self.workers = asyncio.create_task(self.orchestrator.start_workers(self.stop))

    async def finish(self):
        self.stop.set()
        await self.workers


async def throughput(port, server):
    turns = 4 if MODE == "tools4" else 1
    bench = Bench(port, turns, MODE == "output")
    started = time.perf_counter()
    for _ in range(COUNT):
        await bench.submit()
    submit_s = time.perf_counter() - started
    wall, own, redis_cpu = time.perf_counter(), own_cpu_s(), cpu_s(server.pid)
    bench.start()
    await bench.wait(COUNT, 0.02)
    wall, own, redis_cpu = (
        time.perf_counter() - wall,
        own_cpu_s() - own,
        cpu_s(server.pid) - redis_cpu,
    )
    await bench.finish()
    all_turns = len(bench.fake.asked)
    assert all_turns == COUNT * turns, (all_turns, COUNT * turns)
    return {
        "tasks": COUNT,
        "turns": all_turns,
        "wall_s": wall,
        "submit_s": submit_s,
        "turns_per_s": all_turns / wall,
        "worker_cpu_ms_per_turn": own * 1e3 / all_turns,
        "server_cpu_ms_per_turn": redis_cpu * 1e3 / all_turns,
    }


async def idle(port, _server):
    bench = Bench(port, 1, False)
    bench.start()
    await asyncio.sleep(2)
    times = []
    for done in range(COUNT):
        # At any time of its poll.
        await asyncio.sleep(random.uniform(0.5, 1.5))
        started = time.perf_counter()
        await bench.submit()
        await bench.wait(done + 1, 0.001)
        times.append((time.perf_counter() - started) * 1e3)
    await bench.finish()
    times.sort()
    return {"tasks": COUNT, "p50_ms": times[COUNT // 2], "p90_ms": times[COUNT * 9 // 10]}


async def long(port, _server):
    bench = Bench(port, COUNT, False)
    await bench.submit()
    bench.start()
    await bench.wait(1, 0.1)
    await bench.finish()
    asked = bench.fake.asked
    windows = {}
    for turn in (20, 100, 400, 1000):
        if turn <= len(asked):
            # The ten turns before it, and the first twenty whole.
            first = 0 if turn == 20 else turn - 11
            windows[str(turn)] = (asked[turn - 1] - asked[first]) * 1e3 / (turn - 1 - first)
    used = await bench.redis.info("stats")
    return {
        "turns": len(asked),
        "whole_s": asked[-1] - asked[0],
        "ms_per_turn_at": windows,
        "server_input_bytes": used["total_net_input_bytes"],
    }


def main():
    with tempfile.TemporaryDirectory() as folder:
        server, port = start_redis(folder)
        try:
            for _ in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.02)
            measure = {"idle": idle, "long": long}.get(MODE, throughput)
            load = os.getloadavg()[0]
            found = {
                "name": "nfactorial",
                "version": importlib.metadata.version("nfactorial"),
                "mode": MODE,
                "durability": DURABILITY,
                "load_before": load,
            }
            found.update(asyncio.run(measure(port, server)))
            found["load_after"] = os.getloadavg()[0]
            found["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(json.dumps(found))
        finally:
            server.terminate()
            server.wait()


main()
