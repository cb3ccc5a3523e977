"""Tables: dictionaries that agents keep their state in, plain and windowed."""

from millstream.agents.tables.base import TableBase as TableBase
from millstream.agents.tables.table import Table as Table
from millstream.agents.tables.windowed import WindowedTable as WindowedTable
