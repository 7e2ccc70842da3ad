"""What every part of a request's body has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Checked(BaseModel):
    """Strict types; unknown parameters are ignored, as new ones appear every month."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)
