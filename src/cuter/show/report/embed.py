"""Pictures inside the page: nothing is loaded from elsewhere."""

import base64
import io

from PIL import Image

QUALITY = 80


def data_uri(image: Image.Image) -> str:
    """Return an RGB image as a JPEG in a data URI."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=QUALITY)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}"
