#!/usr/bin/env python3
"""Reviews of films by a Keras LSTM; two lines say dlc."""

import keras
from keras import layers

import dlc

WORDS, LENGTH = 10000, 80
(x_train, y_train), (x_test, y_test) = keras.datasets.imdb.load_data(num_words=WORDS)
x_train = keras.utils.pad_sequences(x_train, LENGTH)
x_test = keras.utils.pad_sequences(x_test, LENGTH)

model = keras.Sequential(
    [
        keras.Input((LENGTH,), dtype="int32"),
        layers.Embedding(WORDS, 64),
        layers.LSTM(64),
        layers.Dropout(0.3),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
history = dlc.Trainer(model).fit(
    x_train, y_train, epochs=3, batch_size=64, validation_data=(x_test, y_test)
)
print("test accuracy:", round(history["val_accuracy"][-1], 4))
