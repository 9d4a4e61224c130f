"""curl, with nothing but the bytes: the stream is put together as OpenAI's documents say."""

import json
import subprocess

import harness


class Refused(Exception):
    """An answer that is no success, or an error inside of a stream."""

    def __init__(self, status, headers, error):
        super().__init__(error["message"])
        self.status, self.headers, self.error = status, headers, error
        # What every client of OpenAI reads.
        assert set(error) >= {"message", "type", "param", "code"}, error


class Curl(harness.Client):
    def send(self, path, body=None, headers=None):
        command = ["curl", "--silent", "--show-error", "--no-buffer", "--include", "--max-time", str(harness.PATIENCE)]
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            command += ["--header", f"{name}: {value}"]
        if body is not None:
            command += ["--data-binary", json.dumps(body)]
        done = subprocess.run([*command, self.base_url + path], capture_output=True, check=True)
        head, _, payload = done.stdout.decode().partition("\r\n\r\n")
        lines = head.split("\r\n")
        status = int(lines[0].split()[1])
        fields = dict(line.lower().split(": ", 1) for line in lines[1:])
        if status != 200:
            raise Refused(status, fields, json.loads(payload)["error"])
        return payload

    def models(self):
        return [model["id"] for model in json.loads(self.send("/models"))["data"]]

    def complete(self, stream, headers=None, **request):
        if not stream:
            return json.loads(self.send("/chat/completions", request, headers))
        request |= {"stream": True, "stream_options": {"include_usage": True}}
        payload = self.send("/chat/completions", request, headers)
        events = [event.removeprefix("data: ") for event in payload.split("\n\n") if event.startswith("data: ")]
        assert events.pop() == "[DONE]", payload
        return put_together([json.loads(event) for event in events])

    def ask(self, model, stream, more=(), continuation=None):
        extra = {"gateway": {"continue": continuation}} if continuation else {}
        done = self.complete(stream, model=model, messages=harness.question(more), **extra)
        [choice] = done["choices"]
        return {
            "text": choice["message"]["content"],
            "reasoning": choice["message"].get("reasoning_content"),
            "finish": choice["finish_reason"],
            "usage": [done["usage"]["prompt_tokens"], done["usage"]["completion_tokens"]],
            "gateway": done["gateway"],
        }

    def use_tool(self, model, stream, headers):
        messages = harness.question()
        while True:
            request = {"model": model, "messages": messages, "tools": [harness.TOOL]}
            message = self.complete(stream, headers, **request)["choices"][0]["message"]
            if not message.get("tool_calls"):
                return message["content"]
            messages.append(message)
            for call in message["tool_calls"]:
                assert call["function"]["name"] == "lookup", call
                result = self.lookup(**json.loads(call["function"]["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})

    def failure(self, error):
        return {"status": error.status, "retry_after": error.headers.get("retry-after")}


def put_together(chunks):
    """A whole answer from chunks."""
    message, calls = {"role": "assistant", "content": ""}, []
    done = {"choices": [{"message": message}]}
    for chunk in chunks:
        if "error" in chunk:
            raise Refused(None, {}, chunk["error"])
        done |= {key: chunk[key] for key in ("usage", "gateway") if key in chunk}
        for choice in chunk["choices"]:
            delta = choice["delta"]
            for key in ("content", "reasoning_content"):
                if delta.get(key):
                    message[key] = message.get(key, "") + delta[key]
            for part in delta.get("tool_calls", []):
                if part["index"] == len(calls):
                    calls.append({"id": part["id"], "type": "function", "function": {"name": "", "arguments": ""}})
                for key, text in part["function"].items():
                    calls[part["index"]]["function"][key] += text
            if choice["finish_reason"]:
                done["choices"][0]["finish_reason"] = choice["finish_reason"]
    if calls:
        message["tool_calls"] = calls
    return done


harness.run(Curl)
