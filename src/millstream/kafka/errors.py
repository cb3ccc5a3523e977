"""What can go wrong between an application and its brokers.

StreamsError
└── KafkaError                a request failed
    ├── BrokerUnavailable     nothing answers at the bootstrap servers, or not in time
    ├── AuthenticationFailed  wrong or missing credentials, or not allowed
    ├── TopicMissing          a topic does not exist
    └── DevBrokerError        the development broker cannot be fetched, started or found
"""

from __future__ import annotations

from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from millstream.errors import StreamsError


class KafkaError(StreamsError):
    """A request to Kafka failed. librdkafka's exception, if there is one, is `__cause__`."""


class BrokerUnavailable(KafkaError):
    """No broker answers, or not in time. Trying again later may help."""


class AuthenticationFailed(KafkaError):
    """The broker refuses the credentials, or the user may not do this."""


class TopicMissing(KafkaError):
    """A topic does not exist."""


class DevBrokerError(KafkaError):
    """The development broker cannot be fetched, started or found."""


UNAVAILABLE = frozenset(
    {
        ClientError._ALL_BROKERS_DOWN,
        ClientError._TRANSPORT,
        ClientError._TIMED_OUT,
        ClientError._TIMED_OUT_QUEUE,
        ClientError._MSG_TIMED_OUT,
        ClientError._RESOLVE,
        ClientError._WAIT_COORD,
        ClientError.REQUEST_TIMED_OUT,
        ClientError.BROKER_NOT_AVAILABLE,
        ClientError.COORDINATOR_NOT_AVAILABLE,
        ClientError.COORDINATOR_LOAD_IN_PROGRESS,
        ClientError.NOT_COORDINATOR,
        # A broker that has just come back, or one that is not the leader any more.
        ClientError.LEADER_NOT_AVAILABLE,
        ClientError.NOT_LEADER_FOR_PARTITION,
        ClientError.REPLICA_NOT_AVAILABLE,
        ClientError.FENCED_LEADER_EPOCH,
        ClientError.UNKNOWN_LEADER_EPOCH,
        ClientError.OFFSET_NOT_AVAILABLE,
        ClientError.KAFKA_STORAGE_ERROR,
        ClientError.NETWORK_EXCEPTION,
    }
)
REFUSED = frozenset(
    {
        ClientError._AUTHENTICATION,
        ClientError._SSL,
        ClientError.SASL_AUTHENTICATION_FAILED,
        ClientError.UNSUPPORTED_SASL_MECHANISM,
        ClientError.ILLEGAL_SASL_STATE,
        ClientError.TOPIC_AUTHORIZATION_FAILED,
        ClientError.GROUP_AUTHORIZATION_FAILED,
        ClientError.CLUSTER_AUTHORIZATION_FAILED,
        ClientError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
_MISSING = frozenset(
    {
        ClientError.UNKNOWN_TOPIC_OR_PART,
        ClientError._UNKNOWN_TOPIC,
        ClientError._UNKNOWN_PARTITION,
        ClientError._NOENT,  # "no leaders found": what offsets of a missing topic end with
    }
)


def may_pass(error: ClientError) -> bool:
    """Whether what a client said can be waited out."""
    return not error.fatal() and (error.retriable() or error.code() in UNAVAILABLE)


def translate(error: KafkaException | ClientError, doing: str, servers: str | None = None) -> KafkaError:
    """Say in Millstream's words what a client said.

    Args:
        error: what the client raised or reported.
        doing: what was tried: "cannot <doing>".
        servers: where it was tried.
    """
    reason: ClientError = error.args[0] if isinstance(error, KafkaException) else error
    code = reason.code()
    found: KafkaError
    if code in REFUSED:
        found = AuthenticationFailed(
            f"cannot {doing}: the broker refuses it",
            detail=_detail(reason, servers),
            hint="check security.protocol, sasl.mechanism, sasl.username, sasl.password and the user's permissions",
        )
    elif code in UNAVAILABLE:
        found = BrokerUnavailable(
            f"cannot {doing}: no broker answers",
            detail=_detail(reason, servers),
            hint="check bootstrap_servers, security.protocol and the brokers; `millstream broker start` starts one",
        )
    elif code in _MISSING:
        found = TopicMissing(
            f"cannot {doing}: the topic does not exist",
            detail=_detail(reason, servers),
            hint="create it, for example with `millstream topics create`",
        )
    else:
        found = KafkaError(f"cannot {doing}", detail=_detail(reason, servers))
    if isinstance(error, KafkaException):
        found.__cause__ = error
    return found


def _detail(reason: ClientError, servers: str | None) -> str:
    text = f"{reason.name()}: {reason.str()}"
    return text if servers is None else f"{text} (bootstrap servers {servers})"
