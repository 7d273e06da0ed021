#!/usr/bin/env python3
"""How long an agent waits for `probity hook run`: one check of a file, a store on disk.

    python3 bench/peers/hooks.py target/release/probity [rounds]

Prints milliseconds per event as the agent sees them, process start included: a claim that is refused, one
that passes, a prompt that begins a run, and a look at a use of a tool. Beside them what the disk takes for
4 KiB and their flush, and what it takes to start the program at all, in the same rounds: an event that is
recorded has two or three such flushes. Run it on a quiet machine.
"""

import json
import os
import subprocess
import sys
import tempfile
import time


def main():
    probity = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with tempfile.TemporaryDirectory() as folder:
        work = os.path.join(folder, "work")
        os.makedirs(os.path.join(work, ".probity"))
        with open(os.path.join(work, ".probity", "probity.toml"), "w") as config:
            config.write('max_verify_retries = 99\n[[expect]]\nfile = "out.txt"\ncontains = "hello"\n')
        env = dict(os.environ, HOME=folder, XDG_STATE_HOME=folder, XDG_CONFIG_HOME=folder)
        env.pop("PROBITY_STORE", None)
        env.pop("CLAUDE_PROJECT_DIR", None)
        subprocess.run([probity, "trust"], cwd=work, env=env, check=True, stdout=subprocess.DEVNULL)

        def ask(name, number, **more):
            event = dict(session_id=f"s{number}", cwd=work, hook_event_name=name, **more)
            begun = time.perf_counter()
            ran = subprocess.run(
                [probity, "hook", "run", "claude-code", name],
                input=json.dumps(event).encode(), cwd=work, env=env, capture_output=True, check=True,
            )
            return (time.perf_counter() - begun) * 1000, ran.stdout.decode()

        def flush(number):
            begun = time.perf_counter()
            os.pwrite(disk, b"x" * 4096, number * 4096)
            os.fdatasync(disk)
            return (time.perf_counter() - begun) * 1000

        def start():
            begun = time.perf_counter()
            subprocess.run([probity, "--version"], cwd=work, env=env, capture_output=True, check=True)
            return (time.perf_counter() - begun) * 1000

        disk = os.open(os.path.join(folder, "flush"), os.O_RDWR | os.O_CREAT)
        times = {"prompt": [], "refused": [], "passed": [], "guard": [], "flush": [], "start": []}
        for number in range(rounds):
            times["flush"].append(flush(number))
            times["start"].append(start())
            path = os.path.join(work, "out.txt")
            if os.path.exists(path):
                os.remove(path)
            times["prompt"].append(ask("UserPromptSubmit", number, prompt="say hello")[0])
            took, answer = ask("Stop", number, stop_hook_active=False, last_assistant_message="Done.")
            assert '"block"' in answer, answer
            times["refused"].append(took)
            with open(path, "w") as out:
                out.write("hello\n")
            took, answer = ask("Stop", number, stop_hook_active=True, last_assistant_message="Done!")
            assert answer == "{}\n", answer
            times["passed"].append(took)
            took, _ = ask("PreToolUse", number, tool_name="Write", tool_input={"file_path": "a"})
            times["guard"].append(took)
    for name, all_ms in times.items():
        all_ms.sort()
        p50, p99 = (all_ms[min(len(all_ms) - 1, int(len(all_ms) * q))] for q in (0.5, 0.99))
        print(f"{name:8}  p50 {p50:6.1f} ms  p99 {p99:6.1f} ms  n {len(all_ms)}")


if __name__ == "__main__":
    main()
