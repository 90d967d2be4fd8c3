"""Training: `recipe` says what, `loop` does it, `augmentation` works on batches on the device."""
