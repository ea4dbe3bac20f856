"""Simulated devices that a hub's page may break: one device, and the host that takes the hub's orders for it."""
