"""Corruptions: drawn from an image's own content, as severe as published, right in formula."""

import colorsys

import numpy as np
import pytest
from scipy.ndimage import convolve, gaussian_filter, map_coordinates
from sklearn.datasets import load_sample_images

from helpers.data import load, resize
from helpers.data.corruptions import NAMES, SEVERITIES, blur, corrupt, corrupt_set
from helpers.data.corruptions.digital import elastic_transform
from helpers.data.corruptions.weather import brightness

# of these, the published parameters of one severity may do less than those of the one before
UNSTEADY = {"glass_blur", "motion_blur", "snow", "frost", "fog"}


@pytest.fixture(scope="module")
def small():
    return load("cifar10_mini", "test").images[:100]


@pytest.fixture(scope="module")
def large():
    return np.concatenate([resize(image[np.newaxis], 224) for image in load_sample_images().images])


def generators(n):
    return [np.random.default_rng(seed) for seed in range(n)]


def distance(images, name, severity):
    """Return the mean over the images of the root mean square difference to the original."""
    difference = corrupt(images, name, severity, seed=0).astype(float) - images
    return np.sqrt((difference**2).mean(axis=(1, 2, 3))).mean()


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


@pytest.mark.parametrize("name", sorted(NAMES.keys() - {"elastic_transform"}))
def test_a_higher_severity_is_further_from_the_original(name, small, large):
    """On average from each severity to the next, or at least from the first to the last.

    Elastic transform has another test: its affine map shrinks as its field grows.
    """
    for images in (small, large):
        if name in UNSTEADY:
            assert distance(images, name, 5) > 1.05 * distance(images, name, 1)
        else:
            distances = [distance(images, name, severity) for severity in SEVERITIES]
            assert (np.diff(distances) > 0).all(), distances


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


def test_defocus_blur_is_the_mean_over_a_softened_disc(small):
    """As by an explicit convolution; a disc of radius 1 has five pixels."""
    image = small[0] / np.float32(255)
    disc = np.pad(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]) / 5, 1)
    kernel = gaussian_filter(disc, 0.5, radius=1)
    blurred = blur.defocus_blur(image[np.newaxis], [], 1, 0.5)[0]
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
