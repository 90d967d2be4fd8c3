"""Figures of images themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from helpers.report.figures.style import BLUE, RED, axes_grid, axes_or_new


def contact_sheet(
    images: np.ndarray,
    labels: np.ndarray,
    class_names: Sequence[str],
    *,
    known: Collection[int] | None = None,
    columns: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Show the first images of each class, one class a row."""
    images, labels = check_pictures("images", images), np.asarray(labels)
    if labels.shape != images.shape[:1]:
        raise ValueError(f"labels: {len(images)} expected, got shape {labels.shape}")
    if labels.min() < 0 or labels.max() >= len(class_names):
        raise ValueError(f"labels: 0 to {len(class_names) - 1} expected, one per class name")
    present = np.unique(labels).tolist()
    if known is not None:
        present.sort(key=lambda label: label not in known)

    gap = max(1, images.shape[1] // 16)  # between images, in their pixels
    height, width = (size + gap for size in images.shape[1:3])
    first_unknown = len(present) if known is None else sum(label in known for label in present)
    tops = [row * height + 3 * gap * (row >= first_unknown) for row in range(len(present))]
    sheet = np.full((tops[-1] + height, columns * width, 3), 255, dtype=np.uint8)
    for top, label in zip(tops, present, strict=True):
        for column, image in enumerate(images[labels == label][:columns]):
            left = column * width
            sheet[top : top + height - gap, left : left + width - gap] = image

    if ax is None:
        ax = axes_or_new(None, figsize=(6, 6 * sheet.shape[0] / sheet.shape[1]))
        ax.figure.set_dpi(96)  # small images gain nothing by more, and photographs make large files
    ax.imshow(sheet, interpolation="nearest")
    ax.set(xticks=[], yticks=np.array(tops) + (height - gap) / 2)
    ax.set_yticklabels([class_names[label] for label in present])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if known is not None:
        first, width = tops[:first_unknown], columns * width + gap
        groups = (("known", first, BLUE, "-"), ("unknown", tops[first_unknown:], RED, "--"))
        for name, rows, colour, line in groups:
            if rows:
                style = {"edgecolor": colour, "linestyle": line, "linewidth": 2, "clip_on": False}
                size = width, len(rows) * height + gap
                corner = -gap, rows[0] - gap
                ax.add_patch(Rectangle(corner, *size, fill=False, label=name, **style))
        for row, label in enumerate(ax.get_yticklabels()):
            label.set_color(BLUE if row < first_unknown else RED)
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.01), ncols=2)
    return ax


def resize_pairs(versions: Mapping[str, Sequence[np.ndarray]]) -> np.ndarray:
    """Show versions of the same images enlarged, one version a row, to compare their pixels."""
    counts = {name: len(images) for name, images in versions.items()}
    if len(set(counts.values())) != 1 or not all(counts.values()):
        raise ValueError(f"versions: as many images in each expected, got {counts}")
    columns = next(iter(counts.values()))
    axes = axes_grid(len(versions), columns, 6 * len(versions) / columns)
    axes[0, 0].figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0, hspace=0)
    for row, (name, images) in zip(axes, versions.items(), strict=True):
        row[0].set_ylabel(name)
        for ax, image in zip(row, images, strict=True):
            show_picture(ax, check_pictures(f"versions: {name}", [image])[0])
    return axes


def show_picture(ax: Axes, picture: np.ndarray) -> None:
    """Show an image's pixels as they are, without ticks and frame."""
    ax.imshow(picture, interpolation="nearest")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def check_pictures(name: str, pictures: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
    """Return RGB images as an array of uint8, shape [N, H, W, 3]; refuse others and none."""
    pictures = np.asarray(pictures)
    if pictures.dtype != np.uint8 or pictures.ndim != 4 or pictures.shape[-1] != 3:
        found = f"{pictures.dtype} {pictures.shape}"
        raise ValueError(f"{name}: uint8 [N, H, W, 3] expected, got {found}")
    if not len(pictures):
        raise ValueError(f"{name}: empty")
    return pictures
