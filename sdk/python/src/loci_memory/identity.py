"""Whose memory a call is about, as the configuration of LangChain says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from loci_memory.errors import ConfigurationError, LociError

NAMES = {"org_id": "org", "agent_id": "agent", "user_id": "user", "thread_id": "thread"}


def identity_of(configurable: Mapping[str, Any]) -> dict[str, str]:
    """The identity that `configurable` names, as the options of a client. One that is empty is refused: it must not mean someone else."""
    return {name: variable(configurable, key) for key, name in NAMES.items() if key in configurable}


def variable(configurable: Mapping[str, Any], key: str) -> str:
    """The value of a key, as a text."""
    value = configurable.get(key)
    if value is None or value == "":
        raise ConfigurationError(key, configurable)
    if isinstance(value, bool) or not isinstance(value, (str, int, UUID)):
        raise LociError("invalid", f"{key} of configurable is a {type(value).__name__}; it must be a text", recovery="Pass the id alone.")
    return str(value)
