"""The lanes' side: tasks with their stores, a consumer and a transactional producer, in one process per core."""
