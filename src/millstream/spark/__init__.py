"""Running a topology on Spark Structured Streaming.

One streaming query per application. Spark keeps the offsets of every batch, hands its parts to cores and machines,
tries failed ones again and carries records between waves; a *lane*, one long-lived Python process per core, owns some
tasks with their stores, a consumer and a transactional producer. See ARCHITECTURE.md.
"""
