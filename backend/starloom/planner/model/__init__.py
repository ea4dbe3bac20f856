"""A language model as planner: its answer is checked like any other plan. Never imported by the core.

endpoint     the address of the owner's model, and the limits of a call
port         the interface of a model: instructions and turns in, one reply out
connecting   an endpoint becomes a model; the optional libraries are loaded here and nowhere else
wire         the model over HTTP by pydantic-ai (extra `model`)
prompt       the prompt, part by part
reading      a reply becomes a plan document, a question, or faults to mend
planning     the conversation: ask, check, two repairs
reviewing    the same for a review of ended tasks
reviewed_plan  the running plan as a reviewer is shown it
spending     budgets: the cost of a call, and whether it may be made
"""
