#!/usr/bin/env python3
"""Keras's first example, a Sequential network for MNIST; two lines say dlc."""

import keras
from keras import layers

import dlc

(x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
x_train = x_train[..., None].astype("float32") / 255
x_test = x_test[..., None].astype("float32") / 255

model = keras.Sequential(
    [
        keras.Input((28, 28, 1)),
        layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)),
        layers.Conv2D(64, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)),
        layers.Flatten(),
        layers.Dropout(0.5),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = dlc.Trainer(model).fit(
    x_train, y_train, epochs=5, batch_size=64, validation_data=(x_test, y_test)
)
print("test accuracy:", round(history["val_accuracy"][-1], 4))
