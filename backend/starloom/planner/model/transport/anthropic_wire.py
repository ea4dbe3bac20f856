"""The wire format of Anthropic's messages.

Imported only for an endpoint that has this format: its library is slow to load.
"""

from __future__ import annotations

import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model as WireModel
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.settings import ModelSettings

from starloom.planner.model.endpoints.endpoint import Endpoint


def model(endpoint: Endpoint, client: httpx2.AsyncClient) -> WireModel:
    """Return the model of an endpoint for the calls of a client."""
    anthropic = AsyncAnthropic(
        api_key=endpoint.key or "none",
        base_url=endpoint.url.removesuffix("/v1"),
        http_client=client,
        # The planner owns repeats and their budget; a library that waits and tries again would hide both.
        max_retries=0,
        auth_token=None,
    )
    return AnthropicModel(endpoint.model, provider=AnthropicProvider(anthropic_client=anthropic))


def settings(output_tokens_most: int) -> ModelSettings:
    """Return the settings of a call with so long an answer at most."""
    # Anthropic keeps only the text up to a mark; the others keep any prefix that comes again.
    return AnthropicModelSettings(
        max_tokens=output_tokens_most, parallel_tool_calls=False, anthropic_cache_instructions=True
    )
