"""Small versions of pictures by Pillow, where the agent has it (its extra `pictures`).

Decodes in the process that calls it, which for the tools is a cage of one call. Owns no format: PNG has its own decoder
(`png`), which needs nothing beside the agent.
"""

from __future__ import annotations

import io
import warnings
from typing import Final

from starloom_agent.toolkit.pictures.headers import measure
from starloom_agent.toolkit.pictures.png import NotReadable

FORMATS: Final = ("BMP", "GIF", "JPEG", "TIFF", "WEBP")
"""No other decoder of the library is ever called: each is code that reads what a stranger wrote."""
_QUALITY: Final = 85
"""A small picture is looked at and not edited: above this JPEG grows without a visible gain."""


def small_version(data: bytes, longest_px: int) -> tuple[bytes, str, int, int]:
    """Return bytes, media type, width and height; upright, as the camera was held.

    Raises:
        NotReadable: Pillow is not installed, the data is broken or of another format, or it has too many pixels.
    """
    measured = measure(data)
    kind = measured.kind.upper() if measured is not None else "picture's"
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        other = f"it is a {kind}, and " if measured is not None else ""
        raise NotReadable(f"{other}this device decodes PNG alone: its agent has no Pillow") from None
    try:
        with warnings.catch_warnings():
            # Pillow warns of a picture whose pixels would fill the memory, and fails at twice as many.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
                # A JPEG is decoded at an eighth, a quarter or half of its size already where that is enough.
                picture.draft("RGB", (longest_px, longest_px))
                small = ImageOps.exif_transpose(picture)
        small.thumbnail((longest_px, longest_px))
        out = io.BytesIO()
        if small.mode in ("L", "RGB"):
            small.save(out, "JPEG", quality=_QUALITY)
            return out.getvalue(), "image/jpeg", small.width, small.height
        small.convert("RGBA").save(out, "PNG")
        return out.getvalue(), "image/png", small.width, small.height
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise NotReadable("it has more pixels than this device decodes") from None
    except UnidentifiedImageError:
        raise NotReadable(f"its {kind} data is broken or of a kind that this device does not decode") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise NotReadable(f"its {kind} data is broken or cut short: {error}") from error
