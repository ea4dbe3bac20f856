"""Commands about devices: the fleet, pairing, and the tools that devices offer."""
