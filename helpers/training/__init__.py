"""Training: `recipe` describes it, `fitted` caches the result, `loop` runs the steps.

`objectives` contains the loss functions, `batches` moves images to the device, `augmentation` and
`mixing` change them there, `step` is one step.
"""
