"""The parts of which tools are made. Holds no tool; `tools` has one file for each subject.

interface        a tool: arguments, effects, grants, probe, and its context while it runs
results          parts that results share        result_schemas   their JSON schemas
refs             files by reference              faults           errors of the system in words
messages         lines between agent, runner and tool
beneath          files below a granted folder, without links
files            walked, placed, packed and named
text             times and links as people and pages write them
pictures         PNG without a library
running          programs below a tool, their variables and the display
clients          conversations with agents and servers of others
"""
