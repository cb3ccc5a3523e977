"""Pull queries: what a WHERE looks up, in which store, and the rows that come of it."""

from millstream.sql.pull.lookups import KeyLookup, Lookup, RangeLookup, Scan, Times
from millstream.sql.pull.plan import PullPlan, plan_pull
from millstream.sql.pull.rows import Found, StoredRows

__all__ = [
    "Found",
    "KeyLookup",
    "Lookup",
    "PullPlan",
    "RangeLookup",
    "Scan",
    "StoredRows",
    "Times",
    "plan_pull",
]
