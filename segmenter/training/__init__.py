"""Training: labelled documents in, a checkpoint out.

.. code-block:: text

    packing     documents, tokenized once, in flat arrays
    sampling    which windows an epoch has, in which batches
    dataset     windows as tensors
    model       the classifier and its losses
    trainer     transformers.Trainer, restartable
    minilm      where the shipped model starts
    calibration temperature, prior and threshold after training
"""
