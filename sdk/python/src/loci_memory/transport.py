"""Sends requests: headers, time limits, attempts, errors."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
import random
import ssl
import sys
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

import httpx

from loci_memory.calls import Call
from loci_memory.calls.form import NotOfForm, checked
from loci_memory.calls.parts import MEDIA, unpack
from loci_memory.errors import LociError, error_of

DEFAULT_URL = "http://127.0.0.1:7437"
DEFAULT_TIMEOUT = 60.0  # seconds; what a server gives a request by default
DEFAULT_RETRIES = 3
LONGEST_WAIT = 30.0  # seconds; a server that asks for more is not waited for
LARGEST = 256 << 20  # bytes of a response
BUSY = (408, 429, 502, 503, 504)  # answers after which another attempt may succeed

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """What may differ from call to call. `headers` are bytes, in the order they are sent."""

    timeout: float = DEFAULT_TIMEOUT
    retries: int = DEFAULT_RETRIES
    headers: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def changed(self, *, timeout: float | None, retries: int | None, headers: Mapping[str, str] | None, **identity: str | None) -> Options:
        """Options where what is None stays."""
        names = {name.capitalize(): value for name, value in identity.items() if value is not None}
        added = {**(headers or {}), **{"Loci-" + name: value for name, value in names.items()}}
        out = replace(self, headers={**self.headers, **{name: _header(name, value) for name, value in added.items()}})
        if timeout is not None:
            if not isinstance(timeout, (int, float)) or not 0 < timeout < float("inf"):
                raise LociError("invalid", f"timeout is {timeout!r}; it must be a number of seconds above 0")
            out = replace(out, timeout=timeout)
        if retries is not None:
            if not isinstance(retries, int) or not 0 <= retries <= 10:
                raise LociError("invalid", f"retries is {retries!r}; it must be a whole number from 0 to 10")
            out = replace(out, retries=retries)
        return out


    def acting(self, identity: Mapping[str, str]) -> Options:
        """Options of a call about whom it names, and about nobody whom these options add.

        As on the server, what is narrower than the broadest name goes unless it is named, too.
        """
        broadest = min((_BREADTH[name] for name in identity), default=len(_BREADTH))
        replaced = {"Loci-" + name.capitalize() for name, breadth in _BREADTH.items() if breadth > broadest}
        kept = {name: value for name, value in self.headers.items() if name not in replaced}
        return replace(self, headers=kept).changed(timeout=None, retries=None, headers=None, **identity)


_BREADTH = {"org": 0, "agent": 1, "user": 2, "thread": 3, "session": 3}  # from broad to narrow


def first_options(api_key: str | None, url: str | None, given: Mapping[str, str] | None) -> Options:
    """The options of a client before any are chosen."""
    headers = {"User-Agent": "loci-memory-python", "Accept": "application/json"}
    authorized = any(name.lower() == "authorization" for name in given or ())
    if url is not None and not isinstance(url, (str, httpx.URL)):
        raise LociError("invalid", f"url must be a text, not a {type(url).__name__}", recovery="Give an adapter its client as client=…")
    if api_key is not None:
        _header("api_key", api_key)  # an empty one would let another credential through
    if key := api_key or os.environ.get("LOCI_API_KEY") or (None if authorized else local_token(url)):
        headers["Authorization"] = "Bearer " + key
    return Options().changed(timeout=None, retries=None, headers=headers)


def local_token(url: str | None) -> str | None:
    """The token that `loci serve` keeps for programs of its user, if the server is on this machine; elsewhere it is no business of anybody."""
    try:
        if not _here(httpx.URL(url or os.environ.get("LOCI_URL") or DEFAULT_URL)):
            return None
        file = os.environ.get("LOCI_AUTH_TOKEN_FILE") or _data_directory() / "loci" / "token"
        return Path(file).read_text(encoding="ascii").strip() or None
    except (httpx.InvalidURL, OSError, RuntimeError, ValueError):
        return None  # the url is checked where it is used; there need not be a token


def _data_directory() -> Path:
    own = Path(os.environ.get("XDG_DATA_HOME", ""))
    if own.is_absolute():
        return own
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path.home() / ("Library/Application Support" if sys.platform == "darwin" else ".local/share")


def _here(url: httpx.URL) -> bool:
    try:
        return url.host == "localhost" or ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False  # a name, which may lead anywhere


class _Hidden(bytes):
    """A value that no log and no traceback shows."""

    def __repr__(self) -> str:
        return "b'…'"


def _header(name: str, value: str) -> bytes:
    """A header's value in UTF-8. Headers lose white space at their ends, so there may be none."""
    if not isinstance(value, str) or not value or value.strip() != value or any(c < " " or c == "\x7f" for c in value):
        raise LociError("invalid", f"{name} must be a text that is not empty, without control characters and white space at its ends")
    try:
        return _Hidden(value.encode())
    except UnicodeEncodeError as err:
        raise LociError("invalid", f"{name} is not well-formed Unicode") from err


@cache
def _certificates(trust_env: bool) -> ssl.SSLContext:
    """By which servers are known. To read them takes 50 ms, so that all clients of a program share them."""
    return httpx.create_ssl_context(trust_env=trust_env)


def _settings(url: str | None, transport: Any) -> dict[str, Any]:
    given = url or os.environ.get("LOCI_URL") or DEFAULT_URL
    try:
        base = httpx.URL(given)
    except httpx.InvalidURL as err:
        raise LociError("invalid", f"url is none: {err}", recovery=f"Give one such as {DEFAULT_URL}.") from err
    if base.scheme not in ("http", "https") or not base.host or base.userinfo or base.query or base.fragment:
        raise LociError("invalid", "url must be http or https, with a host and without a user, a query and a fragment", recovery="Give credentials as api_key.")
    # What is on this machine is not asked for by way of a proxy of the environment.
    here = _here(base)
    return {"base_url": base, "transport": transport, "trust_env": not here, "follow_redirects": False, "verify": _certificates(not here)}


class _Sending(Generic[T]):
    """One call, from attempt to attempt."""

    def __init__(self, call: Call[T], options: Options, idempotency_key: str | None) -> None:
        self._call = call
        self._options = options
        self._attempts = 1 if call.fragile else 1 + options.retries
        headers: dict[str, bytes] = dict(options.headers)
        if call.once:
            key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
            headers["Idempotency-Key"] = _header("idempotency_key", key)
        if call.parts:
            headers["Accept"] = f"{MEDIA}, application/json".encode()
        if call.on:
            headers["Prefer"] = b"parts"
        if call.known:
            headers["If-None-Match"] = ", ".join(f'"{id}"' for id in call.known).encode()
        content = None
        if call.body is not None:
            headers["Content-Type"] = b"application/json"
            content = _encode(call.body)
        self.request: dict[str, Any] = {
            "method": call.method,
            "url": call.path,
            "params": call.query,
            "content": content,
            "headers": headers,
            "timeout": options.timeout,
        }

    def result(self, answer: _Answer) -> T | _Wait:
        """What the response says, or how long to wait for the next attempt. It raises where there is none."""
        call = self._call
        if 200 <= answer.status < 300:
            try:
                return call.read(answer.of(call.form))
            except ValueError as err:  # NotOfForm, or no JSON
                fault = err if isinstance(err, NotOfForm) else "the reply is not JSON"
                raise LociError(
                    "unsupported",
                    f"what answered {call.method} {call.path} ({answer.status}) is no Loci server, or one of another version: {fault}",
                    recovery="Check the client's url: GET /v1/info there says what the server is.",
                    status=answer.status,
                    request_id=answer.headers.get("X-Request-Id", ""),
                ) from err
        error = error_of(answer.status, answer.headers, answer.body)
        if call.optional and error.code == "not_found":
            return call.read(None)
        if answer.status in BUSY:
            return self._again(error, _retry_after(answer.headers.get("Retry-After")))
        raise error

    def unanswered(self, err: Exception) -> _Wait:
        """How long to wait after an attempt without a response."""
        late = isinstance(err, (httpx.TimeoutException, TimeoutError))
        message = f"the server did not answer within {self._options.timeout:g} seconds" if late else "the server cannot be reached"
        error = LociError("unavailable", message, recovery="See whether loci serve runs at the client's url.")
        error.__cause__ = err
        return self._again(error, 0)

    def unsent(self, err: httpx.InvalidURL) -> LociError:
        return LociError("invalid", f"the request has no address: {err}", recovery="Choose a shorter id.")

    def _again(self, error: LociError, least: float) -> _Wait:
        self._attempts -= 1
        if self._attempts <= 0 or least > LONGEST_WAIT:
            raise error
        made = self._options.retries - self._attempts
        return _Wait(max(least, random.uniform(0, min(5.0, 0.1 * 2**made))))


@dataclass(frozen=True)
class _Wait:
    seconds: float


class _Answer:
    """A response as it comes in. Servers that never stop sending are left."""

    def __init__(self, response: httpx.Response, deadline: float) -> None:
        self.status, self.headers = response.status_code, response.headers
        self._parts: list[bytes] = []
        self._length = 0
        self._deadline = deadline

    def take(self, part: bytes) -> None:
        if time.monotonic() > self._deadline:
            raise TimeoutError
        self._length += len(part)
        if self._length > LARGEST:
            raise LociError("too_large", f"the response is longer than {LARGEST} bytes", recovery="Ask for less at once.", status=self.status)
        self._parts.append(part)

    @property
    def body(self) -> bytes:
        return b"".join(self._parts)

    def of(self, form: Any) -> Any:
        """What the response says, if it has a form. None: it says nothing."""
        if form is None:
            if self.status != 204 or self.body:
                raise NotOfForm("the reply must be empty, with the status 204")
            return None
        if not self.body:
            raise NotOfForm("the reply is empty")
        try:
            if self.headers.get("Content-Type") == MEDIA:
                return checked(unpack(self.body), form)
            return checked(json.loads(self.body, parse_constant=_no_number), form)
        except RecursionError as err:
            raise NotOfForm("the reply nests too deep") from err


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


def _encode(body: Any) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as err:
        raise LociError("invalid", f"the request cannot be written as JSON: {err}", recovery="Leave out what JSON cannot say, such as NaN.") from err


def _retry_after(header: str | None) -> float:
    """Seconds that a Retry-After header asks for: seconds or a date."""
    if header is None:
        return 0
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return 0


class Transport:
    """Sends calls and waits for their replies. Several threads may share one."""

    def __init__(self, url: str | None, options: Options, transport: httpx.BaseTransport | None) -> None:
        self._http = httpx.Client(**_settings(url, transport))
        self.url = str(self._http.base_url)
        self.options = options
        self.own = transport is not None  # of the program's making

    def having(self, options: Options) -> Transport:
        """The same connections with other options."""
        out = object.__new__(Transport)
        out._http, out.url, out.options, out.own = self._http, self.url, options, self.own
        return out

    def run(self, call: Call[T], *, idempotency_key: str | None = None) -> T:
        sending = _Sending(call, self.options, idempotency_key)
        while True:
            if self._http.is_closed:
                raise LociError("unavailable", "the client is closed", recovery="Make a new one.")
            deadline = time.monotonic() + self.options.timeout
            try:
                with self._http.stream(**sending.request) as response:
                    answer = _Answer(response, deadline)
                    for part in response.iter_bytes():
                        answer.take(part)
            except (httpx.HTTPError, TimeoutError) as err:
                result: T | _Wait = sending.unanswered(err)
            except httpx.InvalidURL as err:
                raise sending.unsent(err) from err
            else:
                result = sending.result(answer)
            if not isinstance(result, _Wait):
                return result
            time.sleep(result.seconds)

    def close(self) -> None:
        self._http.close()


class _Connections:
    """A pool of connections for each event loop: connections of one that has ended are of no use in the next."""

    def __init__(self, url: str | None, transport: httpx.AsyncBaseTransport | None) -> None:
        self._settings = _settings(url, transport)
        self.url = self._settings["base_url"]
        self._of: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def here(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._of:
                self._of[loop] = httpx.AsyncClient(**self._settings)
            return self._of[loop]

    async def close(self) -> None:
        with self._lock:
            client = self._of.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()


class AsyncTransport:
    """`Transport` for asyncio."""

    def __init__(self, url: str | None, options: Options, transport: httpx.AsyncBaseTransport | None) -> None:
        self._connections = _Connections(url, transport)
        self.url = str(self._connections.url)
        self.options = options
        self.own = transport is not None  # of the program's making

    def having(self, options: Options) -> AsyncTransport:
        """The same connections with other options."""
        out = object.__new__(AsyncTransport)
        out._connections, out.url, out.options, out.own = self._connections, self.url, options, self.own
        return out

    async def run(self, call: Call[T], *, idempotency_key: str | None = None) -> T:
        sending = _Sending(call, self.options, idempotency_key)
        while True:
            deadline = time.monotonic() + self.options.timeout
            try:
                async with self._connections.here().stream(**sending.request) as response:
                    answer = _Answer(response, deadline)
                    async for part in response.aiter_bytes():
                        answer.take(part)
            except (httpx.HTTPError, TimeoutError) as err:
                result: T | _Wait = sending.unanswered(err)
            except httpx.InvalidURL as err:
                raise sending.unsent(err) from err
            else:
                result = sending.result(answer)
            if not isinstance(result, _Wait):
                return result
            await asyncio.sleep(result.seconds)

    async def close(self) -> None:
        """Closes the connections of the running loop."""
        await self._connections.close()
