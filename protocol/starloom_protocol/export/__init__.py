"""The export of the protocol, from the types themselves.

schemas     the exported kinds, and their JSON Schema
typescript  the types and tables of the page, and of a browser that is a device
error_page  `docs/errors.md`
"""
