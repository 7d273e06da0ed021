"""Runs a verifier written in Python: probity_shim FILE FUNCTION, JSON in, a JSON verdict out.

The function is called in one of two ways. One named `verify` gets the episode context, a dict; any
other gets the output of a typed agent. A first parameter called `output` or `context` decides first.

verify(context)                                     verdict
  VerificationResult(outcome, detail), or a dict      as it says
  True, False                                         pass, revise
  raises                                              none: the program ends with a traceback

verify_output(output, agent_ctx, execution_ctx)     verdict
  a value                                             pass, and the value replaces the output
  raises VerificationRejected                         revise, with its message, code and metadata
  raises FatalAgentError                              fail
  raises ImportError                                  none: the program ends with a traceback
  raises anything else                                inconclusive, a system error
  there is no output                                  inconclusive
  the output does not fit the parameter's model       revise

Parameters after the first are filled by name (`agent_ctx`, `execution_ctx`) or by annotation
(`AgentContext`, `ExecutionContext`). Functions may be async. None is a verdict in neither way, nor is
a bare bool from the second: what they come to is not for this program to guess.

`engine.verifier_base` is defined here, and `factorial`, `factorial.exceptions` and `pydantic` where
they are not installed; that stand-in of `BaseModel` knows defaults, nesting and plain types.
What the verifier prints goes to standard error.

FILE is under seal, and nothing else of the verifier is. So it imports the standard library and
installed packages, and no module that lies in the workspace or beside FILE: whoever can write there
would decide the verdict. This program asks for `python3 -I`, which leaves the workspace out, and takes
out what links and editable installs put in.
"""

import sys

if not sys.flags.isolated:
    sys.exit("the verifier must run in isolated mode, where no module of the workspace is imported: python3 -I")
sys.dont_write_bytecode = True

import asyncio
import dataclasses
import importlib.machinery
import importlib.util
import inspect
import json
import os
import re
import site
import sysconfig
import traceback
import types
import typing


ONLY_INSTALLED = (
    "a verifier imports only the standard library and installed packages, no module beside its file: "
    "put helpers into the same file, or install them"
)


@dataclasses.dataclass
class VerificationResult:
    """What a verifier of seed 001 returns: `outcome` is pass, fail or inconclusive."""

    outcome: str
    detail: str = ""


class VerificationRejected(Exception):
    """The output is not accepted; the model may revise it."""

    def __init__(self, message, code=None, metadata=None):
        self.message = message
        self.code = code
        self.metadata = metadata
        super().__init__(message)


class FatalAgentError(Exception):
    """The output is not accepted, and another attempt is not wanted."""


class Bag(types.SimpleNamespace):
    """An object of whatever it is made with."""


class Agent(Bag):
    """Only declared in the file; nothing runs it here."""


class AgentContext(Bag):
    """The task and the attempt."""


class ExecutionContext(Bag):
    """The check and the submission."""


class BaseModel:
    """A model of typed fields, for files that declare one where pydantic is not installed."""

    def __init__(self, **values):
        for name, kind in typing.get_type_hints(type(self)).items():
            if name in values:
                value = fitted(name, kind, values[name])
            elif hasattr(type(self), name):
                value = getattr(type(self), name)
            else:
                raise ValueError("`%s` is missing" % name)
            setattr(self, name, value)

    @classmethod
    def model_validate(cls, value):
        if isinstance(value, cls):
            return value
        if not isinstance(value, dict):
            raise ValueError("expected an object, got %s" % type(value).__name__)
        return cls(**value)

    def model_dump(self, mode="python"):
        return {name: plain(getattr(self, name)) for name in typing.get_type_hints(type(self))}


def fitted(name, kind, value):
    """The value, if it is of a plain type or model; other annotations are not looked into."""
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        return kind.model_validate(value)
    if kind is float and type(value) is int:
        return float(value)
    if kind in (str, int, float, bool) and type(value) is not kind:
        raise ValueError("`%s` must be %s, got %s" % (name, kind.__name__, type(value).__name__))
    return value


def forget_uninstalled():
    """Leaves the ways to the standard library and the installed packages, and no other."""
    roots = [os.path.dirname(os.__file__), sysconfig.get_path("platstdlib"), *site.getsitepackages()]
    roots = [os.path.realpath(root) for root in roots]

    def is_installed(entry):
        folder = os.path.realpath(entry)
        return any(folder == root or folder.startswith(root + os.sep) for root in roots)

    sys.path[:] = [entry for entry in sys.path if os.path.isabs(entry) and is_installed(entry)]
    # The finders of editable installs lead anywhere.
    machinery = importlib.machinery
    sys.meta_path[:] = [machinery.BuiltinImporter, machinery.FrozenImporter, machinery.PathFinder]
    sys.path_importer_cache.clear()


def define(name, **members):
    module = types.ModuleType(name)
    module.__path__ = []
    module.__dict__.update(members)
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


def define_modules():
    define("engine")
    define("engine.verifier_base", VerificationResult=VerificationResult)
    if importlib.util.find_spec("factorial") is None:
        errors = {"VerificationRejected": VerificationRejected, "FatalAgentError": FatalAgentError}
        contexts = {"AgentContext": AgentContext, "ExecutionContext": ExecutionContext}
        define("factorial", Agent=Agent, **contexts, **errors)
        define("factorial.exceptions", **errors)
    if importlib.util.find_spec("pydantic") is None:
        define("pydantic", BaseModel=BaseModel)


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            source = file.read()
    except OSError as error:
        print("cannot read `%s`: %s" % (path, error.strerror), file=sys.stderr)
        sys.exit(127)
    module = types.ModuleType("verifier")
    module.__file__ = path
    sys.modules["verifier"] = module
    exec(compile(source, path, "exec"), module.__dict__)
    return module


def plain(value):
    """The value as JSON knows it."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def call(function, *arguments, **named):
    answer = function(*arguments, **named)
    if inspect.isawaitable(answer):

        async def wait():
            return await answer

        answer = asyncio.run(wait())
    return answer


def is_result(value):
    return any(base.__name__ == "VerificationResult" for base in type(value).__mro__)


def of_result(value):
    if is_result(value):
        return {"outcome": value.outcome, "detail": value.detail}
    return value


def is_named(error, name):
    return any(base.__name__ == name for base in type(error).__mro__)


def machine_word(code):
    return re.sub(r"[^a-z0-9_.-]", "_", str(code).lower())[:64]


def refusal(verdict, error):
    """The error as a verdict; what else it holds follows its message, one key a line."""
    lines = [str(getattr(error, "message", None) or error) or type(error).__name__]
    metadata = getattr(error, "metadata", None) or {}
    for key in sorted(metadata, key=str):
        lines.append("%s: %s" % (key, json.dumps(plain(metadata[key]), default=str)))
    answer = {"verified": False, "verdict": verdict, "reason": "\n".join(lines)}
    if getattr(error, "code", None):
        answer["code"] = machine_word(error.code)
    return answer


def undecided(reason):
    return {"verified": False, "verdict": "inconclusive", "reason": reason}


def filled(function, given, output):
    """What goes to the parameters after the first."""
    agent = AgentContext(
        query=given["task"], messages=[], turn=given["attempt"], output=output,
        attempt=given["attempt"], verification=Bag(
            attempts_used=max(given["attempt"] - 1, 0), last_candidate_hash=None, last_outcome=None
        ),
    )
    execution = ExecutionContext(
        check=given["check"], submission=given["submission"], is_replay=given["is_replay"],
        workspace=given["workspace"],
    )
    by_name = {"agent_ctx": agent, "execution_ctx": execution}
    by_type = {"AgentContext": agent, "ExecutionContext": execution}
    named = {}
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        kind = parameter.annotation
        kind = kind if isinstance(kind, str) else getattr(kind, "__name__", "")
        if parameter.name in by_name:
            named[parameter.name] = by_name[parameter.name]
        elif kind.rpartition(".")[2] in by_type:
            named[parameter.name] = by_type[kind.rpartition(".")[2]]
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD
        ):
            raise TypeError("no value for the parameter `%s`" % parameter.name)
    return named


def claimed(given):
    """The output, or the response where it is JSON; None if there is neither."""
    result = given["result"]
    if result.get("output") is not None:
        return result["output"]
    try:
        return json.loads(result["response"])
    except ValueError:
        return result["response"] or None


def judge_output(function, first, given):
    output = claimed(given)
    if output is None:
        return undecided("there is no output to verify")
    model = inspect.signature(function).parameters[first].annotation
    if isinstance(model, str):
        model = eval(model, function.__globals__)
    if hasattr(model, "model_validate"):
        try:
            output = model.model_validate(output)
        except ImportError:
            raise
        except Exception as error:
            return refusal("revise", ValueError("the output is not valid: %s" % error))
    named = filled(function, given, output)
    try:
        answer = call(function, output, **named)
    except ImportError:
        raise
    except Exception as error:
        if is_named(error, "VerificationRejected"):
            return refusal("revise", error)
        if is_named(error, "FatalAgentError"):
            return refusal("fail", error)
        traceback.print_exc()
        return undecided("the verifier raised %s: %s" % (type(error).__name__, error))
    if is_result(answer):
        return of_result(answer)
    if answer is None or isinstance(answer, bool):
        print("the verifier returned %s, expected a final output" % answer, file=sys.stderr)
        return None
    return {"verified": True, "output": plain(answer)}


def answered(path, name, given):
    define_modules()
    function = getattr(load(path), name)
    first = next(iter(inspect.signature(function).parameters), "")
    if first == "context" or (name == "verify" and first != "output"):
        answer = of_result(call(function, given["context"]))
        if answer is None:
            print("the verifier returned None", file=sys.stderr)
        return answer
    return judge_output(function, first, given)


def main():
    path, name = sys.argv[1:]
    # The verdict goes where standard output was; what the verifier prints does not.
    verdict = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    given = json.load(sys.stdin.buffer)
    forget_uninstalled()
    try:
        answer = answered(path, name, given)
    except ImportError:
        traceback.print_exc()
        sys.exit(ONLY_INSTALLED)
    json.dump(answer, verdict, allow_nan=False)
    verdict.close()


main()
