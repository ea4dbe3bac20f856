"""The plan language, recipe heads and edits: from documents to the core's entities. Never imported by an agent.

language   from text to shapes (Pydantic) and parameters; faults with places and did-you-mean
types      the arguments and results of tools as shapes of values, and the flow of values between tasks
lowering   tasks and dependencies -> entities; `patterns` has the fields with a form of their own
checks     whole plans and edits: `check_plan`, `check_edit`; the graph of a plan, the operations of edits and rules
recipe     `Recipe`, `read_recipe`, `recipe_values`, `recipe_plan`
scenario   a plan of the lab with the faults that hit it
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
    taken_by,
    without_values,
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
    "taken_by",
    "without_values",
]
