"""JPEG copies of images, as in the authors' archive."""

from dataclasses import replace

import numpy as np

from helpers.data import Images, ImageStream
from helpers.data.corruptions.digital import jpeg_compression
from pictures.base import to_bytes


def jpeg_copies(images: Images | ImageStream, quality: int) -> Images:
    """Return the images after compression as JPEG files of some quality, 1 to 95."""
    if not isinstance(images, Images):
        raise ValueError(f"jpeg: images in memory expected, got the stream {images.name}")
    scaled = images.images / np.float32(255)
    copies = jpeg_compression(scaled, (), quality)
    return replace(images, images=to_bytes(copies))
