"""VOC and COCO with a handful of images, in archives that are the same bytes in every process."""

import hashlib
import io
import json
import tarfile
import zipfile
from dataclasses import replace

from PIL import Image

from cuter.stream.download.fetch import WebFile
from cuter.stream.download.homes import HOMES, Home

OBJECT = "<object><name>{}</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax></bndbox></object>"


def small_homes(url: str) -> tuple[dict[str, Home], dict[str, bytes]]:
    """Return the homes as they are, but small and at `url`, and the files that have to be served there."""
    contents = {
        "VOCtrainval_06-Nov-2007.tar": tarred(voc_files("trainval", {"000001": "dog", "000002": "cat"})),
        "VOCtest_06-Nov-2007.tar": tarred(voc_files("test", {"000003": "dog"})),
        "train2014.zip": zipped({f"train2014/{number}.jpg": jpeg() for number in range(3)}),
        "val2014.zip": zipped({f"val2014/{number}.jpg": jpeg() for number in range(2)}),
        "annotations_trainval2014.zip": zipped(
            {
                "annotations/instances_train2014.json": instances(3),
                "annotations/instances_val2014.json": instances(2),
                "annotations/captions_val2014.json": b"{}",
            }
        ),
    }
    counts = {9_963: 3, 82_783: 3, 40_504: 2, 1: 1}
    homes = {}
    for name, home in HOMES.items():
        pieces = []
        for piece in home.pieces:
            archives = tuple(web_file(f"{url}/{file.name}", contents[file.name]) for file in piece.archives)
            holds = {pattern: counts[count] for pattern, count in piece.holds.items()}
            pieces.append(replace(piece, archives=archives, holds=holds, unpacked=50_000))
        homes[name] = replace(home, pieces=tuple(pieces))
    return homes, {f"/{name}": content for name, content in contents.items()}


def web_file(url: str, content: bytes) -> WebFile:
    return WebFile(url, len(content), hashlib.md5(content).hexdigest())


def voc_files(split: str, labels: dict[str, str]) -> dict[str, bytes]:
    base = "VOCdevkit/VOC2007"
    files = {f"{base}/ImageSets/Main/{split}.txt": "\n".join(labels).encode()}
    for name, label in labels.items():
        files[f"{base}/Annotations/{name}.xml"] = f"<annotation>{OBJECT.format(label)}</annotation>".encode()
        files[f"{base}/JPEGImages/{name}.jpg"] = jpeg()
    return files


def instances(images: int) -> bytes:
    annotation = {"category_id": 17, "bbox": [1, 1, 4, 4]}
    content = {
        "categories": [{"id": 17, "name": "cat"}],
        "images": [{"id": number, "file_name": f"{number}.jpg"} for number in range(images)],
        "annotations": [{"image_id": number, **annotation} for number in range(images)],
    }
    return json.dumps(content).encode()


def jpeg() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "JPEG")
    return file.getvalue()


def tarred(files: dict[str, bytes], *others: tarfile.TarInfo) -> bytes:
    """Return a tar with these files after whatever else is to be in it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for other in others:
            tar.addfile(other)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()
