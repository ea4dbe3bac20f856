"""Groups over devices: which devices one waits for, which it reports as off, and which it left out.

returning    groups that wait for devices after a restart of the hub
off_devices  groups that report a device that is off instead of waiting for it
left_out     the devices that a group left out, and why
"""
