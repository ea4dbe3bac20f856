"""Commands about what the owner keeps: recipes, schedules, secrets and tokens."""
