"""The answers of the REST API as types, one module for resources that belong together.

Types only: the hub fills them, clients read them. Times are RFC 3339 text, null where a thing has not happened. A route
names its type as `Reply[...]`.
"""
