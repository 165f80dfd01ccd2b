"""What goes wrong between a program and its memory."""

from __future__ import annotations

import httpx


class LociError(Exception):
    """A request that Loci refused, or that did not reach it.

    `code` is one of invalid, unauthenticated, forbidden, not_found, conflict,
    too_large, unsupported, unavailable and internal; `recovery` says what to do next.
    """

    def __init__(self, code: str, message: str, *, recovery: str = "", status: int | None = None, request_id: str = "") -> None:
        super().__init__(f"{message} ({code})" if not recovery else f"{message} ({code}). {recovery}")
        self.code = code
        self.message = message
        self.recovery = recovery
        self.status = status
        self.request_id = request_id


def error_of(response: httpx.Response) -> LociError:
    """The error that a response is. What is no problem document of Loci comes from something in between."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    code = body.get("code") or ("unavailable" if response.status_code >= 500 else "invalid")
    message = body.get("detail") or f"the server answered {response.status_code} {response.reason_phrase}"
    return LociError(code, message, recovery=body.get("recovery", ""), status=response.status_code, request_id=body.get("request_id", ""))
