"""Image files as they are found in the wild: most of them damaged, some only odd, all of them made by code."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

from PIL import Image

from cuter.stream.images import FORMATS

NAMES = (
    "photo", "Фото", "写真", "사진", "صورة", "תמונה", "รูปภาพ", "φωτογραφία", "café", "cafe\u0301", "🐈‍⬛ 📷", "🇳🇴",
    "two words", "-rf", "--out", "a;b|c,d", "100%", "$HOME", "`x`", "'quoted'", '"quoted"', "line\nbreak", "tab\there",
    "\u200bunseen", "\u202egnp.exe", "x" * 200, "é" * 90, "#1", "[red]", "{x}", "a:b", "..dots", "trailing ", "NUL",
)  # fmt: skip

FOLDER = 7  # the place of the folder


def malformed_images(folder: Path, count: int = 1000) -> list[Path]:
    """Write so many files into a folder, always the same ones, and return their paths.

    Most of them cannot be read; a few can, and are only odd: CMYK, 16 bits, animated, transparent, of a wrong suffix.
    One is a folder whose name ends as that of an image.
    """
    draw = random.Random(0)
    wholes = _wholes()
    paths = []
    for number in range(count):
        suffix, content = (".jpg", None) if number == FOLDER else _MAKERS[number % len(_MAKERS)](wholes, draw)
        path = folder / f"{NAMES[number % len(NAMES)]}-{number:04}{suffix}"
        path.write_bytes(content) if content is not None else path.mkdir()
        paths.append(path)
    return paths


Wholes = dict[str, bytes]
Made = tuple[str, bytes]  # how the name ends, and the bytes


def _wholes() -> Wholes:
    """Return sound files by their suffix, small ones, of noise: hardly a byte of them is redundant."""
    draw = random.Random(1)
    photo = Image.frombytes("RGB", (40, 30), draw.randbytes(40 * 30 * 3))
    wide = Image.frombytes("I;16", (40, 30), draw.randbytes(40 * 30 * 2))
    other = photo.transpose(Image.Transpose.ROTATE_180)
    exif = Image.Exif()
    exif[0x0112] = 6
    clear = photo.quantize(16)
    kinds: dict[str, tuple[Image.Image, str, dict[str, object]]] = {
        ".jpg": (photo, "JPEG", {"exif": exif}),
        ".progressive.jpg": (photo, "JPEG", {"progressive": True}),
        ".cmyk.jpg": (photo.convert("CMYK"), "JPEG", {}),
        ".png": (photo, "PNG", {}),
        ".16.png": (wide, "PNG", {}),
        ".palette.png": (clear, "PNG", {"transparency": bytes(range(0, 256, 16))}),
        ".moving.png": (photo, "PNG", {"save_all": True, "append_images": [other]}),
        ".gif": (clear, "GIF", {"transparency": 3}),
        ".moving.gif": (photo, "GIF", {"save_all": True, "append_images": [other]}),
        ".webp": (photo, "WEBP", {}),
        ".moving.webp": (photo.convert("RGBA"), "WEBP", {"save_all": True, "append_images": [other], "lossless": True}),
        ".tif": (photo, "TIFF", {}),
        ".lzw.tiff": (photo, "TIFF", {"compression": "tiff_lzw"}),
        ".16.tif": (wide, "TIFF", {}),
        ".bmp": (photo, "BMP", {}),
        ".ppm": (photo, "PPM", {}),
        ".jp2": (photo, "JPEG2000", {}),
        ".avif": (photo, "AVIF", {"speed": 10}),
    }
    if "HEIF" in FORMATS:
        kinds[".heic"] = (photo, "HEIF", {})
    return {suffix: _encoded(*kind) for suffix, kind in kinds.items()}


def _encoded(image: Image.Image, kind: str, options: dict[str, object]) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def _whole(wholes: Wholes, draw: random.Random) -> Made:
    return draw.choice(sorted(wholes.items()))


def _wrong_suffix(wholes: Wholes, draw: random.Random) -> Made:
    return draw.choice(sorted(wholes)), _whole(wholes, draw)[1]


def _truncated(wholes: Wholes, draw: random.Random) -> Made:
    suffix, content = draw.choice(sorted(wholes.items()))
    return suffix, content[: draw.randrange(len(content))]


def _flipped(wholes: Wholes, draw: random.Random) -> Made:
    suffix, content = draw.choice(sorted(wholes.items()))
    damaged = bytearray(content)
    for _ in range(draw.randint(1, 8)):
        within = draw.choice((len(damaged), min(len(damaged), 120)))  # headers are where it hurts
        damaged[draw.randrange(within)] ^= draw.randint(1, 255)
    return suffix, bytes(damaged)


def _bomb(_: Wholes, draw: random.Random) -> Made:
    """Claim 50,000 × 50,000 pixels in a header."""
    side = 50_000
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b""))
    png = b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    bmp = b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, side, side, 1, 24, *[0] * 6)
    gif = b"GIF89a" + struct.pack("<HHBBB", side, side, 0, 0, 0) + b",\0\0\0\0" + struct.pack("<HHB", side, side, 0)
    bombs: list[tuple[str, bytes]] = [
        (".png", b"\x89PNG\r\n\x1a\n" + png),
        (".bmp", bmp),
        (".gif", gif + b"\x02\x02L\x01\0;"),
        (".ppm", f"P6 {side} {side} 255\n".encode()),
    ]
    return draw.choice(bombs)


def _no_image(_: Wholes, draw: random.Random) -> Made:
    contents = (
        b"", b"\0", b"<html>404</html>", "ikke et bilde".encode("utf-16"), b"%!PS-Adobe-3.0 EPSF-3.0\n",
        b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBP", b"II*\0", b"BM", b"P6\n", b"PK\x03\x04",
        bytes(300), b"\0\0\0\x18ftypheic", draw.randbytes(300),
    )  # fmt: skip
    return draw.choice((".jpg", ".JPEG", ".png", ".webp", ".gif", ".tif", ".heic")), draw.choice(contents)


_MAKERS: list[Callable[[Wholes, random.Random], Made]] = [
    *[_truncated] * 8,
    *[_flipped] * 8,
    _whole,
    _wrong_suffix,
    _bomb,
    *[_no_image] * 2,
]
