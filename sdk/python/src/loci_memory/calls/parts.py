"""A reply with bytes beside its JSON: four bytes with the length of the JSON, the JSON, and the parts."""

from __future__ import annotations

import json
from typing import Any

from loci_memory.calls.form import NotOfForm

MEDIA = "application/vnd.loci.parts"


def unpack(body: bytes) -> Any:
    """A checkpoint whose values have their bytes as data; one that the caller knows has none."""
    if len(body) < 4 or len(body) < 4 + (length := int.from_bytes(body[:4], "big")):
        raise NotOfForm("the reply is cut short")
    head = json.loads(body[4 : 4 + length])
    if not isinstance(head, dict):
        raise NotOfForm("the reply is not a checkpoint")
    try:
        values = [head["checkpoint"], *head["channel_values"].values(), *(w["value"] for w in (*head["pending_writes"], *head["sends"]))]
        if "metadata_typed" in head:
            values.append(head["metadata_typed"])
        for value in values:
            if "part" in value:
                offset, size = value.pop("part")
                start = 4 + length + offset
                if not 0 <= offset <= offset + size <= len(body) - 4 - length:
                    raise NotOfForm("the reply is cut short")
                value["data"] = body[start : start + size]
    except (KeyError, TypeError, AttributeError, ValueError) as err:
        if isinstance(err, NotOfForm):
            raise
        raise NotOfForm("the reply has no parts where they should be") from err
    return head
