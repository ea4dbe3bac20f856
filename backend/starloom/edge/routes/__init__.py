"""Routes of the REST API, the page and the browser agent: they translate, and post inputs. Only `app` calls them.

requests   the start of new work: submission, brief, recipes, schedules, model
work       constellations that exist: reading, controls, forks, events, artifacts
fleet      devices and their joining
people     sessions, approvals, activity, secrets
service    the hub itself: health, page, local network, lab
bodies     the bodies of requests
"""
