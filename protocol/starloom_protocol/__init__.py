"""The contract between hub, agents and browser: a leaf that imports nothing else of Starloom.

bounds       the most that the numbers, texts, lists and maps of frames may hold
codes        the codes of errors and refusals; part of the vocabulary
vocabulary   states, reasons, effects and controls
values       canonical JSON text, JSON pointers, the operators of conditions
text         how states, values and names are shown to people, and what is scrubbed from texts
records      the small records that events put and of which all state is made; the operations of edits
stream       events, their kinds and authors, snapshots and the frames of the live stream
tools        the tools of the hub, the results of built-in tools, the profiles of devices
wire         AIP: frames, bytes <-> frames with limits, versions, the sans-I/O session of both sides
plan         the plan language, recipe heads and edits (Pydantic; never imported by an agent)
api          the answers of the REST API as types
export       JSON Schema of all of it, the source of the TypeScript types, and `docs/errors.md`
"""
