"""The plan language, recipe heads and edits: from documents to the core's entities. Never imported by an agent.

document     text -> plain maps (JSON, or YAML without surprises)
models       the shapes (Pydantic); found: faults with places and did-you-mean
params       `{param: name}` and `only_if`
arguments    the arguments of a tool, by the schemas that devices offer
schemas      pointers into JSON schemas, and fitting values; signatures: the arguments and results of a tool
flow         the flow of values: pointers into results, and the arguments that they become
lower        single parts -> entities; graph: the relations between parts
operations   the operations of edits and rules
check        `check_plan`, `check_edit`
recipe       `Recipe`, `read_recipe`, `recipe_values`, `recipe_plan`; param_types: the types of parameters
"""

from starloom_protocol.plan.checks.check import PlanCheck, check_edit, check_plan, plan_hash
from starloom_protocol.plan.language.document import DocumentRefused, read_document
from starloom_protocol.plan.language.param_types import ParamRefused, coerce
from starloom_protocol.plan.recipe import ParamDoc, Recipe, RecipeCheck, read_recipe, recipe_plan, recipe_values
from starloom_protocol.plan.types.signatures import (
    Signature,
    built_in_results,
    results_alone,
    signature_of,
    signatures_of,
)

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
