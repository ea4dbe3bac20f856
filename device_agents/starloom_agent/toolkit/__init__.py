"""The parts of which tools are made. Holds no tool; `tools` has one file for each subject.

interface        a tool: arguments, effects, grants, probe, and its context while it runs
results          parts that results share        result_schemas   their JSON schemas
refs             files by reference              faults           errors of the system in words
durations        spans as people write them      variables        variables of the environment
naming           names for files that a tool makes
beneath          files below a granted folder, without links
files            walked, placed and packed       pictures         PNG without a library
running          programs and MCP servers below a tool
"""
