"""Goals: groups that grow by the steps of a model, within an envelope that a person approved.

pursuit       how a goal begins, goes on when its step has ended, and ends
steps         what a worker proposes: a step, an answer, a hand-over, or giving up
conversation  the job of a goal with its turns, its states and its end
asking        the ladder, and questions to a person: a call beyond reading, and whether to go on; hints
tiers         the model that makes the turns, and the escalation to the next one
publishing    the findings that a goal publishes by its turns
spreading     one call of a step for each entry of a list
monitors      the rules that notice a goal that gets nowhere
"""
