"""The policy of the device's owner: rules, file, approvals, and the offer that follows from them.

Owns the decision on each call. Must not start a call, and takes no rule from the hub.
"""
