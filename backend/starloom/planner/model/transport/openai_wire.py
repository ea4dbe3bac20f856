"""The wire format of OpenAI's chat completions, which most servers of models speak.

Imported only for an endpoint that has this format: its library is slow to load.
"""

from __future__ import annotations

import httpx2
from openai import AsyncOpenAI
from pydantic_ai.models import Model as WireModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

from starloom.planner.model.endpoints.endpoint import Endpoint


def model(endpoint: Endpoint, client: httpx2.AsyncClient) -> WireModel:
    """Return the model of an endpoint for the calls of a client."""
    openai = AsyncOpenAI(
        api_key=endpoint.key or "none",
        base_url=endpoint.url,
        http_client=client,
        # The planner owns repeats and their budget; a library that waits and tries again would hide both.
        max_retries=0,
        organization="",
        project="",
    )
    return OpenAIChatModel(endpoint.model, provider=OpenAIProvider(openai_client=openai))


def settings(output_tokens_most: int) -> ModelSettings:
    """Return the settings of a call with so long an answer at most."""
    return ModelSettings(max_tokens=output_tokens_most, parallel_tool_calls=False)
