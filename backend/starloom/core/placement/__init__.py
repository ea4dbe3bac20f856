"""Which device takes a ready task, and why another does not. Begins nothing: `run` opens attempts.

selection           feasible, rank, pick: a device or a reason
health              devices that fail more than their peers: suspect, set aside, restored
battery             a device that is spared for its owner's sake
disk_room           a device whose disk is full
device_conditions   battery, owner, sleep and disk as a device tells them
off_devices         groups that report a device that is off instead of waiting for it
returning           groups over devices that wait for devices after a restart of the hub
left_out            the devices that a group did not ask, and why
waiting             ready tasks that nobody can take, and when a person hears of it
queue_position      where a ready task stands among its like
"""
