"""The socket of devices: frames of proved devices to inputs, orders of the engine to frames. Decides nothing of tasks.

aip               the endpoint and one connection
handshake         the proof of the hub and of the device
hub_keys          the hub's own key
links             open connections, and the queue of each
offer_bounds      the form of an offer, and how often it and the condition may change
artifact_rights   the artifacts that a device may fetch
attempt_logs      the writer of the output of attempts
progress_lines    the reports of programs for rules on progress
vital_lines       the figures of devices over the last hour
"""
