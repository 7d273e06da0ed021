"""What one rejected attempt costs in retry loops of Python libraries, without a network.

    overhead.py PEER ATTEMPTS LOOPS file|typed

Prints one JSON object. The fake model answers at once, the validator rejects until the last attempt: with
`file` until the file is there that the model makes then, the same work as the Rust side of `figures`; with
`typed` it looks at nothing but the number of the answer, and every answer is another object of a declared
type, the same work as the Rust side of `agents`.
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
IS_TYPED = sys.argv[4] == "typed"
TASK = "write hello to out.txt"
REASON = "file `out.txt` does not exist"


class Work:
    """What the delegate does, and how it is judged."""

    def begin(self, path, attempts):
        self.path, self.attempts, self.calls = path, attempts, 0

    def answer(self):
        """Nothing is done, until the last call. Gives what the model says."""
        self.calls += 1
        if self.calls == self.attempts and not IS_TYPED:
            with open(self.path, "w") as file:
                file.write("hello\n")
        return f"Done {self.calls}"

    def is_done(self):
        return self.calls == self.attempts if IS_TYPED else os.path.exists(self.path)


work = Work()


def measure(run):
    def total(attempts):
        times = []
        # The first few warm up.
        for round in range(LOOPS + 3):
            with tempfile.TemporaryDirectory() as folder:
                work.begin(os.path.join(folder, "out.txt"), attempts)
                start = time.perf_counter()
                run(attempts)
                if round >= 3:
                    times.append(time.perf_counter() - start)
                assert work.calls == attempts, (work.calls, attempts)
        return statistics.median(times) * 1e3

    return {"per_attempt_ms": total(ATTEMPTS) / ATTEMPTS, "one_shot_ms": total(1)}


def instructor_loop():
    import instructor
    from openai.types.chat import ChatCompletion
    from pydantic import BaseModel, field_validator

    class Answer(BaseModel):
        said: str

        @field_validator("said")
        @classmethod
        def is_done(cls, value):
            if not work.is_done():
                raise ValueError(REASON)
            return value

    def create(**_):
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
                        "message": {"role": "assistant", "content": json.dumps({"said": work.answer()})},
                    }
                ],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
        )

    patched = instructor.patch(create=create, mode=instructor.Mode.JSON)

    def run(attempts):
        patched(
            model="fake",
            response_model=Answer,
            max_retries=attempts - 1 if attempts > 1 else 0,
            messages=[{"role": "user", "content": TASK}],
        )

    return run


def pydantic_ai_loop():
    from pydantic import BaseModel
    from pydantic_ai import Agent, ModelResponse, ModelRetry, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    class Answer(BaseModel):
        said: str

    def answer(_messages, info):
        said = work.answer()
        if IS_TYPED:
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"said": said})])
        return ModelResponse(parts=[TextPart(said)])

    output_type = Answer if IS_TYPED else str
    agent = Agent(FunctionModel(answer), output_type=output_type, retries=max(ATTEMPTS, 1))

    @agent.output_validator
    def is_done(output):
        if not work.is_done():
            raise ModelRetry(REASON)
        return output

    def run(_attempts):
        agent.run_sync(TASK)

    return run


def openai_agents_loop():
    """It has no retry on the output, so the loop around it is by hand, in one event loop."""
    import asyncio

    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText
    from pydantic import BaseModel

    class Answer(BaseModel):
        said: str

    # Less work than `agents.testing.ScriptedModel`, which copies what it is asked.
    class Fake(Model):
        async def get_response(self, *_, **__):
            said = work.answer()
            text = json.dumps({"said": said}) if IS_TYPED else said
            content = ResponseOutputText(annotations=[], text=text, type="output_text")
            message = ResponseOutputMessage(
                id="1", content=[content], role="assistant", status="completed", type="message"
            )
            return ModelResponse(output=[message], usage=Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    agent = Agent(name="fake", model=Fake(), output_type=Answer if IS_TYPED else None)
    config = RunConfig(tracing_disabled=True)
    loop = asyncio.new_event_loop()

    async def verified(attempts):
        items = TASK
        for _ in range(attempts):
            result = await Runner.run(agent, items, run_config=config)
            if work.is_done():
                return result.final_output
            items = result.to_input_list() + [{"role": "user", "content": REASON}]

    def run(attempts):
        assert loop.run_until_complete(verified(attempts)) is not None

    return run


PEERS = {
    "instructor": instructor_loop,
    "pydantic-ai-slim": pydantic_ai_loop,
    "openai-agents": openai_agents_loop,
}

name = sys.argv[1]
start = time.perf_counter()
loop = PEERS[name]()
import_s = time.perf_counter() - start
found = {"name": name, "version": importlib.metadata.version(name), "import_s": import_s}
found.update(measure(loop))
found["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
