"""Placement: the choice of a device for a ready task, and the reasons against others. Opens no attempt: `run` does.

feasible            the devices that could do a task, now or once they are free, and the reasons against others
selection           rank and pick a feasible device; the next task for which one is free
health              devices that fail more than their peers: suspect, set aside, restored
absent_devices      devices that a waiting task names and that cannot take it
device_conditions   battery, owner, sleep and disk as a device reports them; devices that are spared
device_groups       groups over devices: those that they wait for, report as off, and leave out
earlier_names       a plan in the names that its devices had when it was approved
waiting             ready tasks that no device can take, and the attention that they ask for
queue_position      the position of a ready task in its queues
pace                how long calls take on each device, and devices that are slow beside their peers
finish              when a task should be done on a device that is free, and on one that is not yet
"""
