"""Small versions of pictures, and whether they are whole, by Pillow where the agent has it (its extra `pictures`).

Decodes in the process that calls it, which for the tools is a cage of one call. Owns no format: PNG has its own decoder
(`png`), which needs nothing beside the agent.
"""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Final

from starloom_agent.toolkit.pictures import png
from starloom_agent.toolkit.pictures.headers import SCANS_MOST, measure, scans_of
from starloom_agent.toolkit.pictures.png import NotReadable

if TYPE_CHECKING:
    from PIL import Image

FORMATS: Final = ("BMP", "GIF", "JPEG", "TIFF", "WEBP")
"""No other decoder of the library is ever called: each is code that reads what a stranger wrote."""
_JPEG: Final = b"\xff\xd8"
_QUALITY: Final = 85
"""A small picture is looked at and not edited: above this JPEG grows without a visible gain."""

_KEEPS_NUMBERS: Final = frozenset({"L", "P", "RGB", "RGBA"})
"""The modes whose colours a small version has as they were; the others become RGB without their profile."""
_OF_THE_CAMERA: Final = 0x8769
_SIGNATURE_TAGS: Final = {
    0: (0x010F, 0x0110, 0x0132, 0x013B, 0x8298),
    _OF_THE_CAMERA: (0x9003, 0x9004, 0x9010, 0x9011, 0x9012),
}
"""Exif 2.32 by its directories: maker, model, date, artist, copyright; the dates of taking and storing, their zones."""
_EXIF_CHARS_MOST: Final = 1024


def small_version(data: bytes, longest_px: int) -> tuple[bytes, str, int, int, str]:
    """Return bytes, media type, width and height, and what is lost; upright, as the camera was held, in its colours.

    Of what was noted in the picture, date, camera and copyright stay; the place where it was taken does not.

    Raises:
        NotReadable: Pillow is not installed, the data is broken or of another format, or it has too many pixels.
    """
    if data.startswith(_JPEG) and not 0 < (scans := scans_of(data)) <= SCANS_MOST:
        raise NotReadable("it has more scans than this device decodes" if scans else "its JPEG data is broken")
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
                exif = _signature_of(picture.getexif())
                small = ImageOps.exif_transpose(picture)
                lost = png.FRAMES_LOST if _has_another_frame(picture) else ""
        small.thumbnail((longest_px, longest_px))
        out = io.BytesIO()
        # The profile says which colours its numbers mean, so it stays as long as these do.
        profile = small.info.get("icc_profile") or b"" if small.mode in _KEEPS_NUMBERS else b""
        if len(profile) > png.PROFILE_BYTES_MOST:
            raise NotReadable(png.PROFILE_TOO_LARGE)
        about = {"icc_profile": profile, "exif": exif}
        if small.mode in ("L", "RGB"):
            small.save(out, "JPEG", quality=_QUALITY, **about)
            return out.getvalue(), "image/jpeg", small.width, small.height, lost
        small.convert("RGBA").save(out, "PNG", **about)
        return out.getvalue(), "image/png", small.width, small.height, lost
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise NotReadable("it has more pixels than this device decodes") from None
    except UnidentifiedImageError:
        raise NotReadable(f"its {kind} data is broken or of a kind that this device does not decode") from None
    except (OSError, SyntaxError, ValueError) as error:
        raise NotReadable(f"its {kind} data is broken or cut short: {error}") from error


def _has_another_frame(picture: Image.Image) -> bool:
    """Tell whether a picture moves or has a second page. Not how many: that reads each of them."""
    try:
        picture.seek(1)
    except EOFError:
        return False
    except (OSError, SyntaxError, TypeError, ValueError):
        pass  # there is one, and it is broken
    return True


def _signature_of(exif: Image.Exif) -> bytes:
    """Return when, with what and by whom a picture was taken, as Exif; not where, nor what programs have added."""
    from PIL import Image

    signature = Image.Exif()
    for ifd, tags in _SIGNATURE_TAGS.items():
        source, target = (exif, signature) if not ifd else (exif.get_ifd(ifd), signature.get_ifd(ifd))
        for tag in tags:
            if isinstance(text := source.get(tag), str):
                target[tag] = text[:_EXIF_CHARS_MOST]
    is_empty = not signature.get_ifd(_OF_THE_CAMERA) and not any(tag in signature for tag in _SIGNATURE_TAGS[0])
    return b"" if is_empty else signature.tobytes()


_RAW: Final = frozenset({"raw", "dng", "cr2", "nef", "arw"})
"""Endings of files of cameras. Most begin as TIFF does."""
_BEGINNINGS: Final = (
    (_JPEG, "JPEG"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"II+\0", "TIFF"),
    (b"MM\0+", "TIFF"),
)
BYTES_MOST: Final = 256 * 1024 * 1024
_LOOKED_AT_PX: Final = 64
"""A JPEG is read to its end at any size; a small one costs least."""


class NoDecoder(Exception):
    """This device cannot decode a picture of this kind or size, which says nothing about the picture."""


def require_whole(data: bytes, ending: str) -> None:
    """Decode a picture to its end; `ending` is that of its name, in small letters.

    Raises:
        NotReadable: it is empty, broken, cut short, or no picture.
        NoDecoder: nothing here decodes its kind, or it is too large.
    """
    if not data:
        raise NotReadable("it is empty")
    if len(data) > BYTES_MOST:
        raise NoDecoder("it is larger than this device decodes")
    if data.startswith(png.SIGNATURE):
        width, height = png.size_of(data)
        if width * height > png.PIXELS_MOST:
            raise NoDecoder("it has more pixels than this device decodes")
        png.require_whole(data)
        return
    kind = _kind_of(data, ending)
    scans = scans_of(data) if kind == "JPEG" else 1
    if not scans:
        raise NotReadable("its JPEG data is broken")
    if scans > SCANS_MOST:
        raise NoDecoder("it has more scans than this device decodes")
    try:
        from PIL import Image, UnidentifiedImageError, features
    except ImportError:
        raise NoDecoder(f"it is a {kind}, and this device decodes PNG alone: its agent has no Pillow") from None
    if kind == "WEBP" and not features.check("webp"):
        raise NoDecoder("this device has no decoder for WEBP")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
                picture.draft("RGB", (_LOOKED_AT_PX, _LOOKED_AT_PX))
                picture.load()
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise NoDecoder("it has more pixels than this device decodes") from None
    except UnidentifiedImageError:
        raise NotReadable(f"its {kind} data is broken") from None
    except (OSError, SyntaxError, ValueError) as error:
        if "not available" in str(error):
            raise NoDecoder(f"this device has no decoder for its {kind} data") from None
        raise NotReadable(f"its {kind} data is broken or cut short") from None


def _kind_of(data: bytes, ending: str) -> str:
    """Return the kind of a picture by its first bytes.

    Raises:
        NotReadable: it begins like no picture.
        NoDecoder: it is of a kind that nothing here decodes.
    """
    if data[4:8] == b"ftyp":
        raise NoDecoder("this device has no decoder for HEIC or AVIF")
    if ending in _RAW or (ending == "svg" and b"<svg" in data):
        raise NoDecoder(f"this device has no decoder for {ending.upper()}")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            return kind
    raise NotReadable("it does not begin like a picture")
