"""Devices: joining, connecting, offers, draining, leaving, and the questions to their owners.

devices           connections, offers within the limits of join codes, revocation
pairing           codes with which devices join, and the answer to a device that asks
draining          a device that gets no new work and hands over its own
hub_calls         the hub's own tools: the state of devices, draining from a plan
owner_questions   the questions of a device to its owner, and their answers
restored_fleet    devices, codes and permissions that end when a history was restored
lab_faults        faults that a person asks the lab for
"""
