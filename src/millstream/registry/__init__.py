"""Schema registries: what schemas are, where they are kept, and the bytes in front of data."""

from millstream.registry.memory import InMemoryRegistry
from millstream.registry.schemas import RegisteredSchema, SchemaReference, SchemaRegistry

__all__ = ["InMemoryRegistry", "RegisteredSchema", "SchemaReference", "SchemaRegistry"]
