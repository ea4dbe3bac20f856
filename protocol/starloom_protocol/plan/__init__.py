"""The plan language, recipe heads and edits: documents people write -> what the core takes. Never imported by an agent.

document     text -> plain maps (JSON, or YAML without surprises)
models       the shapes (Pydantic); found: faults with places and did-you-mean
params       `{param: name}` and `only_if`
arguments    which arguments a tool takes, by the schemas that devices offer
schemas      where a pointer leads in a JSON schema, and which values fit; signatures: what a tool takes and gives
flow         which values flow where: pointers into results, and the arguments that they become
lower        single parts -> entities; graph: what parts mean to each other
operations   the operations of edits and rules
check        `check_plan`, `check_edit`
recipe       `Recipe`, `read_recipe`, `recipe_values`, `recipe_plan`; param_types: what a parameter takes
"""

from starloom_protocol.plan.check import PlanCheck, check_edit, check_plan, plan_hash
from starloom_protocol.plan.document import DocumentRefused, read_document
from starloom_protocol.plan.param_types import ParamRefused, coerce
from starloom_protocol.plan.recipe import ParamDoc, Recipe, RecipeCheck, read_recipe, recipe_plan, recipe_values
from starloom_protocol.plan.signatures import Signature, built_in_results, results_alone, signature_of, signatures_of

__all__ = [
    "DocumentRefused",
    "ParamDoc",
    "ParamRefused",
    "PlanCheck",
    "Recipe",
    "RecipeCheck",
    "Signature",
    "built_in_results",
    "check_edit",
    "check_plan",
    "coerce",
    "plan_hash",
    "read_document",
    "read_recipe",
    "recipe_plan",
    "recipe_values",
    "results_alone",
    "signature_of",
    "signatures_of",
]
