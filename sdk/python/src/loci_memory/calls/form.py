"""What a reply must be: nothing that a server says is believed before it is checked."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
NULL = "null"  # marks a list that a server may write as null
Listed = Annotated[list[T], NULL]

_NAMES = {str: "a text", int: "an integer", float: "a number", bool: "true or false", dict: "an object", list: "a list", type(None): "null"}


class NotOfForm(ValueError):
    """Says what is wrong with a reply."""


def checked(value: Any, form: Any, where: str = "the reply") -> Any:
    """The value, if it has the form of a type of `loci_memory.replies`; fields that the form does not know are let through."""
    origin = get_origin(form)
    if origin is Annotated:
        return [] if value is None else checked(value, get_args(form)[0], where)
    if form is Any:
        return value
    if origin is Union:  # with None
        return None if value is None else checked(value, get_args(form)[0], where)
    if origin is Literal:  # a later server may know more
        form = str
    if origin is list:
        inner = get_args(form)[0]
        return [checked(one, inner, f"{where}[{at}]") for at, one in enumerate(_of(value, list, where))]
    if origin is dict:
        inner = get_args(form)[1]
        return {name: checked(one, inner, f"{where}.{name}") for name, one in _of(value, dict, where).items()}
    if hasattr(form, "__required_keys__"):
        return _object(value, form, where)
    return _of(value, form, where)


def _object(value: Any, form: Any, where: str) -> dict[str, Any]:
    fields = _of(value, dict, where)
    for name in form.__required_keys__:
        if name not in fields:
            raise NotOfForm(f"{where} has no {name}")
    hints = _hints(form)
    return {name: checked(one, hints[name], f"{where}.{name}") if name in hints else one for name, one in fields.items()}


@functools.cache
def _hints(form: Any) -> Mapping[str, Any]:
    return get_type_hints(form, include_extras=True)


def _of(value: Any, kind: type, where: str) -> Any:
    kinds = (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
        raise NotOfForm(f"{where} is {_NAMES.get(type(value), 'something else')}; it must be {_NAMES[kind]}")
    return value
