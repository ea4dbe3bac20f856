"""Orders on their way out of the engine: frames and wake-ups, secrets in a dispatch, acknowledgements of reports.

Must not change state.
"""
