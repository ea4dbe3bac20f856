"""The layers of which a cage is made, one file each, and the calls of the kernel below them.

Owns the restriction itself. Must not decide which layer is used, and imports the standard library only.
"""
