"""A local server that answers as the providers' APIs do, whole and streamed, so that their SDKs make their own objects of it.

The first reply of a conversation calls `add` twice; the one after the results is a text with the sum of both, which the server takes out of the request.
"""

from __future__ import annotations

import binascii
import http.server
import json
import re
import struct
import threading
from typing import Any

CALLS = [("call_1", {"a": 15, "b": 27}), ("call_2", {"a": 1, "b": 2})]
SUMS = [42, 3]


def events(*datas: Any, named: bool = False, done: bool = False) -> bytes:
    """Server-sent events."""
    parts = [(f"event: {data['type']}\n" if named else "") + f"data: {json.dumps(data)}\n\n" for data in datas]
    return "".join([*parts, "data: [DONE]\n\n" if done else ""]).encode()


def pieces(text: str) -> list[str]:
    """A text in two parts, as models stream arguments."""
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def chat(model: str, text: str | None) -> Any:
    calls = [{"id": id, "type": "function", "function": {"name": "add", "arguments": json.dumps(given)}} for id, given in CALLS]
    message = {"role": "assistant", "content": text} if text else {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "stop" if text else "tool_calls", "logprobs": None}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage}


def chat_stream(model: str) -> bytes:
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": model}
    chunk = lambda delta, finish=None: {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    deltas = [chunk({"role": "assistant", "content": ""})]
    for index, (id, given) in enumerate(CALLS):
        # Mistral's API gives each call whole.
        first, second = (json.dumps(given), "") if model == "mistral" else pieces(json.dumps(given))
        deltas.append(chunk({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": "add", "arguments": first}}]}))
        if second:
            deltas.append(chunk({"tool_calls": [{"index": index, "function": {"arguments": second}}]}))
    return events(*deltas, chunk({}, "tool_calls"), done=True)


def responses(model: str, text: str | None, status: str = "completed") -> Any:
    calls = [
        {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": "add", "arguments": json.dumps(given), "status": "completed"} for id, given in CALLS
    ]
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}
    return {
        "id": "resp_1", "object": "response", "created_at": 1, "model": model, "status": status, "error": None, "incomplete_details": None, "instructions": None,
        "metadata": {}, "output": [said] if text else calls, "parallel_tool_calls": True, "temperature": 1, "tool_choice": "auto", "tools": [], "top_p": 1,
    }  # fmt: skip


def responses_stream(model: str) -> bytes:
    whole = responses(model, None)
    found: list[Any] = [{"type": "response.created", "response": {**whole, "output": [], "status": "in_progress"}}]
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        found.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": "", "status": "in_progress"}})
        found += [{"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in pieces(item["arguments"])]
        found.append({"type": "response.function_call_arguments.done", **place, "name": "add", "arguments": item["arguments"]})
        found.append({"type": "response.output_item.done", "output_index": index, "item": item})
    found.append({"type": "response.completed", "response": whole})
    return events(*[{**one, "sequence_number": number} for number, one in enumerate(found)], named=True)


def messages(model: str, text: str | None) -> Any:
    blocks = [{"type": "tool_use", "id": id, "name": "add", "input": given} for id, given in CALLS]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [{"type": "text", "text": text}] if text else blocks,
        "stop_reason": "end_turn" if text else "tool_use", "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5},
    }  # fmt: skip


def messages_stream(model: str) -> bytes:
    whole = messages(model, None)
    found: list[Any] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, (block, (_, given)) in enumerate(zip(whole["content"], CALLS)):
        found.append({"type": "content_block_start", "index": index, "content_block": {**block, "input": {}}})
        for piece in pieces(json.dumps(given)):
            found.append({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": piece}})
        found.append({"type": "content_block_stop", "index": index})
    found.append({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 5}})
    return events(*found, {"type": "message_stop"}, named=True)


def gemini(text: str | None) -> Any:
    calls = [{"functionCall": {"id": id, "name": "add", "args": given}} for id, given in CALLS]
    calls[0]["thoughtSignature"] = "c2lnbmF0dXJlPz8+"
    content = {"role": "model", "parts": [{"text": text}] if text else calls}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": {"promptTokenCount": 10}}


def gemini_stream() -> bytes:
    whole = gemini(None)
    parts = whole["candidates"][0]["content"]["parts"]
    return events(*[{"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]} for part in parts])


def cohere(text: str | None) -> Any:
    calls = [{"id": id, "type": "function", "function": {"name": "add", "arguments": json.dumps(given)}} for id, given in CALLS]
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]} if text else {"role": "assistant", "tool_plan": "I add.", "tool_calls": calls}
    return {"id": "1", "finish_reason": "COMPLETE" if text else "TOOL_CALL", "message": message}


def cohere_stream() -> bytes:
    delta = lambda kind, message, **more: {"type": kind, **more, "delta": {"message": message}}
    found: list[Any] = [{"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant"}}}]
    found.append(delta("tool-plan-delta", {"tool_plan": "I add."}))
    for index, (id, given) in enumerate(CALLS):
        call = {"id": id, "type": "function", "function": {"name": "add", "arguments": ""}}
        found.append(delta("tool-call-start", {"tool_calls": call}, index=index))
        for piece in pieces(json.dumps(given)):
            found.append(delta("tool-call-delta", {"tool_calls": {"function": {"arguments": piece}}}, index=index))
        found.append({"type": "tool-call-end", "index": index})
    return events(*found, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}, named=True)


def ollama(model: str, text: str | None) -> Any:
    calls = [{"function": {"name": "add", "arguments": given}} for _, given in CALLS]
    message = {"role": "assistant", "content": text or "", **({} if text else {"tool_calls": calls})}
    return {"model": model, "created_at": "2026-01-01T00:00:00Z", "message": message, "done": True, "done_reason": "stop"}


def ollama_stream(model: str) -> bytes:
    whole = ollama(model, None)
    lines = [{**whole, "done": False, "message": {"role": "assistant", "content": "", "tool_calls": [call]}} for call in whole["message"]["tool_calls"]]
    for line in lines:
        del line["done_reason"]
    return "".join(json.dumps(line) + "\n" for line in [*lines, {**whole, "message": {"role": "assistant", "content": ""}}]).encode()


def converse(text: str | None) -> Any:
    blocks: list[Any] = [{"toolUse": {"toolUseId": id, "name": "add", "input": given}} for id, given in CALLS]
    reasoning = {"reasoningContent": {"redactedContent": "AP8="}}
    content = [{"text": text}] if text else [reasoning, *blocks]
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}
    return {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "end_turn" if text else "tool_use", "usage": usage, "metrics": {"latencyMs": 1}}


def aws_event(kind: str, body: Any) -> bytes:
    """One message of application/vnd.amazon.eventstream."""
    headers = b""
    for name, value in ((":event-type", kind), (":content-type", "application/json"), (":message-type", "event")):
        headers += struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
    payload = json.dumps(body).encode()
    prelude = struct.pack("!II", len(headers) + len(payload) + 16, len(headers))
    said = prelude + struct.pack("!I", binascii.crc32(prelude)) + headers + payload
    return said + struct.pack("!I", binascii.crc32(said))


def converse_stream() -> bytes:
    said = aws_event("messageStart", {"role": "assistant"})
    for index, (id, given) in enumerate(CALLS):
        said += aws_event("contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": {"toolUseId": id, "name": "add"}}})
        for piece in pieces(json.dumps(given)):
            said += aws_event("contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": {"input": piece}}})
        said += aws_event("contentBlockStop", {"contentBlockIndex": index})
    return said + aws_event("messageStop", {"stopReason": "tool_use"})


class Providers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, Any]] = []

    def do_POST(self) -> None:
        body = json.loads(self.read())
        self.asked.append((self.path, body))
        kind, said = self.reply(self.path.split("?")[0].replace("/v1beta/", "/v1/"), body)
        text = said if isinstance(said, bytes) else json.dumps(said).encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def read(self) -> bytes:
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers["content-length"]))
        parts = b""
        while size := int(self.rfile.readline(), 16):
            parts += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return parts

    def reply(self, path: str, body: Any) -> tuple[str, Any]:
        text = final_text(body)
        model = body.get("model", "m")
        if path.endswith("converse-stream"):
            return "application/vnd.amazon.eventstream", converse_stream()
        streamed = body.get("stream", path == "/api/chat") or "stream" in path
        json_type, event_type = "application/json", "text/event-stream"
        whole = {
            "/v1/chat/completions": lambda: chat(model, text),
            "/v1/responses": lambda: responses(model, text),
            "/v1/messages": lambda: messages(model, text),
            "/v2/chat": lambda: cohere(text),
            "/api/chat": lambda: ollama(model, text),
            "/model/m/converse": lambda: converse(text),
            "/v1/models/m:generateContent": lambda: gemini(text),
        }
        if not streamed:
            return json_type, whole[path]()
        return {
            "/v1/chat/completions": lambda: (event_type, chat_stream(model)),
            "/v1/responses": lambda: (event_type, responses_stream(model)),
            "/v1/messages": lambda: (event_type, messages_stream(model)),
            "/v2/chat": lambda: (event_type, cohere_stream()),
            "/api/chat": lambda: ("application/x-ndjson", ollama_stream(model)),
            "/v1/models/m:streamGenerateContent": lambda: (event_type, gemini_stream()),
        }[path]()  # fmt: skip

    def log_message(self, *_: object) -> None:
        pass


def final_text(body: Any) -> str | None:
    """The sums that the results in a request have; `None` where there are none."""
    sums = re.findall(r'\\*"result\\*": ?(\d+)', json.dumps(body))
    return f"sums {' and '.join(sums)}" if sums else None


def serve() -> http.server.ThreadingHTTPServer:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Providers)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
