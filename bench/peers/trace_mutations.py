"""What bijux-canon-reason says of run directories that were changed on purpose.

    trace_mutations.py DIR

DIR holds what the mutation test of `probity-trace` wrote: run directories and `index.json`. Prints one line for
each: name, variant, digest of the files, verdict; tabs between. A verdict is `pass`, `fail:` with the checks that
failed, `error:` with the class of the exception, or `hang`. What is called is what its `verify` command calls.
"""

import json
import os
import pathlib
import shutil
import signal
import sys

from bijux_canon_reason.core.types import Plan
from bijux_canon_reason.interfaces.serialization.json_file import read_json_file
from bijux_canon_reason.interfaces.serialization.trace_jsonl import read_trace_jsonl
from bijux_canon_reason.verification.verifier import verify_trace

SECONDS = 10


class Hang(BaseException):
    """Nothing was said in time."""


def interrupt(number, frame):
    raise Hang


def make_others(root, row):
    """Pipes, and links to the same bytes outside the run directory."""
    run = root / row["folder"]
    for path, kind in row["others"].items():
        target = run / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(target):
            continue
        if kind == "fifo":
            os.mkfifo(target)
            continue
        outside = root / "outside" / row["folder"] / path
        outside.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (root / row["base"] / path).is_dir() else shutil.copyfile
        copy(root / row["base"] / path, outside)
        os.symlink(outside, target)


def verdict(run):
    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        trace = read_trace_jsonl(run / "trace.jsonl")
        plan = Plan.model_validate(read_json_file(run / "plan.json"))
        report = verify_trace(trace=trace, plan=plan, artifacts_dir=run)
    except Hang:
        return "hang"
    except Exception as error:
        return f"error:{type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if not report.failures:
        return "pass"
    return "fail:" + ",".join(check.name for check in report.checks if not check.passed)


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    for row in json.loads((root / "index.json").read_text()):
        make_others(root, row)
        print(row["name"], row["variant"], row["digest"], verdict(root / row["folder"]), sep="\t")


main()
