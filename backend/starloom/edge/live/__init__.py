"""The live socket of pages and the read models of the edge, fed by committed events. Posts no input.

endpoint              tickets, subscriptions, snapshots and events of one page
fanout                each committed event to read models, waiting requests and live sockets; changed lists to pages
optional_parts        parts that running constellations leave out to end in time
views                 read models: the fleet, open questions, headlines, work on devices, rules on progress
failed_work           the devices on which the tasks of failed constellations failed
sketches              sketches of plans from workers to the pages that look at the constellation
entity_json           entities as JSON of the REST API
plan_versions         the plan of a constellation at a version, and the difference of two
pruned                answers about constellations that left the history
artifact_references   the entities that still name artifacts
"""
