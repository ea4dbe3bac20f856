"""Commands about this machine: the hub's service, its examinations and its trials."""
