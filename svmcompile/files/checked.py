"""Contents with a digest before them: a file that was cut off or changed is known when it is read."""

from __future__ import annotations

import hashlib


def with_digest(content: bytes) -> bytes:
    """What is to be stored."""
    return _digest(content) + content


def without_digest(stored: bytes) -> bytes:
    """What was stored; a ValueError if it is not whole."""
    size = len(_digest(b""))
    content = stored[size:]
    if stored[:size] != _digest(content):
        raise ValueError("it was cut off or changed")
    return content


def _digest(content: bytes) -> bytes:
    return f"{hashlib.sha256(content).hexdigest()}\n".encode()
