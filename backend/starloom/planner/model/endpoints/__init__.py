"""The endpoints of the owner's models: their settings, the settings of the page, and the budget.

Opens no socket. No message of a model or a device changes an address.
"""
