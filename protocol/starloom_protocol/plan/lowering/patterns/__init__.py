"""The fields of a task with a form of their own, one module each. They use the parts of a task, never the whole."""
