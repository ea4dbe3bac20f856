"""A language model as planner: its answer is checked like any other plan. Never imported by the core.

trials         the trial of a model by code            trial_world    its imaginary fleet, plan and results
conversations  what is asked and answered, by stage    sketching      a reply that is not yet whole, as a picture
prompt         the prompt, part by part                reading        a reply becomes a plan, a question, or faults
transport      the way to the model, and recordings    endpoints      the owner's settings and budget
port           the interface: turns in, a reply out    answers        the schema of the answers at each stage
"""
