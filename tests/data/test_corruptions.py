"""Corruptions: drawn from an image's own content, as severe as published, right in formula."""

import colorsys
import hashlib
import io
import json

import numpy as np
import pytest
import yaml
from PIL import Image
from scipy.ndimage import convolve, gaussian_filter, map_coordinates, zoom
from sklearn.datasets import load_sample_images

from helpers.data import load, resize
from helpers.data.corruptions import NAMES, blur, corrupt, corrupt_set, digital
from helpers.data.corruptions.digital import elastic_transform
from helpers.data.corruptions.weather import brightness, fog, frost, plasma, snow
from helpers.files import project_root


@pytest.fixture(scope="module")
def small():
    return load("cifar10_mini", "test").images[:100]


@pytest.fixture(scope="module")
def large():
    return np.concatenate([resize(image[np.newaxis], 224) for image in load_sample_images().images])


def generators(n):
    return [np.random.default_rng(seed) for seed in range(n)]


@pytest.fixture
def levels():
    return np.random.default_rng(2).random((2, 24, 32, 3), np.float32)


def test_the_parameters_are_the_published_ones():
    """They were compared with the authors' three scripts; a change must be compared again."""
    path = project_root() / "helpers/data/corruptions/parameters.yaml"
    content = json.dumps(yaml.safe_load(path.read_text("utf-8")), sort_keys=True)
    assert hashlib.sha256(content.encode()).hexdigest()[:16] == "7602165aab0e8a1b"


@pytest.mark.parametrize("name", NAMES)
def test_the_corruption_of_an_image_does_not_depend_on_order_subset_or_batch(name, small, large):
    """Only its content, the seed, the name and the severity decide; the input is unchanged."""
    rng = np.random.default_rng(1)
    many = np.concatenate([small] * 4)  # more than are worked on at once
    for images in (many, large, large[:, :48, :64], large[:, 60:68, 80:88]):
        before = images.copy()
        whole = corrupt(images, name, 3, seed=0)
        assert whole.shape == images.shape
        assert whole.dtype == np.uint8
        assert (whole != images).any()
        assert (images == before).all()
        for order in (rng.permutation(len(images))[:150], [-1]):
            np.testing.assert_array_equal(corrupt(images[order], name, 3, seed=0), whole[order])
    assert corrupt(small[:0], name, 3, seed=0).shape == (0, 32, 32, 3)


def test_elastic_transform_takes_three_corners_to_where_they_are_drawn():
    """The image shows its coordinates, and the generator is the same."""
    places = np.indices((30, 40), np.float32)
    image = np.stack([*places, places[0]], axis=-1)
    result = elastic_transform(image[np.newaxis], generators(1), 0, 0, 3)[0]
    corners = np.array([[25, 30], [25, 10], [5, 10]])  # a third of 30 from the middle, (15, 20)
    moved = corners + generators(1)[0].uniform(-3, 3, (3, 2))
    for axis in (0, 1):
        seen = map_coordinates(result[..., axis], moved.T, order=1)
        np.testing.assert_allclose(seen, corners[:, axis], atol=1e-3)


def test_a_corrupted_data_set_keeps_its_labels_and_records_the_corruption(small):
    clean = load("cifar10_mini", "test").subset(slice(6))
    noisy = corrupt_set(clean, "gaussian_noise", 3, seed=7)
    assert noisy.name == "cifar10_mini-gaussian_noise-3"
    assert (noisy.labels == clean.labels).all()
    assert (noisy.images == corrupt(small[:6], "gaussian_noise", 3, seed=7)).all()
    assert noisy.origin == clean.origin | {"corruption": "gaussian_noise, severity 3, seed 7"}


def test_noise_has_the_published_strength():
    """We measure deviation, Poisson variance, and the share of black and white pixels."""
    grey = np.full((20, 32, 32, 3), 128, np.uint8)
    normal = corrupt(grey, "gaussian_noise", 2, seed=0) / 255
    assert normal.std() == pytest.approx(0.06, rel=0.02)
    shot = corrupt(grey, "shot_noise", 5, seed=0) / 255
    assert shot.mean() == pytest.approx(128 / 255, rel=0.01)
    assert shot.var() == pytest.approx(128 / 255 / 50, rel=0.05)
    impulse = corrupt(grey, "impulse_noise", 5, seed=0)
    for extreme in (0, 255):
        assert (impulse == extreme).mean() == pytest.approx(0.035, rel=0.1)


def test_brightness_adds_to_the_value_in_hsv():
    pixels = np.array([[[0, 0, 0], [10, 200, 90], [250, 128, 3], [77, 77, 77]]], np.float32) / 255
    brighter = brightness(pixels[np.newaxis], [], 0.2)[0, 0]
    in_hsv = [colorsys.rgb_to_hsv(*pixel) for pixel in pixels[0]]
    expected = [colorsys.hsv_to_rgb(hue, full, min(value + 0.2, 1)) for hue, full, value in in_hsv]
    np.testing.assert_allclose(brighter, expected, atol=1e-6)


@pytest.mark.parametrize(("radius", "taps"), [(1, 1), (9, 2)])
def test_defocus_blur_is_the_mean_over_a_softened_disc(radius, taps, small):
    """As by an explicit convolution; a disc of radius 1 has five pixels."""
    image = small[0] / np.float32(255)
    across = np.abs(np.arange(-radius, radius + 1))
    disc = np.pad(np.hypot(*np.meshgrid(across, across)) <= radius, taps)
    kernel = gaussian_filter(disc / disc.sum(), 0.5, radius=taps)
    blurred = blur.defocus_blur(image[np.newaxis], [], radius, 0.5)[0]
    expected = convolve(image, kernel[..., np.newaxis], mode="mirror")
    np.testing.assert_allclose(blurred, expected, atol=1e-5)


@pytest.mark.parametrize("delta", [1, 3])
def test_glass_blur_displaces_pixels_one_after_the_other(delta):
    """The result equals a loop over the pixels from the last to the first."""
    height = 20
    width = 17
    levels = np.random.default_rng(0).random((2, height, width, 3), np.float32)
    result = blur.glass_blur(levels, generators(2), 0.01, delta, 2)  # too narrow a Gaussian to blur
    for expected, image, generator in zip(levels.copy(), result, generators(2), strict=True):
        for _ in range(2):
            down, right = generator.integers(-delta, delta, (2, height, width))
            for row in range(height - delta, delta, -1):
                for column in range(width - delta, delta, -1):
                    source = row + down[row, column], column + right[row, column]
                    expected[row, column] = expected[source]
        np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize(("angle", "down", "right"), [(0, 0, 1), (-90, -1, 0), (45, 1, 1)])
def test_smearing_follows_the_angle_with_half_a_gaussian(angle, down, right):
    """A point appears in the pixels from which the angle leads to it."""
    point = np.pad(np.ones((1, 1, 1), np.float32), [(0, 0), (10, 10), (10, 10)])
    smeared = blur.smear(point, generators(1), 2, 1.5, angle, angle)[0]
    weights = np.exp(-(np.arange(5) ** 2) / 4.5)
    weights /= weights.sum()
    assert smeared[10, 10] == pytest.approx(weights[0])
    if angle in (0, -90):  # whole steps of a pixel
        seen = [smeared[10 - i * down, 10 - i * right] for i in range(5)]
        np.testing.assert_allclose(seen, weights, rtol=1e-6)
    assert smeared[10 - down, 10 - right] > 0
    assert smeared[10 + down, 10 + right] == 0
    flat = np.full((2, 32, 32, 3), [255, 135, 1], np.uint8)
    for name in ("pixelate", "jpeg_compression", "motion_blur", "zoom_blur", "contrast"):
        assert np.abs(corrupt(flat, name, 5, seed=0).astype(int) - flat).max() <= 1, name


def test_glass_blur_is_also_blurred_after_the_displacement(levels):
    blurred = blur.glass_blur(levels, generators(2), 0.7, 1, 0)  # here no pixel is displaced
    for _ in range(2):
        levels = gaussian_filter(levels, (0, 0.7, 0.7, 0), mode="nearest")
    np.testing.assert_allclose(blurred, levels, atol=1e-6)


def test_motion_blur_has_angles_up_to_45_degrees(levels):
    smeared = blur.smear(levels, generators(2), 3, 2, -45, 45)
    np.testing.assert_array_equal(blur.motion_blur(levels, generators(2), 3, 2), smeared)


@pytest.mark.parametrize("factor", [1.06, 1.25, 2.25])
def test_an_enlargement_is_a_zoom_of_the_middle(factor):
    """As by SciPy's zoom of the middle part, cut to the old size."""
    layer = np.random.default_rng(0).random((32, 32))
    part = int(np.ceil(32 / factor))
    first = (32 - part) // 2
    middle = slice(first, first + part)
    zoomed = zoom(layer[middle, middle], factor, order=1)
    border = (len(zoomed) - 32) // 2
    kept = slice(border, border + 32)
    enlarged = blur.enlarge(layer[np.newaxis], factor)[0]
    np.testing.assert_allclose(enlarged, zoomed[kept, kept], atol=1e-6)


def test_snow_whitens_the_scene_and_falls_from_two_sides(levels):
    """Without flakes, which begin at 2; and flakes alone, over a black scene."""
    grey = levels @ [0.299, 0.587, 0.114]
    whitened = np.maximum(levels, 1.5 * grey[..., np.newaxis] + 0.5)
    scene = snow(levels, generators(2), 0.1, 0.3, 1, 2, 4, 1, 0.7)
    np.testing.assert_allclose(scene, 0.7 * levels + 0.3 * whitened, atol=1e-6)
    flakes = snow(0 * levels, generators(2), 0.1, 0.3, 1, 0.5, 4, 1, 1)
    np.testing.assert_allclose(flakes, flakes[:, ::-1, ::-1], atol=1e-6)
    noise = 0.1 + 0.3 * np.stack([g.standard_normal((24, 32), np.float32) for g in generators(2)])
    drawn = noise.clip(0, 1) * (noise >= 0.5)
    assert flakes[..., 0].mean() == pytest.approx(2 * drawn.mean(), rel=0.1)


def test_plasma_is_drawn_by_diamonds_and_squares():
    """By a loop over the pixels, with the same noise."""
    decay, size = 1.75, 16
    noise = 2 * generators(1)[0].random((size, size), np.float32) - 1
    height = np.zeros((size, size))
    amplitude, step = 1.0, size
    while step > 1:
        half = step // 2
        squares = [(row, column) for row in range(half, size, step)
                   for column in range(half, size, step)]  # fmt: skip
        diamonds = [(row, column) for row in range(0, size, half)
                    for column in range((row + half) % step, size, step)]  # fmt: skip
        for places, corners in (
            (squares, [(-half, -half), (-half, half), (half, -half), (half, half)]),
            (diamonds, [(-half, 0), (half, 0), (0, -half), (0, half)]),
        ):
            for row, column in places:
                around = [height[(row + y) % size, (column + x) % size] for y, x in corners]
                height[row, column] = np.mean(around) + amplitude * noise[row, column]
        amplitude, step = amplitude / decay**2, half
    height = (height - height.min()) / np.ptp(height)
    np.testing.assert_allclose(plasma(generators(1), size, decay)[0], height, atol=1e-5)


def test_elastic_transform_displaces_by_smooth_noise(levels):
    """Without the affine map: as by SciPy's filter, cut after three standard deviations."""
    bent = elastic_transform(levels[:1], generators(1), 6, 2, 0)[0]
    (generator,) = generators(1)
    generator.uniform(-1, 1, (3, 2))  # of the affine map
    noise = generator.uniform(-1, 1, (2, 24, 32))
    smooth = [gaussian_filter(each, 2, mode="reflect", truncate=3) for each in noise]
    field = np.indices((24, 32)) + 6 * np.array(smooth)
    for channel in range(3):
        expected = map_coordinates(levels[0, ..., channel], field, order=1, mode="reflect")
        np.testing.assert_allclose(bent[..., channel], expected, atol=1e-4)


def test_contrast_pixels_and_jpeg_are_by_the_formula_and_by_pillow(levels):
    mean = levels.mean(axis=(1, 2), keepdims=True)
    lower = digital.contrast(levels, [], 0.3)
    np.testing.assert_allclose(lower, mean + 0.3 * (levels - mean), atol=1e-6)
    blocks = levels.reshape(2, 12, 2, 16, 2, 3).mean(axis=(2, 4))
    coarse = digital.pixelate(levels, [], 0.5)
    np.testing.assert_allclose(coarse, blocks.repeat(2, axis=1).repeat(2, axis=2), atol=1.5 / 255)
    picture = Image.fromarray((levels[0] * 255).round().astype(np.uint8))
    picture.save(stored := io.BytesIO(), "JPEG", quality=40)
    compressed = digital.jpeg_compression(levels, [], 40)[0]
    np.testing.assert_array_equal((255 * compressed).round(), np.asarray(Image.open(stored)))


def test_fog_frost_and_zoom_blur_by_their_formulas(levels):
    levels = levels / 2
    clouds = plasma(generators(2), 32, 1.75)[:, :24, :32, None]
    brightest = levels.max(axis=(1, 2, 3), keepdims=True)
    expected = (levels + 0.4 * clouds) * brightest / (brightest + 0.4)
    np.testing.assert_allclose(fog(levels, generators(2), 0.4, 1.75), expected, atol=1e-6)
    expected = (2 * levels + blur.enlarge(levels, 1.02) + blur.enlarge(levels, 1.04)) / 4
    np.testing.assert_allclose(blur.zoom_blur(levels, [], 1.05, 0.02), expected, atol=1e-6)
    ice = frost(0 * levels, generators(2), 0.9, 0.5)
    frozen = frost(levels, generators(2), 0.9, 0.5)
    np.testing.assert_allclose(frozen - ice, 0.9 * levels, atol=1e-6)
    # a mean thickness of 0.42, between two colours
    assert ice.mean(axis=(0, 1, 2)) / 0.5 == pytest.approx([0.48, 0.55, 0.61], abs=0.03)
