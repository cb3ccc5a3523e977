"""`Record`: values with named, typed fields, written as JSON."""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Self, dataclass_transform

import msgspec

from millstream.agents.typed import dump_json

_OPTIONAL = re.compile(r"^(typing\.)?Optional\[|\|\s*None\b|\bNone\s*\|")


class Field:
    """A field of a record's class, as in `group_by(Order.account)`: gives the field of a value."""

    def __init__(self, name: str, is_text: bool) -> None:
        self.field = name
        #: Keys made of it are plain text, not JSON.
        self.is_text = is_text

    def __get__(self, record: Any, of: type) -> Field:
        if record is not None:  # what is found in a record itself never comes here
            raise AttributeError(self.field)
        return self

    def __call__(self, record: Any) -> Any:
        return getattr(record, self.field)

    def __repr__(self) -> str:
        return f"<field {self.field}>"


@dataclass_transform()
class Record:
    """A class with annotated fields becomes a dataclass that knows how to be read from JSON and written as such.

    Values are checked when they are read; `docs/errors-and-dead-letters.md` says what becomes of those that do not fit.
    Fields that a class does not have are passed over. Datetimes travel as ISO 8601, decimals as text. `Optional` fields
    are None by default. Faust's class keywords are accepted and have no effect.

    >>> class Order(Record):
    ...     account: str
    ...     amount: int = 1
    >>> Order.loads(b'{"account": "a1", "more": true}')
    Order(account='a1', amount=1)
    >>> Order("a1", amount=3).dumps()
    b'{"account":"a1","amount":3}'
    >>> Order("a1").derive(amount=4).asdict()
    {'account': 'a1', 'amount': 4}
    """

    def __init_subclass__(cls, **faust_options: Any) -> None:
        super().__init_subclass__()
        for name, annotation in vars(cls).get("__annotations__", {}).items():
            if name not in vars(cls) and _is_optional(annotation):
                setattr(cls, name, None)
        dataclasses.dataclass(cls)
        for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # it is one now
            # Only the class shows these: the values in a record come first.
            setattr(cls, field.name, Field(field.name, field.type in (str, "str")))

    @classmethod
    def loads(cls, data: bytes | str) -> Self:
        """A record of JSON."""
        return msgspec.json.decode(data, type=cls)

    def dumps(self) -> bytes:
        """The record as JSON."""
        return dump_json(self)

    def asdict(self) -> dict[str, Any]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def to_representation(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def derive(self, **changes: Any) -> Self:
        """A copy with other values."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    @classmethod
    def from_data(cls, data: Any) -> Self:
        """A record of a dict."""
        return msgspec.convert(data, cls)


def _is_optional(annotation: Any) -> bool:
    return _OPTIONAL.search(annotation if isinstance(annotation, str) else str(annotation)) is not None
