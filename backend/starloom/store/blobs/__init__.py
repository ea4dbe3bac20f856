"""Artifacts and the output of attempts as files on disk. Knows no task and no device.

artifacts    files by their SHA-256, complete or not there, the owners for whom their bytes count, refusals
collection   the deletion of artifacts that nothing names, and of old logs
logs         the output of attempts
"""
