"""Tools for files and folders: found, read, written, moved, packed. Owns no access beside the granted folders."""
