"""A package, so that its stack and browser end with its last test: a loop of Playwright stops every test after it."""
