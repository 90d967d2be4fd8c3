"""Embedded slices: which images of a whole set they contain, by the rule of the set's card."""

import numpy as np
import pandas as pd
from pack_content import PackContent

from helpers import data
from helpers.data.cards import FIRST, Card
from helpers.data.packs import jpeg_files


def slice_of(card: Card) -> PackContent:
    """Return the content of an embedded pack, cut out of the whole set by the rule of its card.

    JPEG files are copied as they are, with the author and the page of each if the set names them.
    """
    splits = {}
    origin: dict = dict(card.record)
    whole = str(card.slice_of)
    for split, count in card.splits.items():
        images = data.load(whole, split, size=card.size)
        if card.rule == FIRST:
            ranks = pd.Series(images.labels).groupby(images.labels).cumcount()
            indices = np.flatnonzero(ranks < count // card.classes)
        else:
            indices = np.arange(count) * len(images) // count
        part = images.subset(indices)
        pack = data.locate(whole)  # None: no pack has the whole set, so no JPEG files
        files, about = jpeg_files(pack, split) if pack else ([], {})
        pixels = [files[index] for index in indices] if files else part.images
        coarse = () if part.coarse_labels is None else (part.coarse_labels,)
        splits[split] = (pixels, part.labels, *coarse)
        origin |= {column: [values[index] for index in indices] for column, values in about.items()}
    return PackContent(splits, images.class_names, origin, images.coarse_class_names)
