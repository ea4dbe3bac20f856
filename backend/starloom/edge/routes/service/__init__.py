"""Routes of the hub itself.

health          health, readiness, metrics, the OpenAPI document
page            the built page
local_network   the opening of the second listener
lab             faults and scenarios, with `--lab`
"""
