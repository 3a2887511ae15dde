"""Names, and files from the web."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import torch

from cuter.backbone import SHORT_NAMES, load_backbone
from cuter.errors import BackboneError


@pytest.fixture
def site(monkeypatch, tmp_path):
    """A web server on this machine; `site[path] = (content, announced length)` puts a file on it."""
    files, requests = {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            if self.path not in files:
                return self.send_error(404)
            content, length = files[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(content)
            return None

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("CUTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(SHORT_NAMES, "from-the-web", f"http://127.0.0.1:{server.server_port}/tiny.pth")
    yield files, requests
    server.shutdown()
    server.server_close()


def tiny_checkpoint(path):
    shapes = {"conv1": (8, 3, 7, 7), "layer1.0.conv1": (8, 8, 3, 3), "layer1.0.conv2": (8, 8, 3, 3)}
    state = {f"{name}.weight": torch.randn(shape) for name, shape in shapes.items()}
    for norm in ("bn1", "layer1.0.bn1", "layer1.0.bn2"):
        state |= {f"{norm}.{part}": torch.rand(8) for part in ("weight", "bias", "running_mean", "running_var")}
    torch.save(state, path)
    return path.read_bytes()


def test_a_file_is_downloaded_once(site, tmp_path):
    files, requests = site
    content = tiny_checkpoint(tmp_path / "original.pth")
    files["/tiny.pth"] = (content, len(content))
    backbone = load_backbone("from-the-web")
    again = load_backbone("from-the-web")
    assert backbone.name == "from-the-web"
    assert requests == ["/tiny.pth"]
    stem = "encoder.embedder.embedder.convolution.weight"
    assert torch.equal(backbone.state_dict()[stem], again.state_dict()[stem])
    cache = tmp_path / "cache" / "backbones"
    assert [file.name for file in cache.iterdir()] == ["tiny.pth"]
    assert (cache / "tiny.pth").read_bytes() == content


@pytest.mark.parametrize("broken", [True, False])
def test_a_failed_download_leaves_nothing_behind(site, tmp_path, broken):
    if broken:
        site[0]["/tiny.pth"] = (b"half", 1000)
    with pytest.raises(BackboneError, match="after 4 of 1000 bytes" if broken else "404"):
        load_backbone("from-the-web")
    assert list((tmp_path / "cache" / "backbones").iterdir()) == []


def test_short_names_name_what_they_promise():
    expected = "toybox dino-vits16 dino-vits8 dino-vitb16 dino-vitb8 dinov2-vits14 dinov2-vitb14 mocov3-vits16 "
    expected += "mocov3-vitb16 mae-vitb16 supervised-vitt16 supervised-vits16 supervised-vitb16 dino-resnet50 "
    expected += "supervised-resnet50 mocov3-resnet50"
    assert list(SHORT_NAMES) == expected.split()
    elsewhere = [source for name, source in SHORT_NAMES.items() if name != "toybox"]
    assert all(source.startswith("https://") or source.count("/") == 1 for source in elsewhere)


@pytest.mark.parametrize(
    "name", ["./weights/nothing", "/no/such/folder", "~/no/such/folder", "weights/nothing.pth.tar"]
)
def test_a_path_that_does_not_exist_is_called_so(name):
    with pytest.raises(BackboneError, match=f"no such file or folder: {name}"):
        load_backbone(name)


def test_a_misspelt_short_name_gets_a_hint():
    with pytest.raises(BackboneError, match="Did you mean 'dino-vits16'"):
        load_backbone("dino-vit-s16")
