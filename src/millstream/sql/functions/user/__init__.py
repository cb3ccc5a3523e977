"""Functions of users, in Python: `@udf`, `@udaf` and `@udtf`."""

from __future__ import annotations

from millstream.sql.functions.user.declare import udaf, udf, udtf
from millstream.sql.functions.user.load import Source, add_user_functions

__all__ = ["Source", "add_user_functions", "udaf", "udf", "udtf"]
