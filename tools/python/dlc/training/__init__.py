"""Training from Python. `dlc.Trainer` is made of

    trainer.py       the loop: epochs, validation, progress, the history
    batches.py       samples in memory, and batches that the caller makes
    program.py       a step of training as a compiled model with its states
    module.py        torch.nn.Module: torch.export in training and in evaluation mode
    keras_model.py   keras.Model: its own optimizer, loss and metrics
    model_file.py    .dl and .onnx
    optimizers.py    optimizers of PyTorch and Keras as calls of `dlc train --optimizer`"""
