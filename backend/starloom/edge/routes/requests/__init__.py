"""Routes that start new work, and the settings of the model that plans it.

submission      a constellation by words, plan or recipe, and its preview
what_if         the expected time of a plan on a changed fleet
prompt_preview  the text that the model would be sent first
brief           a request as a text for somebody's own assistant
recipes         recipes, their versions, and those that plans would become
schedules       schedules and their previews     schedule_json   their JSON
model           the settings, usage and test of the model
a2a             the door for agents of others     a2a_tasks   constellations in the form of A2A
"""
