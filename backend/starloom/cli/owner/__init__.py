"""Commands about what the owner keeps: people, tokens, secrets, recipes, schedules, and the record of activity."""
