"""Plays the Messages API: a model that works through a list of commands, one a turn,
and ends. It checks the form of each request and notes every result.

usage: model.py SCRIPT RESULTS; it prints its address.

SCRIPT is a JSON list of commands; RESULTS gets a JSON list of {"command", "text",
"is_error"} when the conversation has ended.
"""

import http.server
import json
import sys

script = json.load(open(sys.argv[1]))
results = []


def text_of(content):
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def turns_before(request):
    """How often the model has answered: a request continues a thread of the server, or
    brings the whole conversation."""
    thread = request.get("thread") or {}
    if thread.get("type") == "continue":
        return int(thread["previous_message_id"].removeprefix("msg_")) + 1
    return sum(message["role"] == "assistant" for message in request["messages"])


def answer(request):
    turn = turns_before(request)
    if turn == 0:
        tools = [tool for tool in request["tools"] if tool.get("type") == "memory_20250818"]
        assert len(tools) == 1 and tools[0]["name"] == "memory", request["tools"]
    else:
        last = request["messages"][-1]
        assert last["role"] == "user", last
        result = last["content"][0]
        assert result["type"] == "tool_result" and result["tool_use_id"] == f"toolu_{turn - 1}", result
        results.append({"command": script[turn - 1], "text": text_of(result["content"]), "is_error": bool(result.get("is_error"))})
    if turn < len(script):
        content = [{"type": "tool_use", "id": f"toolu_{turn}", "name": "memory", "input": script[turn]}]
        stop = "tool_use"
    else:
        content, stop = [{"type": "text", "text": "I shall remember."}], "end_turn"
        with open(sys.argv[2], "w") as out:
            json.dump(results, out)
    return {"id": f"msg_{turn}", "type": "message", "role": "assistant", "model": request["model"], "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            assert self.path.split("?")[0] == "/v1/messages", self.path
            status, reply = 200, answer(json.loads(body))
        except Exception as error:
            status, reply = 400, {"type": "error", "error": {"type": "invalid_request_error", "message": repr(error)}}
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
