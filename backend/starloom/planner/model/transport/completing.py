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


def completed(found: Any, wire: Wire, model: str) -> Any:
    """Return the body of an answer with all that its wire promises.

    Raises:
        Lacking: a field is absent that holds what the model said, or has another form.
    """
    if not isinstance(found, dict):
        raise Lacking(f"its answer is {_form(found)}, not a map")
    return _message(found, model) if wire is Wire.ANTHROPIC else _completion(found, model)


def _completion(found: Json, model: str) -> Json:
    choices = found.get("choices")
    if not isinstance(choices, list) or not choices:
        raise Lacking(_lacks("choices", "", found, "a list with one answer"))
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
        **found,
        "choices": [choice],
        "created": _number(found.get("created")),
        "id": _text(found.get("id")),
        "model": _text(found.get("model")) or model,
        "object": "chat.completion",
        "usage": _usage(found.get("usage")),
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


def _usage(found: Any) -> Json | None:
    """Return the count of tokens with its sum; None where there is none, so that it is estimated."""
    if not isinstance(found, dict):
        return None
    read, written = _number(found.get("prompt_tokens")), _number(found.get("completion_tokens"))
    return {**found, "prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def _message(found: Json, model: str) -> Json:
    if not isinstance(found.get("content"), list):
        raise Lacking(_lacks("content", "", found, "a list of blocks"))
    usage = found.get("usage") if isinstance(found.get("usage"), dict) else {}
    counted = {name: _number((usage or {}).get(name)) for name in ("input_tokens", "output_tokens")}
    calls = any(isinstance(block, dict) and block.get("type") == "tool_use" for block in found["content"])
    return {
        "stop_sequence": None,
        **found,
        "id": _text(found.get("id")),
        "model": _text(found.get("model")) or model,
        "role": "assistant",
        "stop_reason": found.get("stop_reason") or ("tool_use" if calls else "end_turn"),
        "type": "message",
        "usage": {**(usage or {}), **counted},
    }


def _lacks(name: str, where: str, found: Any, wanted: str) -> str:
    return f"its answer lacks `{where}{name}` ({wanted}); received was {_form(found)}"


def _form(found: Any) -> str:
    if isinstance(found, dict):
        named = [name for name in _KNOWN if name in found]
        others = len(found) - len(named)
        parts = [
            *(f"`{name}`" for name in named),
            *([f"{others} other field{'s' if others > 1 else ''}"] if others else []),
        ]
        return f"a map with {', '.join(parts) or 'nothing in it'}"
    words = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return words.get(type(found), "nothing")


def _number(found: Any) -> int:
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else 0


def _text(found: Any) -> str:
    return found if isinstance(found, str) else ""
