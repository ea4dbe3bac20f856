"""Tools for rows and tables: data, sheets, databases. Owns their result types; must not start a program."""
