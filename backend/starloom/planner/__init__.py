"""The planner: requests in words become plans, and plans become previews and forecasts. It runs nothing.

service      the planner as one object for the edge and the jobs
model        a language model as planner              context      the texts for a model or an assistant
requests     words -> exact, near or none             recipes      the catalogue, its gallery, and plans of values
preview      devices, effects and missing grants      forecast     the expected time, now and on a changed fleet
equivalents  tools that stand for others              fleet        the devices as the planner sees them
quoting      texts from outside as one safe line     abilities    words for what a device can do
trash_lists  a question with the list of files before they go into the trash
"""
