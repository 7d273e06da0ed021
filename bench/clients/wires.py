"""How the scripted model's answers are written in each protocol.

An answer is ("say", text) or ("call", tool, arguments). `*_whole` gives it in one piece, `*_events` as
the (event name or None, data) pairs of a stream. `number` makes ids.
"""

import json

IN, OUT = 100, 10  # tokens of every request


def chat_events(answer, model, number):
    """Chunks of a chat completion."""
    if answer[0] == "say":
        delta, reason = {"role": "assistant", "content": answer[1]}, "stop"
    else:
        function = {"name": answer[1], "arguments": json.dumps(answer[2])}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
    usage = {"prompt_tokens": IN, "completion_tokens": OUT, "total_tokens": IN + OUT}
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 0, "model": model}
    yield None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
    yield None, "[DONE]"


def chat_whole(answer, model, number):
    """A chat completion in one piece."""
    first, last, _ = (event for _, event in chat_events(answer, model, number))
    choice = {"index": 0, "message": first["choices"][0]["delta"], "finish_reason": last["choices"][0]["finish_reason"]}
    return {**last, "object": "chat.completion", "choices": [choice]}


def responses_whole(answer, model, number):
    """A response in one piece."""
    if answer[0] == "say":
        text = {"type": "output_text", "text": answer[1], "annotations": []}
        item = {"type": "message", "role": "assistant", "status": "completed", "content": [text]}
    else:
        item = {"type": "function_call", "call_id": f"call_{number}", "name": answer[1]}
        if isinstance(answer[2], str):
            item.update(type="custom_tool_call", input=answer[2])
        else:
            item["arguments"] = json.dumps(answer[2])
    item["id"] = f"item_{number}"
    usage = {"input_tokens": IN, "output_tokens": OUT, "total_tokens": IN + OUT}
    head = {"id": f"resp_{number}", "object": "response", "model": model}
    return {**head, "status": "completed", "output": [item], "usage": usage}


def responses_events(answer, model, number):
    """Events of a response."""
    whole = responses_whole(answer, model, number)
    created = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"type": "response.created", "response": created}
    for kind in ("response.output_item.added", "response.output_item.done"):
        yield kind, {"type": kind, "output_index": 0, "item": whole["output"][0]}
    yield "response.completed", {"type": "response.completed", "response": whole}


def anthropic_whole(answer, model, number):
    """A message in one piece."""
    block = {"type": "text", "text": answer[1]}
    if answer[0] == "call":
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": answer[1], "input": answer[2]}
    return {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [block],
        "stop_reason": "tool_use" if answer[0] == "call" else "end_turn", "stop_sequence": None,
        "usage": {"input_tokens": IN, "output_tokens": OUT},
    }


def anthropic_events(answer, model, number):
    """Events of a message."""
    whole = anthropic_whole(answer, model, number)
    block = whole["content"][0]
    if answer[0] == "say":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    for event in (
        {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": OUT}},
        {"type": "message_stop"},
    ):
        yield event["type"], event


def gemini_whole(answer, model, number):
    """A generated content in one piece."""
    part = {"text": answer[1]}
    if answer[0] == "call":
        part = {"functionCall": {"id": f"call_{number}", "name": answer[1], "args": answer[2]}}
    counts = {"promptTokenCount": IN, "candidatesTokenCount": OUT, "totalTokenCount": IN + OUT}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    return {"candidates": [candidate], "usageMetadata": counts, "modelVersion": model, "responseId": f"r{number}"}


def gemini_events(answer, model, number):
    """Pieces of a generated content: one."""
    yield None, gemini_whole(answer, model, number)
