#!/usr/bin/env python3
"""A new head on VGG16, whose own weights stay as ImageNet left them; two lines say dlc."""

import keras
from keras import layers

import dlc

(x_train, y_train), (x_test, y_test) = keras.datasets.cifar10.load_data()
x_train = keras.applications.vgg16.preprocess_input(x_train.astype("float32"))
x_test = keras.applications.vgg16.preprocess_input(x_test.astype("float32"))

base = keras.applications.VGG16(weights="imagenet", include_top=False, input_shape=(32, 32, 3))
base.trainable = False
model = keras.Sequential(
    [
        base,
        layers.Flatten(),
        layers.Dense(256, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = dlc.Trainer(model).fit(
    x_train, y_train, epochs=2, batch_size=32, validation_data=(x_test, y_test)
)
print("test accuracy:", round(history["val_accuracy"][-1], 4))
