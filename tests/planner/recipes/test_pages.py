"""The page of recipes: made from their heads, so that it says what they do."""

from __future__ import annotations

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.recipes.pages import about, page
from starloom_protocol.plan import read_recipe
from starloom_protocol.plan.language.param_types import PARAM_TYPES
from starloom_protocol.plan.types.signatures import built_in_results


def test_the_comment_above_the_name_is_the_paragraph() -> None:
    assert about("# One line\n# and another.\nstarloom_recipe: 1\nname: x\n# not this\n") == "One line and another."
    assert about("starloom_recipe: 1\nname: x\n") == ""


def test_every_recipe_is_there_with_its_words_grants_and_answer() -> None:
    catalogue = load_catalogue()
    made = page(catalogue)
    for recipe in catalogue.all():
        _, _, rest = made.partition(f"## {recipe.title}\n")
        own = rest.partition("\n## ")[0]
        assert f"`{recipe.name}`" in own
        for said in (*recipe.phrases, *(f"`{name}`" for name in recipe.params)):
            assert said in own, (recipe.name, said)
        for result in recipe.plan.get("result", []):
            assert result["title"] in own
        assert "**Grants:**" in own
    assert "every device that can" in made


def test_the_recipe_of_the_page_reads_and_is_a_recipe_of_the_built_in_tools() -> None:
    made = page(load_catalogue())
    text = made.partition("```yaml\n")[2].partition("```")[0]
    found = read_recipe(text, known_signatures=built_in_results())
    assert found.faults == []
    assert found.recipe is not None
    assert found.recipe.phrases == ["look at {folder} on {where}"]
    for kind in PARAM_TYPES:
        assert f"`{kind}`" in made
