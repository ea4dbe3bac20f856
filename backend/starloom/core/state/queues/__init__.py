"""Queues of ready tasks and the fair sharing of free slots."""
