"""An agent goes on when its memory fails, and hears of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from loci_memory.errors import ConfigurationError, LociError

T = TypeVar("T")
OnError = Callable[[LociError], None]

_log = logging.getLogger("loci_memory")


@dataclass(frozen=True)
class Remembered(Generic[T]):
    """What became of something that should be stored: `value` if it was, else `error`."""

    stored: bool
    value: T | None = None
    error: LociError | None = None


def remember(work: Callable[[], T], on_error: OnError | None = None) -> Remembered[T]:
    """Does something with the memory, and goes on when that is away.

    What went wrong, a `LociError`, is in the result, and told to `on_error`: by default a warning in the
    log "loci_memory", which quotes no content.

        stored = remember(lambda: memory.sessions.append("s1", messages)).stored
    """
    try:
        return Remembered(True, work())
    except ConfigurationError:
        raise  # a mistake of the program, as is all that is no LociError
    except LociError as err:
        return Remembered(False, error=report(err, on_error))


async def aremember(work: Awaitable[T], on_error: OnError | None = None) -> Remembered[T]:
    """`remember` for asyncio: `await aremember(memory.sessions.append("s1", messages))`."""
    try:
        return Remembered(True, await work)
    except ConfigurationError:
        raise
    except LociError as err:
        return Remembered(False, error=report(err, on_error))


def report(error: LociError, on_error: OnError | None = None) -> LociError:
    """Tells an error that is not raised."""
    try:
        (on_error or _warn)(error)
    except Exception:
        _warn(error)  # whoever listens must not break what it listens to
    return error


def _warn(error: LociError) -> None:
    """Messages of errors may quote what was sent; their codes do not."""
    cause = f", {type(error.__cause__).__name__}" if error.__cause__ else ""
    _log.warning("the memory failed: %s (status %s, request %s%s)", error.code, error.status or "none", error.request_id or "none", cause)
