"""Statements that somebody would write, of every kind."""

from __future__ import annotations

#: What the statements below are about.
BASE = """
CREATE STREAM rides (id BIGINT KEY, driver STRING, fare DECIMAL(10, 2), taken TIMESTAMP, a INT, b DOUBLE, flag BOOLEAN,
  day DATE, raw BYTES, tags ARRAY<STRING>, m MAP<STRING, BIGINT>, s STRUCT<x INT, y STRING>)
  WITH (KAFKA_TOPIC='rides', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM calls (k STRING KEY, ride BIGINT, v STRING) WITH (KAFKA_TOPIC='calls', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE drivers (name STRING PRIMARY KEY, home STRUCT<city STRING, zip INT>, tags ARRAY<STRING>, boss STRING)
  WITH (KAFKA_TOPIC='drivers', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE cities (city STRING PRIMARY KEY, people BIGINT)
  WITH (KAFKA_TOPIC='cities', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM long_rides AS SELECT id, driver, fare FROM rides WHERE fare > 10;
CREATE TABLE per_driver AS SELECT driver, COUNT(*) AS n FROM rides GROUP BY driver;
"""

QUERIES = (
    "CREATE STREAM q WITH (PARTITIONS=1, VALUE_FORMAT='JSON') AS SELECT id, fare * 1.1 AS gross, driver FROM rides "
    "WHERE fare > 10.50 AND NOT (driver LIKE 'a!%%' ESCAPE '!') PARTITION BY driver EMIT CHANGES;",
    "CREATE TABLE q AS SELECT driver, COUNT(*) AS n, SUM(fare) total, TOPK(a, 3), MAX(b), AVG(a) FROM rides "
    "WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES, RETENTION 2 DAYS, GRACE PERIOD 5 SECONDS) "
    "GROUP BY driver HAVING COUNT(*) > 1 EMIT CHANGES;",
    "CREATE TABLE q AS SELECT driver, LATEST_BY_OFFSET(id), EARLIEST_BY_OFFSET(a, 2) FROM rides "
    "WINDOW TUMBLING (SIZE 5 MINUTES, GRACE PERIOD 0 SECONDS) GROUP BY driver EMIT FINAL;",
    "CREATE TABLE q WITH (KEY_FORMAT='JSON') AS SELECT driver, flag, COLLECT_LIST(a) c, HISTOGRAM(driver), "
    "WINDOWSTART ws FROM rides WINDOW SESSION (5 MINUTES) GROUP BY driver, flag;",
    "CREATE STREAM q AS SELECT r.id, r.driver AS d, boss, home->city AS town, home->* FROM rides r "
    "LEFT JOIN drivers AS d ON r.driver = d.name;",
    "CREATE STREAM q AS SELECT * FROM rides r INNER JOIN calls c WITHIN (1 HOUR, 2 HOURS) GRACE PERIOD 1 DAY "
    "ON r.id = c.ride;",
    "CREATE TABLE q AS SELECT d.name, c.people, d.home FROM drivers d LEFT JOIN cities c ON d.boss = c.city;",
    "CREATE TABLE q AS SELECT ROWKEY, d.boss, p.n FROM drivers d FULL OUTER JOIN per_driver p ON d.name = p.driver;",
    "CREATE STREAM q AS SELECT id, CASE WHEN fare < 5 THEN 'low' WHEN fare < 50 THEN 'mid' ELSE 'high' END AS band, "
    "CASE driver WHEN 'x' THEN 1 END, CAST(fare AS STRING), -a, +b, 9223372036854775807, tags[1], m['k'], s->x "
    "FROM rides;",
    "CREATE STREAM q AS SELECT id, TRANSFORM(tags, x => UCASE(x) || '!'), REDUCE(m, 0, (st, k, v) => st + a), "
    "FILTER(tags, (t) => t IS NOT NULL AND LEN(t) > 1), ARRAY_LENGTH(tags), ENTRIES(m, true) FROM rides;",
    "CREATE STREAM q AS SELECT id, DATEADD(DAYS, 1, day), FORMAT_TIMESTAMP(taken, 'yyyy-MM-dd HH:mm'), "
    "PARSE_DATE('2024-02-29', 'yyyy-MM-dd'), TIMESTAMPADD(HOURS, a, taken) FROM rides "
    "WHERE taken > '2024-01-01T00:00:00';",
    "CREATE STREAM q AS SELECT id, EXPLODE(tags) AS tag, EXPLODE(ARRAY[1, 2, a]) FROM rides;",
    "CREATE STREAM q AS SELECT id, a + b * fare, a / 0, a % 3, fare - 1.5, b / 2e0, a = b OR flag, "
    "a IS NOT DISTINCT FROM 1, a IN (1, 2, id), a NOT BETWEEN 1 AND b FROM rides WHERE a IS DISTINCT FROM b;",
    "CREATE STREAM q AS SELECT id, SUBSTRING(driver, 2, 3), REGEXP_EXTRACT('(.*)-(.*)', driver, 1), "
    "SPLIT(driver, ','), CONCAT_WS('-', driver, 'x'), COALESCE(driver, 'none'), EXTRACTJSONFIELD(driver, '$.a[0]'), "
    "INITCAP(driver) FROM rides;",
    "CREATE STREAM q AS SELECT id, STRUCT(p := a, q := ARRAY[s]) AS st, MAP('a' := id, driver := 3), "
    "AS_VALUE(id) AS v, ROWTIME AS t, GREATEST(b, 1e0), ROUND(fare, 1), FROM_BYTES(raw, 'hex'), SLICE(tags, 1, 2) "
    "FROM rides;",
    "INSERT INTO long_rides WITH (QUERY_ID='q7') SELECT id, driver, fare FROM rides WHERE fare BETWEEN 1 AND 2e3;",
    "CREATE OR REPLACE STREAM long_rides AS SELECT id, driver, fare FROM rides WHERE fare > 20;",
    "EXPLAIN CREATE STREAM q AS SELECT * FROM rides;",
    "SELECT id, driver FROM rides WHERE a > 1 EMIT CHANGES LIMIT 3;",
    "SELECT * FROM per_driver WHERE driver IN ('a', 'b') AND n >= 3 LIMIT 10;",
)

SEEDS = (
    *QUERIES,
    "CREATE STREAM new (id BIGINT KEY, driver STRING, fare DECIMAL(10, 2), taken TIMESTAMP, d DATE, t TIME) "
    "WITH (KAFKA_TOPIC='new', VALUE_FORMAT='JSON', PARTITIONS=3, TIMESTAMP='taken');",
    "CREATE OR REPLACE TABLE drivers (name VARCHAR PRIMARY KEY, home STRUCT<city STRING, zip INT>, tags ARRAY<STRING>, "
    "boss STRING, since BIGINT) WITH (kafka_topic='drivers', value_format='JSON');",
    "CREATE SOURCE TABLE t (id INT PRIMARY KEY, v STRING) "
    "WITH (KAFKA_TOPIC='t', KEY_FORMAT='KAFKA', VALUE_FORMAT='JSON');",
    "CREATE STREAM IF NOT EXISTS h (k STRING KEY, h ARRAY<STRUCT<key STRING, value BYTES>> HEADERS) "
    "WITH (KAFKA_TOPIC='raw', FORMAT='DELIMITED', VALUE_DELIMITER='TAB');",
    "CREATE TABLE w (k STRING PRIMARY KEY, t BYTES HEADER('trace')) "
    "WITH (KAFKA_TOPIC='w', VALUE_FORMAT='JSON', WINDOW_TYPE='TUMBLING', WINDOW_SIZE='5 SECONDS');",
    "INSERT INTO rides (id, driver, fare, tags, m, s) "
    "VALUES (1, 'it''s', -12.30, ARRAY['a', NULL], MAP('k' := 3), STRUCT(x := 1, y := 'z'));",
    "INSERT INTO calls VALUES ('k', 7, CONCAT('a', 'b'));",
    "INSERT INTO rides (ROWTIME, id, taken, raw) VALUES (1234, 5, '2024-01-01T10:00:00', TO_BYTES('00', 'hex'));",
    "DROP STREAM IF EXISTS joined DELETE TOPIC;",
    "DROP TABLE per_driver;",
    "ALTER STREAM rides ADD COLUMN tip DOUBLE, ADD note STRING;",
    "CREATE TYPE IF NOT EXISTS address AS STRUCT<street STRING, codes MAP<STRING, ARRAY<INT>>>;",
    "DROP TYPE IF EXISTS address;",
    "CREATE SINK CONNECTOR IF NOT EXISTS c WITH ('connector.class'='x', \"a.b\"='y');",
    "DROP CONNECTOR c;",
    "SHOW STREAMS EXTENDED;",
    "LIST ALL TOPICS EXTENDED;",
    "SHOW SOURCE CONNECTORS;",
    "SHOW QUERIES EXTENDED;",
    "SHOW VARIABLES;",
    "DESCRIBE rides EXTENDED;",
    "DESCRIBE FUNCTION ucase;",
    "DESCRIBE TABLES;",
    "EXPLAIN CSAS_LONG_RIDES_1;",
    "PRINT 'rides' FROM BEGINNING INTERVAL 2 LIMIT 5;",
    "TERMINATE ALL;",
    "PAUSE ALL;",
    "RESUME CTAS_PER_DRIVER_3;",
    "SET 'auto.offset.reset'='earliest';",
    "UNSET 'auto.offset.reset';",
    "ALTER SYSTEM 'a'='b';",
    "DEFINE topic = '''quoted''';",
    "UNDEFINE topic;",
    "ASSERT NOT EXISTS TOPIC t WITH (PARTITIONS=1) TIMEOUT 3 SECONDS;",
    "ASSERT SCHEMA SUBJECT 'rides-value' ID 3 TIMEOUT 10 SECONDS;",
    "SELECT `ID`, \"A\", ${topic}.b, '${topic}' FROM `RIDES` ${topic} -- a comment\n"
    "WHERE /* another */ true EMIT CHANGES;",
)
