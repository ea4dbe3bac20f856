"""Devices: how they join, connect, offer, drain and leave, and what their owners are asked.

devices           pairing, connections, offers, revocation
profiles          what a join code holds a device to
draining          a device that gets no new work and hands over what it has
owner_questions   what a device asks its owner, and the answer on its way back
lab_faults        faults that somebody asks the lab for
"""
