import io
import os
import struct
import subprocess
import sys
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from cuter.errors import DataError
from cuter.stream import images
from cuter.stream.images import MAX_PIXELS, image_suffixes, read_image, read_size, read_squashed, squash


def encoded(image: Image.Image, kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int, colour: int, rows: bytes, *, extra: bytes = b"") -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    chunks = png_chunk(b"IHDR", header) + extra + png_chunk(b"IDAT", zlib.compress(rows)) + png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def photo(width: int = 48, height: int = 32) -> Image.Image:
    """Red grows to the right, green downwards: every corner differs."""
    red = np.tile(np.linspace(0, 255, width), (height, 1))
    green = np.tile(np.linspace(0, 255, height)[:, None], (1, width))
    return Image.fromarray(np.stack([red, green, np.full_like(red, 40)], axis=2).astype(np.uint8))


def pixel(source: bytes | Image.Image) -> tuple[int, ...]:
    image = read_image(source)
    assert image.mode == "RGB"
    return image.getpixel((0, 0))


def near(got: tuple[int, ...], wanted: tuple[int, ...], by: int) -> bool:
    return all(abs(a - b) <= by for a, b in zip(got, wanted, strict=True))


class TestModes:
    @pytest.mark.parametrize(
        ("mode", "colour", "wanted"),
        [
            ("1", 1, (255, 255, 255)),
            ("L", 77, (77, 77, 77)),
            ("LA", (10, 255), (10, 10, 10)),
            ("LA", (10, 0), (255, 255, 255)),
            ("La", (0, 0), (255, 255, 255)),
            ("RGBA", (10, 20, 30, 255), (10, 20, 30)),
            ("RGBA", (0, 0, 0, 0), (255, 255, 255)),
            ("RGBA", (255, 0, 0, 127), (255, 128, 128)),
            ("RGBa", (0, 0, 0, 0), (255, 255, 255)),
            ("RGBX", (10, 20, 30, 0), (10, 20, 30)),
            ("CMYK", (0, 0, 0, 0), (255, 255, 255)),
            ("CMYK", (255, 0, 0, 0), (0, 255, 255)),
            ("YCbCr", (255, 128, 128), (255, 255, 255)),
            ("HSV", (0, 255, 255), (255, 0, 0)),
            ("I", 65535, (255, 255, 255)),
            ("I", 32896, (128, 128, 128)),
            ("F", 1.0, (255, 255, 255)),
            ("F", 0.5, (128, 128, 128)),
            ("F", 100.0, (100, 100, 100)),
            ("F", float("nan"), (0, 0, 0)),
        ],
    )
    def test_becomes_proper_rgb(self, mode, colour, wanted):
        assert pixel(Image.new(mode, (2, 2), colour)) == wanted

    def test_lab_is_converted_by_its_meaning_not_by_its_bytes(self):
        white = Image.new("LAB", (1, 1), (255, 128, 128))
        assert near(pixel(white), (255, 255, 255), by=3)

    @pytest.mark.parametrize(("mode", "dtype"), [("I;16", "<u2"), ("I;16B", ">u2")])
    def test_sixteen_bit_grey_is_scaled_not_clipped(self, mode, dtype):
        values = np.array([[0, 257, 32896, 65535]], dtype=dtype)
        image = Image.frombytes(mode, (4, 1), values.tobytes())
        assert [read_image(image).getpixel((x, 0))[0] for x in range(4)] == [0, 1, 128, 255]

    def test_sixteen_bit_png_files(self):
        grey = png(1, 1, 16, 0, b"\0" + struct.pack(">H", 32896))
        colour = png(1, 1, 16, 2, b"\0" + struct.pack(">HHH", 65535, 32896, 0))
        assert pixel(grey) == (128, 128, 128)
        assert pixel(colour) == (255, 128, 0)

    def test_sixteen_bit_pgm_and_tiff_files(self):
        assert pixel(b"P5 1 1 65535\n" + struct.pack(">H", 32896)) == (128, 128, 128)
        deep = Image.frombytes("I;16", (1, 1), struct.pack("<H", 32896))
        assert pixel(encoded(deep, "TIFF")) == (128, 128, 128)

    def test_wide_values_outside_any_usual_range_are_stretched(self):
        image = Image.fromarray(np.array([[-1000, 0, 1000]], dtype=np.int32))
        assert [read_image(image).getpixel((x, 0))[0] for x in range(3)] == [0, 128, 255]

    def test_palette(self):
        image = Image.new("P", (2, 1))
        image.putpalette([200, 10, 20, 0, 0, 255])
        image.putpixel((1, 0), 1)
        assert pixel(encoded(image, "PNG")) == (200, 10, 20)
        half_clear = encoded(image, "PNG", transparency=b"\x00\xff")  # one alpha value a palette entry
        assert [read_image(half_clear).getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (0, 0, 255)]
        one_clear = encoded(image, "GIF", transparency=1)
        assert [read_image(one_clear).getpixel((x, 0)) for x in (0, 1)] == [(200, 10, 20), (255, 255, 255)]

    def test_transparent_colour_of_an_image_without_alpha(self):
        clear = png(1, 1, 8, 2, b"\0\x01\x02\x03", extra=png_chunk(b"tRNS", struct.pack(">HHH", 1, 2, 3)))
        assert pixel(clear) == (255, 255, 255)

    def test_cmyk_jpeg_which_adobe_stores_inverted(self):
        jpeg = encoded(Image.new("CMYK", (8, 8), (255, 0, 0, 0)), "JPEG", quality=95)
        assert b"Adobe" in jpeg
        assert near(pixel(jpeg), (0, 255, 255), by=3)

    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "JPEG2000"])
    def test_every_format_that_the_error_message_promises(self, kind):
        read = np.asarray(read_image(encoded(photo(), kind)), dtype=int)
        assert np.abs(read - np.asarray(photo(), dtype=int)).mean() < 12

    def test_a_phone_photo_with_a_second_picture_inside(self):
        stereo = encoded(photo(), "MPO", save_all=True, append_images=[Image.new("RGB", (48, 32))])
        assert near(read_image(stereo).getpixel((47, 31)), (255, 255, 40), by=20)

    def test_animation_gives_its_first_frame(self):
        frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
        assert pixel(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])) == (255, 0, 0)

    def test_eps_is_refused_because_it_is_a_program(self):
        with pytest.raises(DataError, match="not an image"):
            read_image(encoded(photo(), "EPS"))


class TestOrientation:
    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
    @pytest.mark.parametrize("orientation", range(1, 9))
    def test_exif_is_applied_once(self, kind, orientation):
        upright = photo()
        stored = {
            1: upright,
            2: upright.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
            3: upright.rotate(180),
            4: upright.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
            5: upright.transpose(Image.Transpose.TRANSPOSE),
            6: upright.rotate(90, expand=True),  # 6 asks for a quarter turn clockwise
            7: upright.transpose(Image.Transpose.TRANSVERSE),
            8: upright.rotate(-90, expand=True),
        }[orientation]
        exif = Image.Exif()
        exif[0x0112] = orientation
        read = read_image(encoded(stored, kind, exif=exif))
        again = read_image(read)
        assert read_size(encoded(stored, kind, exif=exif)) == upright.size
        for image in (read, again):
            assert image.size == upright.size
            assert np.abs(np.asarray(image, dtype=int) - np.asarray(upright, dtype=int)).mean() < 8

    def test_damaged_exif_does_not_cost_the_image(self):
        read = read_image(encoded(photo(), "JPEG", exif=b"Exif\0\0II*\0\xff\xff\xff\xff"))
        assert read.size == (48, 32)


class TestSize:
    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM", "JPEG2000"])
    def test_it_is_in_the_header(self, kind):
        file = encoded(Image.effect_noise((60, 40), 50).convert("RGB"), kind)
        assert read_size(file) == (60, 40)
        if kind in ("JPEG", "PNG"):
            assert read_size(file[: len(file) // 2]) == (60, 40), "without the pixels"

    def test_what_has_none_is_named(self, tmp_path):
        (tmp_path / "note.jpg").write_text("hello")
        with pytest.raises(DataError, match=r"note\.jpg: cannot read the image: not an image"):
            read_size(tmp_path / "note.jpg")


class TestSquash:
    def test_shape_and_type(self):
        tensor = squash(photo(), 7)
        assert tensor.shape == (3, 7, 7)
        assert tensor.dtype == torch.uint8
        assert tensor.is_contiguous()

    def test_is_antialiased(self):
        board = np.indices((64, 64)).sum(axis=0) % 2 * 255
        tensor = squash(Image.fromarray(board.astype(np.uint8)).convert("RGB"), 8)
        assert (tensor.float() - 127.5).abs().max() < 3  # picking pixels would give 0 or 255

    def test_agrees_with_torch(self):
        reference = torch.nn.functional.interpolate(
            torch.from_numpy(np.array(photo())).permute(2, 0, 1)[None].float(),
            (16, 16),
            mode="bilinear",
            antialias=True,
        )[0]
        assert (squash(photo(), 16).float() - reference).abs().max() <= 1

    def test_refuses_other_modes(self):
        with pytest.raises(ValueError, match="mode 'L'"):
            squash(Image.new("L", (2, 2)), 2)

    def test_reading_a_large_jpeg_at_a_smaller_scale_changes_next_to_nothing(self):
        jpeg = encoded(photo(1600, 1200), "JPEG", quality=90)
        exact, quick = squash(read_image(jpeg), 64), read_squashed(jpeg, 64)
        assert (exact.float() - quick.float()).abs().max() <= 3

    def test_an_image_of_the_caller_is_left_as_it_is(self):
        mine = Image.open(io.BytesIO(encoded(photo(1600, 1200), "JPEG")))
        read_squashed(mine, 16)
        assert mine.size == (1600, 1200)

    def test_reading_squashed_is_exact_where_there_is_nothing_to_gain(self):
        for kind in ("JPEG", "PNG"):
            data = encoded(photo(), kind)
            assert torch.equal(read_squashed(data, 32), squash(read_image(data), 32))


class TestFailures:
    def test_missing(self, tmp_path: Path):
        with pytest.raises(DataError, match=r"gone\.jpg: cannot read the image: no such file or directory"):
            read_image(tmp_path / "gone.jpg")

    def test_folder(self, tmp_path: Path):
        with pytest.raises(DataError, match="it is a folder"):
            read_image(tmp_path)

    def test_empty(self, tmp_path: Path):
        (tmp_path / "a.jpg").touch()
        with pytest.raises(DataError, match=r"a\.jpg: cannot read the image: the file is empty"):
            read_image(tmp_path / "a.jpg")
        with pytest.raises(DataError, match="0 bytes: cannot read the image: it is empty"):
            read_image(b"")

    def test_pipe_is_not_waited_for(self, tmp_path: Path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(DataError, match="not a regular file"):
            read_image(tmp_path / "pipe")

    def test_no_permission(self, tmp_path: Path, monkeypatch):
        (tmp_path / "a.png").write_bytes(encoded(photo(), "PNG"))

        def refuse(*_args, **_options):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("builtins.open", refuse)  # file modes do not stop a test that runs as root
        with pytest.raises(DataError, match=r"a\.png: cannot read the image: permission denied"):
            read_image(tmp_path / "a.png")

    @pytest.mark.parametrize("name", ["a\0b.jpg", "x" * 300 + ".jpg"])
    def test_impossible_names(self, tmp_path: Path, name):
        with pytest.raises(DataError, match="cannot read the image"):
            read_image(tmp_path / name)

    def test_text(self, tmp_path: Path):
        (tmp_path / "a.jpg").write_text("<html>404</html>")
        with pytest.raises(DataError, match=r"a\.jpg: .*not an image.*formats read: JPEG, PNG"):
            read_image(tmp_path / "a.jpg")

    @pytest.mark.parametrize("size", [32, 1])
    def test_truncated_at_any_scale(self, size):
        jpeg = encoded(photo(640, 480), "JPEG")
        with pytest.raises(DataError, match="truncated"):
            read_squashed(jpeg[: len(jpeg) // 2], size)

    @pytest.mark.parametrize("side", [9_460, 20_000, 60_000])  # just over the limit, over Pillow's error, absurd
    def test_bomb_is_refused_before_its_pixels(self, side):
        bomb = png(side, side, 8, 0, b"")  # there are no pixels at all: decoding would complain of that instead
        with pytest.raises(DataError, match="pixels"):
            read_image(bomb)

    def test_limit_is_the_callers(self):
        data = encoded(photo(), "PNG")
        with pytest.raises(DataError, match="48×32 pixels are more than the limit of 1,535"):
            read_image(data, max_pixels=48 * 32 - 1)
        assert read_image(data, max_pixels=48 * 32).size == (48, 32)
        with pytest.raises(DataError, match="limit of 1,535"):
            read_image(photo(), max_pixels=48 * 32 - 1)

    def test_pillows_own_limit_is_left_alone(self):
        assert Image.MAX_IMAGE_PIXELS == MAX_PIXELS


SEEDS = {
    "jpeg": encoded(photo(), "JPEG"),
    "jpeg-exif": encoded(photo(), "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"),
    "png": encoded(photo(), "PNG"),
    "png-palette": encoded(photo().quantize(8), "PNG", transparency=b"\x00\x80"),
    "gif": encoded(photo(), "GIF", save_all=True, append_images=[photo().rotate(90)]),
    "webp": encoded(photo(), "WEBP"),
    "tiff": encoded(photo(), "TIFF"),
}


def rgb_or_data_error(data: bytes) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            image = read_image(data)
        except DataError:
            image = None
    assert not heard
    assert image is None or (image.mode == "RGB" and np.asarray(image).ndim == 3)


class TestHostileBytes:
    @given(st.binary(max_size=200))
    @settings(max_examples=100, deadline=None)
    def test_random(self, data):
        rgb_or_data_error(data)

    @given(st.sampled_from(sorted(SEEDS)), st.data())
    @settings(max_examples=200, deadline=None)
    def test_truncated(self, seed, data):
        whole = SEEDS[seed]
        rgb_or_data_error(whole[: data.draw(st.integers(0, len(whole) - 1))])

    @given(st.sampled_from(sorted(SEEDS)), st.data())
    @settings(max_examples=400, deadline=None)
    def test_flipped(self, seed, data):
        damaged = bytearray(SEEDS[seed])
        positions = st.integers(0, len(damaged) - 1) | st.integers(0, 120)  # headers are where it hurts
        for _ in range(data.draw(st.integers(1, 4))):
            damaged[data.draw(positions)] ^= data.draw(st.integers(1, 255))
        rgb_or_data_error(bytes(damaged))


class TestManners:
    def test_many_threads_agree_and_restore_the_warning_filters(self):
        before = list(warnings.filters)
        with ThreadPoolExecutor(8) as pool:
            tensors = list(pool.map(lambda seed: read_squashed(SEEDS[seed], 16), sorted(SEEDS) * 20))
        assert all(torch.equal(tensor, tensors[i % len(SEEDS)]) for i, tensor in enumerate(tensors))
        assert list(warnings.filters) == before

    def test_nothing_is_printed(self, tmp_path: Path):
        (tmp_path / "palette.png").write_bytes(SEEDS["png-palette"])
        (tmp_path / "large.png").write_bytes(png(10_000, 9_000, 8, 0, b""))
        (tmp_path / "odd.tif").write_bytes(
            SEEDS["tiff"].replace(b"\x15\x01\x03\0\x01\0\0\0\x03", b"\x15\x01\x03\0\x01\0\0\0\xef")
        )
        assert (tmp_path / "odd.tif").read_bytes() != SEEDS["tiff"]  # 239 samples a pixel: Pillow logs an error
        script = (
            "import sys, pathlib\n"
            "from cuter.errors import DataError\n"
            "from cuter.stream.images import read_image\n"
            "for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):\n"
            "    try: read_image(path)\n"
            "    except DataError: pass\n"
        )
        command = [sys.executable, "-W", "always", "-c", script, str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert [line for line in run.stderr.splitlines() if "PIL" in line or "samples" in line] == []
        assert run.stdout == ""


class TestHeic:
    def test_photos_of_phones_are_read(self, tmp_path: Path):
        pytest.importorskip("pillow_heif")
        for suffix, kind in ((".heic", "HEIF"), (".avif", "AVIF")):
            path = tmp_path / f"photo{suffix}"
            path.write_bytes(encoded(photo(), kind, quality=90))
            assert suffix in image_suffixes()
            assert read_size(path) == (48, 32)
            assert np.abs(np.asarray(read_image(path), dtype=int) - np.asarray(photo(), dtype=int)).mean() < 12

    def test_one_that_lies_on_its_side(self):
        pytest.importorskip("pillow_heif")
        exif = Image.Exif()
        exif[0x0112] = 6
        data = encoded(photo().rotate(90, expand=True), "HEIF", exif=exif.tobytes(), quality=90)
        assert read_size(data) == read_image(data).size == (48, 32)
        assert np.abs(np.asarray(read_image(data), dtype=int) - np.asarray(photo(), dtype=int)).mean() < 12

    @pytest.mark.parametrize("name", ["photo.heic", "photo.jpg"])  # phones rename them, too
    def test_without_the_package_the_error_names_it(self, tmp_path: Path, monkeypatch, name):
        monkeypatch.setattr(images, "FORMATS", ("JPEG", "PNG", "AVIF"))
        (tmp_path / name).write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(100))
        with pytest.raises(DataError, match=rf"{name}: cannot read .* pip install 'cuter\[heic\]'"):
            read_image(tmp_path / name)
        with pytest.raises(DataError, match=r"pip install 'cuter\[heic\]'"):
            read_size((tmp_path / name).read_bytes())
        assert ".heic" in image_suffixes(), "it is named, not passed over"
        with pytest.raises(DataError, match="not an image"):
            read_image(b"\0\0\0\x18ftypmp42" + bytes(100))
