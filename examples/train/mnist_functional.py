#!/usr/bin/env python3
"""A functional Keras network with a residual connection and batch norms for MNIST; two lines say
dlc."""

import keras
from keras import layers

import dlc

(x_train, y_train), (x_test, y_test) = keras.datasets.mnist.load_data()
x_train = x_train[..., None].astype("float32") / 255
x_test = x_test[..., None].astype("float32") / 255

inputs = keras.Input((28, 28, 1))
x = layers.Conv2D(16, 3, padding="same", activation="relu")(inputs)
x = layers.BatchNormalization()(x)
x = layers.MaxPooling2D()(x)
y = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
y = layers.BatchNormalization()(y)
x = layers.add([x, y])
x = layers.GlobalAveragePooling2D()(layers.Conv2D(32, 3, activation="relu")(x))
model = keras.Model(inputs, layers.Dense(10)(x))

model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = dlc.Trainer(model).fit(
    x_train, y_train, epochs=5, batch_size=64, validation_data=(x_test, y_test)
)
print("test accuracy:", round(history["val_accuracy"][-1], 4))
