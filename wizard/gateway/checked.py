"""What every part of a request's body has in common."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")
Many = Annotated[list[Item], Field(fail_fast=True)]
"""A list, of which only the first thing that is wrong is reported: an error takes more memory than what it is about."""


class Checked(BaseModel):
    """Strict types; unknown parameters are ignored, as new ones appear every month."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)
