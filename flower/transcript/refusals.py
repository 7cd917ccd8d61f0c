"""The API's refusals as values: what it says, spelling included, because programs match on it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """Why the API refuses a request.

    Attributes:
        code: a stable name of the rule, for tests and callers that branch on it.
        message: what the API says, with the index of the message in the request.
    """

    code: str
    message: str

    def __str__(self) -> str:
        return self.message


EMPTY = "messages: text content blocks must be non-empty"
BLANK = "messages: text content blocks must contain non-whitespace text"
NO_CONTENT = "all messages must have non-empty content except for the optional final assistant message"
NO_PREFILL = (
    "This model does not support assistant message prefill. The conversation must end with a user message."
)
BAD_ID = "String should match pattern '^[a-zA-Z0-9_-]+$'"
NO_RESULT = (
    "`tool_use` ids were found without `tool_result` blocks immediately after: {ids}. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
ORPHAN = (
    "unexpected `tool_use_id` found in `tool_result` blocks: {id}. "
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
TWO_RESULTS = "each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
    "These blocks must remain as they were in the original response."
)
DROPPED = (
    "Expected `thinking` or `redacted_thinking`, but found `{type}`. When `thinking` is enabled, a final "
    "`assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
    "`tool_result` blocks)."
)
