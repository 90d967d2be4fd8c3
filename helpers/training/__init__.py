"""Training: `recipe` says what, `fitted` keeps what came of it, `loop` does it step by step.

`objectives` holds what is minimised, `batches` brings images to the device, `augmentation` and
`mixing` change them there, `step` is one step.
"""
