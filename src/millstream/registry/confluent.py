"""A Confluent Schema Registry, by Confluent's own client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka.schema_registry import RegisteredSchema as ClientRegistered
from confluent_kafka.schema_registry import Schema as ClientSchema
from confluent_kafka.schema_registry import SchemaReference as ClientReference
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from millstream.errors import RegistryError
from millstream.registry.schemas import RegisteredSchema, SchemaReference

T = TypeVar("T")

_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT = 401, 403, 404, 409


class ConfluentRegistry:
    """The registry at a URL. It can be sent to other processes: each makes a client of its own, when it needs one.

    Args:
        url: where it is; several with commas between them.
        options: what else the client takes (`basic.auth.user.info`, `ssl.ca.location` ...).
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self._config = {**(options or {}), "url": url}
        self._client: SchemaRegistryClient | None = None
        self._by_id: dict[int, RegisteredSchema] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        options = {name: value for name, value in self._config.items() if name != "url"}
        return ConfluentRegistry, (self._config["url"], options)

    def latest(self, subject: str) -> RegisteredSchema | None:
        # `get_latest_version` would remember its first answer.
        return self._registered(lambda client: client.get_version(subject, "latest"), f"the schemas of {subject}")

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        return self._registered(
            lambda client: client.get_version(subject, version), f"version {version} of the schemas of {subject}"
        )

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        found = self._by_id.get(schema_id)
        if found is None:
            schema = self._ask(lambda client: client.get_schema(schema_id), f"schema {schema_id}")
            if schema is None:
                return None
            found = self._by_id[schema_id] = _schema(schema, schema_id)
        return found

    def lookup(self, subject: str, schema: RegisteredSchema) -> int | None:
        given = _client_schema(schema)
        found = self._ask(lambda client: client.lookup_schema(subject, given), f"a schema of {subject}")
        return None if found is None else found.schema_id

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        try:
            return self._connected().register_schema(subject, _client_schema(schema))
        except SchemaRegistryError as error:
            raise self._refused(subject, error) from error
        except RegistryError:
            raise
        except Exception as error:  # whatever the HTTP client raises
            raise self._unreachable(f"a schema for subject {subject}", error) from error

    def withdraw(self, subject: str, schema_id: int) -> None:
        what = f"the withdrawal of schema {schema_id} from {subject}"
        newest = self._ask(lambda client: client.get_version(subject, "latest"), what)
        if newest is None or newest.schema_id != schema_id or newest.version is None:
            return
        version = newest.version
        self._ask(lambda client: client.delete_version(subject, version), what)
        self._client = None  # it would remember the schema, and not register it again

    def _registered(
        self, ask: Callable[[SchemaRegistryClient], ClientRegistered], what: str
    ) -> RegisteredSchema | None:
        found = self._ask(ask, what)
        return None if found is None or found.schema is None else _schema(found.schema, found.schema_id)

    def _ask(self, ask: Callable[[SchemaRegistryClient], T], what: str) -> T | None:
        try:
            return ask(self._connected())
        except SchemaRegistryError as error:
            if error.http_status_code == _NOT_FOUND:
                return None
            raise self._failed(f"the schema registry did not give {what}", error) from error
        except RegistryError:
            raise
        except Exception as error:  # whatever the HTTP client raises
            raise self._unreachable(what, error) from error

    def _connected(self) -> SchemaRegistryClient:
        if self._client is None:
            try:
                self._client = SchemaRegistryClient(dict(self._config))
            except (ValueError, TypeError, OSError) as error:
                raise RegistryError(
                    "the settings of the schema registry cannot be used",
                    detail=str(error),
                    hint="they are url, basic.auth.user.info, bearer.auth.token, ssl.ca.location, "
                    "ssl.certificate.location, ssl.key.location, timeout ..., in StreamsConfig(client=...) "
                    "with schema.registry. in front",
                ) from error
        return self._client

    def _refused(self, subject: str, error: SchemaRegistryError) -> RegistryError:
        if error.http_status_code == _CONFLICT:
            return RegistryError(
                f"subject '{subject}' has earlier schemas that the new one is incompatible with",
                detail=f"{error.error_message}; {self._where()}",
                hint="give new fields a default, and take away or change only what the subject's compatibility level "
                "allows; or write to another topic",
            )
        return self._failed(f"the schema registry refuses the schema for subject '{subject}'", error)

    def _failed(self, what: str, error: SchemaRegistryError) -> RegistryError:
        hint = None
        if error.http_status_code in (_UNAUTHORIZED, _FORBIDDEN):
            hint = "give credentials that may do this: schema.registry.basic.auth.user.info or bearer.auth.token"
        return RegistryError(
            what, detail=f"{error.error_message} (HTTP {error.http_status_code}); {self._where()}", hint=hint
        )

    def _unreachable(self, what: str, error: Exception) -> RegistryError:
        return RegistryError(
            f"the schema registry does not answer, asked for {what}",
            detail=f"{self._where()}: {type(error).__name__}: {error}",
            hint="check that it runs, and the URL (schema.registry.url; ksql.schema.registry.url in SQL)",
        )

    def _where(self) -> str:
        """The URL as errors show it: without a password."""
        return ",".join(_without_credentials(url) for url in str(self._config["url"]).split(","))


def _without_credentials(url: str) -> str:
    scheme, separator, rest = url.strip().partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _client_schema(schema: RegisteredSchema) -> ClientSchema:
    references = [ClientReference(part.name, part.subject, part.version) for part in schema.references]
    return ClientSchema(schema.text, schema.kind, references)


def _schema(schema: ClientSchema, schema_id: int | None) -> RegisteredSchema:
    references = tuple(
        SchemaReference(part.name or "", part.subject or "", part.version or 1) for part in schema.references or ()
    )
    return RegisteredSchema(schema.schema_type or "AVRO", schema.schema_str or "", references, schema_id)
