"""A language model as planner: asked over the wire, its answer checked like anybody's plan. Never imported by the core.

endpoint     where the owner's model is, and how it may be reached
port         what a model is to the planner: instructions and turns in, one reply out
connecting   an endpoint becomes a model; the optional libraries are loaded here and nowhere else
wire         the model over HTTP by pydantic-ai (extra `model`)
prompt       what is sent, part by part
reading      a reply becomes a plan document, a question, or faults to mend
planning     the conversation: ask, check, two repairs
reviewing    the same for a review of what ended
spending     budgets: what a call costs, and whether it may be made
"""
