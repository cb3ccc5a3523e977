"""Runs conformance cases: what real Kafka Streams did with a topology, compared with what Millstream does.

A case file is a JSON array of cases; each has a topology, input steps and the expected results. From the shell:

    python -m millstream.testing.conformance cases/*.json --json report.json

From Python: `case.load_cases` reads a file, `check.check` runs a case and says where it differs.
"""
