"""The contract between hub, agents and browser: a leaf that imports nothing else of Starloom.

vocabulary   states, codes, effects and the presentation of a state
values       canonical JSON text, JSON pointers, the operators of conditions
entities     the small records that events put; all state is a map of them
authors      the author of an event or a decision: kind, name and token
feed         events, snapshots and the frames of the live stream
plan         the plan language, recipe heads and edits (Pydantic; never imported by an agent)
frames       one class per AIP frame
codec        bytes <-> frames, with limits
session      the sans-I/O session of both sides
version      the range of protocol versions, negotiation, refusals
export       JSON Schema of all of it, the source of the TypeScript types
"""
