"""The types that parameters of several questions have."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

Limit = Annotated[int, Meta(ge=1, le=1000, description="Most items in the answer.")]
Cursor = Annotated[str, Meta(max_length=8192, description="`next` or `prev` of an earlier answer.")] | None
Format = Annotated[Literal["json", "csv"], Meta(description="csv: the items alone, one a line.")]
Url = Annotated[str, Meta(min_length=1, max_length=16_000, description="A URL; without a scheme, https is meant.")]
Domain = Annotated[str, Meta(min_length=1, max_length=1000, description="A domain, such as example.com.")]
