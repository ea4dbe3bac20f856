"""Routes over devices, with and without a connection.

devices           devices, capabilities, enrollments
joining           the script, the packages and the redeeming of a code
join_lines        the lines that a person pastes or scans
agent_wheels      the packages of the agent
device_requests   requests that a device signs outside a connection
owner_questions   the questions of devices to their owners
vitals            the figures of devices
browser_agent     the agent in a browser's tab, as files
"""
