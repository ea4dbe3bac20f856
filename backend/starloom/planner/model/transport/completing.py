"""An answer of a model's server, completed with the fields that servers leave out and no plan needs. Pure.

The libraries of the wires refuse an answer without `created` or a count of tokens. What a plan needs is never made up:
its absence is told with the name of the field, and with those of what came. Nothing that a server wrote is shown but
names of fields that are known here.
"""

from __future__ import annotations

from typing import Any, Final

from starloom.planner.model.endpoints.endpoint import Wire

Json = dict[str, Any]
_KNOWN: Final = (
    "choices", "code", "completion", "content", "created", "data", "delta", "detail", "done", "error", "finish_reason",
    "id", "index", "message", "model", "object", "output", "reasoning", "reasoning_content", "refusal", "response",
    "result", "role", "status", "stop_reason", "text", "tool_calls", "type", "usage",
)  # fmt: skip
"""The names of fields that may be shown: of both formats, and of what servers send in their place."""


class Lacking(Exception):
    """An answer without a field that a plan needs."""


def completed(body: Any, wire: Wire, model: str) -> Any:
    """Return the body of an answer with all that its wire promises.

    Raises:
        Lacking: a field is absent that holds what the model said, or has another form.
    """
    if not isinstance(body, dict):
        raise Lacking(f"its answer is {_form(body)}, not a map")
    return _message(body, model) if wire is Wire.ANTHROPIC else _completion(body, model)


def _completion(body: Json, model: str) -> Json:
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices:
        raise Lacking(_lacks("choices", "", body, "a list with one answer"))
    first = choices[0]
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        raise Lacking(_lacks("message", "choices[0].", first, "a map"))
    message: Json = first["message"]
    calls = message.get("tool_calls")
    if not isinstance(message.get("content"), str | list) and not calls and not message.get("refusal"):
        thought = any(isinstance(message.get(name), str) for name in ("reasoning", "reasoning_content"))
        # An empty answer is one: it may have been cut before its first word.
        if "content" not in message and not thought:
            raise Lacking(_lacks("content", "choices[0].message.", message, "a text, or `tool_calls`"))
    whole = {"content": None, **message, "role": "assistant"}
    if isinstance(calls, list):
        whole["tool_calls"] = [_call(call, at) for at, call in enumerate(calls)]
    stop = first.get("finish_reason") or ("tool_calls" if calls else "stop")
    choice = {"logprobs": None, **first, "finish_reason": stop, "index": 0, "message": whole}
    return {
        **body,
        "choices": [choice],
        "created": _number(body.get("created")),
        "id": _text(body.get("id")),
        "model": _text(body.get("model")) or model,
        "object": "chat.completion",
        "usage": _usage(body.get("usage")),
    }


def _call(call: Any, at: int) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or "arguments" not in function:
        where = f"choices[0].message.tool_calls[{at}].function."
        raise Lacking(_lacks("arguments", where, function if isinstance(function, dict) else call, "a text"))
    return {
        **call,
        "function": {"name": "answer", **function},
        "id": _text(call.get("id")) or f"call_{at}",
        "type": "function",
    }


def _usage(usage: Any) -> Json | None:
    """Return the count of tokens with its sum; None where there is none, so that it is estimated."""
    if not isinstance(usage, dict):
        return None
    read, completion = _number(usage.get("prompt_tokens")), _number(usage.get("completion_tokens"))
    return {**usage, "prompt_tokens": read, "completion_tokens": completion, "total_tokens": read + completion}


def _message(body: Json, model: str) -> Json:
    if not isinstance(body.get("content"), list):
        raise Lacking(_lacks("content", "", body, "a list of blocks"))
    usage = body.get("usage") if isinstance(body.get("usage"), dict) else {}
    counted = {name: _number((usage or {}).get(name)) for name in ("input_tokens", "output_tokens")}
    calls = any(isinstance(block, dict) and block.get("type") == "tool_use" for block in body["content"])
    return {
        "stop_sequence": None,
        **body,
        "id": _text(body.get("id")),
        "model": _text(body.get("model")) or model,
        "role": "assistant",
        "stop_reason": body.get("stop_reason") or ("tool_use" if calls else "end_turn"),
        "type": "message",
        "usage": {**(usage or {}), **counted},
    }


def _lacks(name: str, where: str, body: Any, form: str) -> str:
    return f"its answer lacks `{where}{name}` ({form}); received was {_form(body)}"


def _form(value: Any) -> str:
    if isinstance(value, dict):
        names = [name for name in _KNOWN if name in value]
        others = len(value) - len(names)
        parts = [
            *(f"`{name}`" for name in names),
            *([f"{others} other field{'s' if others > 1 else ''}"] if others else []),
        ]
        return f"a map with {', '.join(parts) or 'nothing in it'}"
    words = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return words.get(type(value), "nothing")


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
