"""The lab: faults on purpose, and examinations of the product by real processes.

Owns the fault proxy, installations to break, scenarios, the sample of `make run`, the Nebula suite, and the desk by
which a hub serves the page of the lab. A client of hubs: it must not reach into their state.
"""
