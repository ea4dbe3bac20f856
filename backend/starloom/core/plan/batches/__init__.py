"""The batch of an edit while it is built: its view of the plan, the values that it passes on, gates by topic,
successors of tasks, and the batch that undoes a version."""
