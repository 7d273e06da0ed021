"""Puts one row of the Lie Matrix to a library's retry loop.

Arguments: the library, attempts, the delegate's script, the check's script; the folder is the row's
workspace. The "model" runs the delegate and answers with what it printed; the validator runs the check
and hands its exit code on, with what it printed as the reason. Prints one JSON object.
"""

import json
import subprocess
import sys

library, attempts, delegate, check = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]


def act(prompt):
    ran = subprocess.run(["sh", delegate], input=prompt.encode(), capture_output=True)
    return ran.stdout.decode(errors="replace")[:10_000] or "(nothing)"


def looked_at():
    ran = subprocess.run(["sh", check], stdin=subprocess.DEVNULL, capture_output=True)
    said = (ran.stdout + ran.stderr).decode(errors="replace")[:2_000]
    return ran.returncode == 0, said or f"the check ended with {ran.returncode}"


def strands():
    from strands import Agent
    from strands.models import Model
    from strands.vended_plugins.goal import GoalLoop

    class Scripted(Model):
        def update_config(self, **_):
            pass

        def get_config(self):
            return {}

        async def structured_output(self, *_, **__):
            raise NotImplementedError
            yield

        async def stream(self, messages, *_, **__):
            text = act(json.dumps(messages[-1], default=str))
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": text}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}

    def validator(_response, _agent, **_):
        passed, said = looked_at()
        return {"passed": passed, "feedback": said}

    loop = GoalLoop(goal=validator, max_attempts=attempts)
    agent = Agent(model=Scripted(), plugins=[loop], callback_handler=None)
    agent("Do the task.")
    # The call itself returns normally either way; this is where its documentation looks.
    result = loop.last_result(agent)
    return result.stop_reason, result.passed


def pydantic():
    from pydantic_ai import Agent, ModelRetry
    from pydantic_ai.exceptions import UnexpectedModelBehavior
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    def model(messages, _info):
        return ModelResponse(parts=[TextPart(act(str(messages[-1])))])

    agent = Agent(FunctionModel(model), retries={"output": attempts - 1})

    @agent.output_validator
    def validate(output: str) -> str:
        passed, said = looked_at()
        if not passed:
            raise ModelRetry(said)
        return output

    try:
        agent.run_sync("Do the task.")
    except UnexpectedModelBehavior as error:
        return type(error).__name__, False
    return "returned", True


said, done = {"strands-agents": strands, "pydantic-ai-slim": pydantic}[library]()
print(json.dumps({"said": said, "done": done}))
