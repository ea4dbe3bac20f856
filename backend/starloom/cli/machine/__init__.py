"""Commands about this machine: the hub's service, its examinations, its trials and its sample."""
