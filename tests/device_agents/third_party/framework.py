"""An agent of Pydantic AI with the tools of Starloom (docs/assistants.md): `python framework.py MODEL_URL CONFIG`.

Run by the Python of the framework's own environment, which has nothing of Starloom. CONFIG is the file that
`starloom mcp --config` prints.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def main(model_url: str, config: dict[str, Any]) -> None:
    # A machine on which other tests run starts programs slowly.
    starloom = MCPToolset(config, init_timeout=120)
    model = OpenAIChatModel("fake-1", provider=OpenAIProvider(base_url=model_url, api_key="none"))
    agent = Agent(model, toolsets=[starloom])
    async with agent:
        done = await agent.run("Where is my invoice of March?")
    print(json.dumps({"said": done.output}))


asyncio.run(main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
