"""The generator of `docs/recipes.md` from the heads of the built-in recipes. `--check` exits 1 if the page is stale.

A recipe's paragraph is the comment above its name; phrases, parameters, grants, effects and answer are its own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from starloom.planner.recipes.catalogue import Catalogue, built_in_folder, load_catalogue, param_title
from starloom_protocol.plan import ParamDoc, Recipe
from starloom_protocol.plan.language.param_types import PARAM_TYPES
from starloom_protocol.vocabulary import RISKY_EFFECTS, Effect, Purpose

_SHOWN = {"table": "a table", "file": "a file", "text": "a sentence", "value": "figures", "image": "a picture"}
_PAGE = Path("docs/recipes.md")
_HEAD = """# Recipes

What Starloom does without a language model: type the words, see the plan, let it run. Words in braces are yours; a
device is named by its name, by what it is (*my phone*, *the server*, *all servers*, *both servers*), or several
together (*laptop and nas*). *The others* are all devices but the one that a folder comes from. Words that nearly fit
start nothing: the page asks for what is missing, and the command line prints the command. So do words with a part that
no recipe heeds, such as *except the videos*, *only PDFs* or *do not delete anything*: the answer names that part.
Quotes make a name sure that could be anything else: *find "holiday budget"*, *run `ls -l` everywhere*. A file is meant
without them where its name has an ending, a number or a pattern, is that of a document (*invoice*, *notes*), or stands
as one word after *the file*: *find orders* is only offered, *find the file orders* runs. Accents may be left out in
names of devices and in phrases of your own, and so may a remark in brackets: *Büro-PC* is *Büro-PC (neu)* where no
other device is called so. Where files of one device are meant, *all* may be a number of them: *copy the newest 5
pictures from nas to laptop*. German runs as well (*hol die neuesten 5 Bilder vom nas auf meinen Laptop*) where a small
table has each of its words that is no name; otherwise the recipe that it may mean is offered. *My phone* is the phone,
or the phone's browser, that joined by a code of the person who asks, whatever its name; where there are two of them,
say which.

Every recipe can also be run by its name: `starloom submit -r NAME -p PARAM=VALUE --wait`; `--preview` shows the plan
first. *Grants* are what the owner of a device has to have allowed there (`starloom-agent grant`, or the profile); a
preview that meets a missing one shows the line to type. This page is made from the recipes (`make gen`).

## A recipe of your own

A recipe is a [plan](plans.md) with a head. `starloom recipe import FILE` keeps it, `starloom recipe test FILE` shows
what it would do here, on devices of this fleet, `starloom recipe export NAME` writes one that is kept, also a built-in
one to begin with, without the test that it has here.

```yaml
starloom_recipe: 1
name: note-after-look                                  # a-z 0-9 _ -
title: Look at a folder and leave a note
version: 1                                             # the hub counts on from here
phrases:
  - "look at {folder} on {where}"                      # each slot is a parameter
params:
  where:  {type: device, title: Where, needs: [fs.list]}
  folder: {type: path, title: Folder, example: Documents}
  text:   {type: text, title: Note, default: Looked}
asks_for: {where: ["files:read", "files:write"]}       # grants by device parameter, for the gallery
effects: [read, write]
plan:
  starloom: 1
  name: Look and note
  tasks:
    - {id: look, tool: fs.list, device: {param: where}, args: {path: {param: folder}}}
    - id: note
      tool: notify
      device: {param: where}
      args: {title: {param: text}}
      only_if: {param: text}                           # false, empty and not given leave the task out
  dependencies: [{from: look, to: note}]
```

`{param: NAME}` stands for a whole value; a text `"{NAME}"` in a plan is refused, because only phrases have slots.
Each parameter has a use, and each argument is one that some device's version of the tool takes; else it is not kept.
The phrases of the built-in recipes are English, and German is read as English as far as a table goes. A recipe
of your own may have phrases in another language.
A slot of a phrase that stands in quotes, as in `send "{text}" to {phone}`, takes only words in quotes. Any name may
stand in quotes, in "those" of any keyboard, „these“ or «these». A folder that is called *to save space* or *2 folders*
needs them; without quotes you are asked. Where a phrase begins as another one and goes on with a further slot, these
words may follow every phrase that ends with the same slot.

| field of a parameter | says |
|---|---|
| `type` | PARAM_TYPES |
| `title`, `example` | its name for people, and the value that the gallery's sentence shows |
| `default` | its value when none is given; without one and without `optional` it must be given |
| `optional: true` | it may be absent: it is nothing then, and a task with `only_if` on it is left out |
| `minimum`, `maximum` | limits of a number |
| `values` | of a choice: `{replace: [replace it, overwrite], ...}`, each value with the words for it |
| `needs`, `not`, `many` | of a device: its tools, a parameter that it differs from, several of them (also of a file) |
| `true_when_named` | of a boolean: true when that other parameter is given |
| `same_as` | of an `optional` one: another parameter of its type, whose value it has when none is given |
| `offers` | of a text: `{on: DEVICE, root: PATH, words: TEXT, pattern: "*.gz"}`, by parameters; a form offers them |
| `first` | of files: `{by: CHOICE, most: INTEGER, of: DEVICE}`, by parameters; *all* may be *the newest 5* then |
| `everything` | of a path: *everything* in words is all that the device allows |

`purpose` (PURPOSES) sorts it in the gallery, `demo` says with which values it can be tried on the demo devices, and
`test` names a fixture, the expected answer and the values of the test.
"""


def about(text: str) -> str:
    """Return the comment above a recipe's name as one paragraph."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith("name:"):
            break
        if line.startswith("#"):
            lines.append(line.lstrip("# ").rstrip())
    return " ".join(lines)


def section(recipe: Recipe, text: str) -> list[str]:
    """Return the lines of one recipe."""
    about_text = about(text)
    lines = [f"## {recipe.title}", "", f"`{recipe.name}`" + (f" - {about_text}" if about_text else ""), ""]
    lines += [*(f"- *{phrase}*" for phrase in recipe.phrases), ""]
    if recipe.params:
        lines += ["| parameter | is | default |", "|---|---|---|"]
        lines += [_param(name, param) for name, param in recipe.params.items()]
        lines.append("")
    grants = "; ".join(
        f"{', '.join(f'`{item}`' for item in items)} on *{name}*" for name, items in recipe.asks_for.items()
    )
    lines.append(f"**Grants:** {grants or 'none, every profile allows it'}. **Effects:** {_effects(recipe)}.")
    lines.append(f"**Answers with** {_answer(recipe)}.")
    return [*lines, ""]


def _param(name: str, param: ParamDoc) -> str:
    default = "" if param.default is None else _plainly(param.default)
    if param.default is None and param.optional:
        default = "may be left out"
    kind = " or ".join(f"`{value}`" for value in param.values) or param.type
    return f"| `{name}` | {param_title(name, param)} ({kind}) | {default} |"


def _plainly(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict) and set(value) == {"tools"}:
        return "every device that can"
    return f"`{value}`" if value != "" else ""


def _effects(recipe: Recipe) -> str:
    risky = [effect for effect in recipe.effects if effect in RISKY_EFFECTS]
    asks = ", so it asks before it runs" if risky else ", so it asks unless you approved the preview"
    listed = ", ".join(recipe.effects) or "none"
    return listed + (asks if risky or Effect.REACH in recipe.effects else "")


def _answer(recipe: Recipe) -> str:
    results = [item for item in recipe.plan.get("result", []) if isinstance(item, dict)]
    parts = [f"*{item['title']}* ({_SHOWN.get(str(item.get('show')), 'a value')})" for item in results]
    return ", ".join(parts) or "what its last tasks give"


def page(catalogue: Catalogue) -> str:
    """Return the whole page, recipes in the order of their names."""
    types = ", ".join(f"`{kind}`" for kind in sorted(PARAM_TYPES))
    purposes = ", ".join(f"`{purpose}`" for purpose in Purpose)
    parts = [_HEAD.replace("PARAM_TYPES", types).replace("PURPOSES", purposes)]
    for recipe in catalogue.all():
        parts += section(recipe, catalogue.text(recipe.name))
    return "\n".join(parts)


def main(argv: list[str]) -> int:
    """Print the page, or with `--check` compare it with the one in the checkout."""
    text = page(load_catalogue())
    if "--check" not in argv:
        sys.stdout.write(text)
        return 0
    path = built_in_folder().parent / _PAGE
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return 0
    sys.stderr.write(f"{path} is stale: run `make gen`\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
