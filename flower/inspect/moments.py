"""When an entry was made."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # see flower.values
if TYPE_CHECKING:
    from typing import Any


def time_of(entry: Mapping[str, Any]) -> float | None:
    """Epoch seconds; None if the entry does not say."""
    from datetime import datetime, timezone  # Here: most looks ask no entry for its time.

    try:
        when = datetime.fromisoformat(str(entry.get("timestamp")).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()
