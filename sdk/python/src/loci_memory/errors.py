"""What goes wrong between a program and its memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

CODES = ("invalid", "unauthenticated", "forbidden", "not_found", "conflict", "too_large", "unsupported", "unavailable", "internal")
_NO_ROUTE = "there is nothing at "
_DOUBLED = re.compile(r"/(v1|mcp)/v1/")  # an address of the server that has a path of its own
_MISSING = re.compile(r"ConfigurationError: (Missing key in 'configurable' field: (\w+)\..*)", re.DOTALL)


class LociError(Exception):
    """A request that Loci refused, or that did not reach it.

    `code` is one of invalid, unauthenticated, forbidden, not_found, conflict,
    too_large, unsupported, unavailable and internal; `recovery` says what to do next,
    `status` is that of HTTP (None: no response came), `request_id` names the request in
    the server's log, `parts` are the places of the request that are wrong.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        recovery: str = "",
        status: int | None = None,
        request_id: str = "",
        parts: list[dict[str, str]] | None = None,
    ) -> None:
        super().__init__(f"{message} ({code})" if not recovery else f"{message} ({code}). {recovery}")
        self.code = code
        self.message = message
        self.recovery = recovery
        self.status = status
        self.request_id = request_id
        self.parts = parts or []


class ConfigurationError(LociError):
    """A call that does not say whose memory it means, or where: a variable of its configuration is missing.

    It is a mistake of the program, so no adapter goes on without the memory, and no model is told.
    """

    def __init__(self, key: str, available: Iterable[str] = (), *, message: str = "") -> None:
        names = [name for name in available if not name.startswith("__")]  # those are LangGraph's own
        text = message or f"Missing key in 'configurable' field: {key}. Available keys: {names}"
        super().__init__("invalid", text, recovery='Pass it with the call: {"configurable": {"…": "…"}}.')
        self.key = key

    def __str__(self) -> str:
        return self.message


def error_of(status: int, headers: Mapping[str, str], text: bytes) -> LociError:
    """The error that a response is: a problem document of Loci, or what stands between it and this client."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    problem = problem_of(body, status)
    if problem and status == 404 and problem.message.startswith(_NO_ROUTE):
        # It must not read as "there is no such thing".
        if _DOUBLED.search(problem.message):
            recovery = "Give the address without its last part, such as http://127.0.0.1:7437."
            return LociError("invalid", f"url ends in /v1 or /mcp, and the client adds the path itself: {problem.message}", recovery=recovery, status=status)
        return LociError("unsupported", f"the server is older than this client: {problem.message}", recovery="Update the server.", status=status)
    return problem or _foreign(status, headers.get("X-Request-Id", ""))


def problem_of(body: Any, status: int | None = None) -> LociError | None:
    """The error in a problem document (RFC 9457) as Loci writes it; None: it is none."""
    if not isinstance(body, dict) or not isinstance(body.get("code"), str) or body["code"] not in CODES:
        return None
    message = str(body.get("detail") or body.get("title") or body["code"])
    if missing := _MISSING.fullmatch(message):
        return ConfigurationError(missing[2], message=missing[1])
    return LociError(
        body["code"],
        message,
        recovery=str(body.get("recovery") or ""),
        status=status,
        request_id=str(body.get("request_id") or ""),
        parts=[part for part in _list(body.get("errors")) if isinstance(part, dict)],
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _foreign(status: int, request_id: str) -> LociError:
    """A response that is not of Loci's making. It must not read as "there is no such thing"."""
    if status == 401:
        code, message, recovery = "unauthenticated", "the server asks for authentication", "Give the client an api_key."
    elif status == 403:
        code, message, recovery = "forbidden", "the server refuses the request", ""
    elif status == 413:
        code, message, recovery = "too_large", "the server or a proxy in front of it takes no request of this size", "Send less at once."
    elif status in (408, 429) or status >= 500:
        code, message, recovery = "unavailable", f"the server answered {status}", "Try again later."
    else:
        code, message = "unsupported", f"what answered ({status}) is no Loci server, or one of another version"
        recovery = "Check the client's url: GET /v1/info there says what the server is."
    return LociError(code, message, recovery=recovery, status=status, request_id=request_id)
