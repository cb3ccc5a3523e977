"""SELECT and PRINT: what turns a query into rows on their way to a client."""

from millstream.ksqldb.queries.desk import QueryDesk

__all__ = ["QueryDesk"]
