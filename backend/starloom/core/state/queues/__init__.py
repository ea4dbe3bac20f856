"""Queues of ready tasks and whose turn a free slot is."""
