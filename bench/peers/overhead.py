"""What one rejected attempt costs in retry loops of Python libraries, without a network.

Prints one JSON object per peer. The fake model says "Done" on every call and makes the file on the last
one; the validator rejects until the file is there. The same work as the Rust side of `figures`.
"""

import importlib.metadata
import json
import os
import resource
import statistics
import sys
import tempfile
import time

ATTEMPTS = int(sys.argv[2])
LOOPS = int(sys.argv[3])


def measure(run):
    def total(attempts):
        times = []
        for _ in range(LOOPS):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "out.txt")
                start = time.perf_counter()
                calls = run(path, attempts)
                times.append(time.perf_counter() - start)
                assert calls == attempts, (calls, attempts)
        return statistics.median(times) * 1e3

    total(ATTEMPTS)  # warm
    return {"per_attempt_ms": total(ATTEMPTS) / ATTEMPTS, "one_shot_ms": total(1)}


def work(path, calls, attempts):
    """What the delegate does: nothing, until the last call."""
    if calls == attempts:
        with open(path, "w") as file:
            file.write("hello\n")


def instructor_loop():
    import instructor
    from openai.types.chat import ChatCompletion
    from pydantic import BaseModel, ValidationInfo, field_validator

    class Answer(BaseModel):
        said: str

        @field_validator("said")
        @classmethod
        def file_is_there(cls, value, info: ValidationInfo):
            if not os.path.exists(state["path"]):
                raise ValueError("file `out.txt` does not exist")
            return value

    state = {}

    def create(**_):
        state["calls"] += 1
        work(state["path"], state["calls"], state["attempts"])
        return ChatCompletion.model_validate(
            {
                "id": "1",
                "created": 1,
                "model": "fake",
                "object": "chat.completion",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": '{"said": "Done"}'},
                    }
                ],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )

    patched = instructor.patch(create=create, mode=instructor.Mode.JSON)

    def run(path, attempts):
        state.update(path=path, attempts=attempts, calls=0)
        patched(
            model="fake",
            response_model=Answer,
            max_retries=attempts - 1 if attempts > 1 else 0,
            messages=[{"role": "user", "content": "write hello to out.txt"}],
        )
        return state["calls"]

    return "instructor", run


def pydantic_ai_loop():
    from pydantic_ai import Agent, ModelResponse, ModelRetry, TextPart
    from pydantic_ai.models.function import FunctionModel

    state = {}

    def answer(_messages, _info):
        state["calls"] += 1
        work(state["path"], state["calls"], state["attempts"])
        return ModelResponse(parts=[TextPart("Done")])

    agent = Agent(FunctionModel(answer), retries=max(ATTEMPTS, 1))

    @agent.output_validator
    def file_is_there(output: str) -> str:
        if not os.path.exists(state["path"]):
            raise ModelRetry("file `out.txt` does not exist")
        return output

    def run(path, attempts):
        state.update(path=path, attempts=attempts, calls=0)
        agent.run_sync("write hello to out.txt")
        return state["calls"]

    return "pydantic-ai-slim", run


PEERS = {"instructor": instructor_loop, "pydantic-ai-slim": pydantic_ai_loop}

start = time.perf_counter()
name, loop = PEERS[sys.argv[1]]()
import_s = time.perf_counter() - start
found = {"name": name, "version": importlib.metadata.version(name), "import_s": import_s}
found.update(measure(loop))
found["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
