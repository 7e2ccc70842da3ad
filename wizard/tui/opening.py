"""A chat to begin with, instead of the welcome."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wizard.chat.conversation import Conversation
from wizard.chat.history import Kept
from wizard.chat.tools.loop import ToolUse
from wizard.flow.values import State
from wizard.serve.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Opening:
    """What is known of it.

    Attributes:
        endpoint: The server.
        conversation: The messages so far, and settings.
        kept: The conversation's saved copy, which may be empty; None if it is private.
        tools: The tools that the model may call.
    """

    endpoint: Endpoint
    conversation: Conversation
    kept: Kept | None
    tools: ToolUse | None = None

    def state(self, fresh: State) -> State:
        """The workflow's state in this chat; ``fresh`` is the one at the beginning."""
        return replace(fresh, at="chat", endpoint=self.endpoint, conversation=self.conversation)
