"""The door for agents of others (A2A 1.0): the card of the hub, and answers to calls, as that protocol writes them."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class A2aInterface(TypedDict):
    """An address of the hub for this protocol."""

    url: str
    protocolBinding: str
    protocolVersion: str


class A2aCapabilities(TypedDict):
    """The optional parts of the protocol that the hub has."""

    streaming: bool
    pushNotifications: bool
    extendedAgentCard: bool


class A2aSkill(TypedDict):
    """Something that can be asked for: words, or one recipe."""

    id: str
    name: str
    description: str
    tags: list[str]
    examples: NotRequired[list[str]]


class A2aCard(TypedDict):
    """The card of the hub. Without a token it names no recipe and no device."""

    name: str
    description: str
    version: str
    supportedInterfaces: list[A2aInterface]
    capabilities: A2aCapabilities
    securitySchemes: dict[str, Any]
    securityRequirements: list[dict[str, Any]]
    defaultInputModes: list[str]
    defaultOutputModes: list[str]
    skills: list[A2aSkill]


class A2aPart(TypedDict):
    """A part of a message or of an artifact: text, or data."""

    text: NotRequired[str]
    data: NotRequired[Any]
    mediaType: str


class A2aMessage(TypedDict):
    """Words of the hub."""

    messageId: str
    role: str
    parts: list[A2aPart]
    contextId: NotRequired[str]
    taskId: NotRequired[str]


class A2aStatus(TypedDict):
    """The state of a task, with words where there are some."""

    state: str
    timestamp: str
    message: NotRequired[A2aMessage]


class A2aArtifact(TypedDict):
    """The answer of a constellation."""

    artifactId: str
    name: str
    description: str
    parts: list[A2aPart]


class A2aTask(TypedDict):
    """A constellation as a task of that protocol."""

    id: str
    contextId: str
    status: A2aStatus
    artifacts: NotRequired[list[A2aArtifact]]
    metadata: dict[str, Any]


class A2aError(TypedDict):
    """A refusal; `data` has each fault with its place."""

    code: int
    message: str
    data: NotRequired[list[dict[str, Any]]]


class A2aAnswer(TypedDict):
    """The answer to a call: a result, or an error."""

    jsonrpc: str
    id: str | int | None
    result: NotRequired[Any]
    error: NotRequired[A2aError]
