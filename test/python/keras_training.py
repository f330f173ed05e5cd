"""dlc.Trainer with models of Keras: the history and the weights against Keras's own fit."""
import numpy as np
from models import Failure, dlc, refused

ROWS, BATCH, EPOCHS = 40, 16, 2


def cnn(keras):
    """As the tutorials on MNIST have it, Sequential."""
    layers = keras.layers
    return keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(6, 3, activation="relu"),
        layers.BatchNormalization(momentum=0.8),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dropout(0.0),
        layers.Dense(16, activation="relu"),
        layers.Dense(5, activation="softmax"),
    ])


def functional(keras):
    layers = keras.layers
    x = inputs = keras.Input((8, 8, 1))
    x = layers.Conv2D(6, 3, padding="same", activation="relu")(x)
    x = layers.add([x, layers.Conv2D(6, 3, padding="same")(x)])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(5)(x))


def lstm(keras):
    layers = keras.layers
    return keras.Sequential([
        keras.Input((9, ), dtype="int32"),
        layers.Embedding(20, 8),
        layers.LSTM(6),
        layers.Dense(1, activation="sigmoid")
    ])


def headed(keras):
    """A base that stays as it is, and a new head."""
    layers = keras.layers
    base = keras.Sequential([
        keras.Input((8, 8, 1)),
        layers.Conv2D(4, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D()
    ])
    base.trainable = False
    x = inputs = keras.Input((8, 8, 1))
    x = layers.Flatten()(base(x))
    return keras.Model(inputs, layers.Dense(5, activation="softmax")(x))


def regression(keras):
    layers = keras.layers
    return keras.Sequential(
        [keras.Input((7, )),
         layers.Dense(9, activation="tanh"),
         layers.Dense(1)])


def images(random):
    return random.standard_normal((ROWS, 8, 8, 1)).astype(np.float32)


def classes(random):
    return random.integers(0, 5, ROWS)


def one_hot(random):
    return np.eye(5, dtype=np.float32)[classes(random)]


def tokens(random):
    return random.integers(0, 20, (ROWS, 9)).astype(np.int32)


def truths(random):
    return random.integers(0, 2, ROWS).astype(np.float32)


def rows(random):
    return random.standard_normal((ROWS, 7)).astype(np.float32)


def numbers(random):
    return random.standard_normal(ROWS).astype(np.float32)


def cases_of(keras):
    """Model, inputs, targets, and what it is compiled with."""
    optimizers, losses = keras.optimizers, keras.losses
    sgd = lambda: optimizers.SGD(0.05)
    sparse = "sparse_categorical_crossentropy"
    return {
        "MNIST CNN": (cnn, images, classes,
                      dict(optimizer=sgd(), loss=sparse, metrics=["accuracy"])),
        "functional CNN": (functional, images, classes,
                           dict(optimizer=optimizers.SGD(0.05, momentum=0.9, nesterov=True),
                                loss=losses.SparseCategoricalCrossentropy(from_logits=True),
                                metrics=["accuracy"])),
        "one-hot labels": (cnn, images, one_hot,
                           dict(optimizer=sgd(), loss="categorical_crossentropy",
                                metrics=["accuracy"])),
        "text LSTM": (lstm, tokens, truths,
                      dict(optimizer=optimizers.Adam(0.01, epsilon=1e-3),
                           loss="binary_crossentropy", metrics=["accuracy"])),
        "frozen base": (headed, images, classes,
                        dict(optimizer=optimizers.RMSprop(0.01, epsilon=1e-3), loss=sparse)),
        "regression": (regression, rows, numbers,
                       dict(optimizer=optimizers.Adagrad(0.05), loss="mse", metrics=["mae"])),
        "AdamW": (regression, rows, numbers,
                  dict(optimizer=optimizers.AdamW(0.01, epsilon=1e-3, weight_decay=0.1),
                       loss=losses.Huber())),
    }


def compare(keras, make, inputs, targets, settings):
    random = np.random.default_rng(3)
    x, y, v, w = inputs(random), targets(random), inputs(random), targets(random)
    keras.utils.set_random_seed(1)
    own, twin = make(keras), make(keras)
    twin.set_weights(own.get_weights())
    own.compile(**settings)
    twin.compile(**{**settings,
                    "optimizer": type(settings["optimizer"]).from_config(
                        settings["optimizer"].get_config())})
    arguments = dict(epochs=EPOCHS, batch_size=BATCH, shuffle=False, validation_data=(v, w))
    trainer = dlc.Trainer(own, device="cpu")
    history = trainer.fit(x, y, **arguments, verbose=False)
    wanted = twin.fit(x, y, **arguments, verbose=0).history
    if sorted(history) != sorted(wanted):
        raise Failure(f"the history has {sorted(history)}, expected {sorted(wanted)}")
    for name, found in history.items():
        if not np.allclose(found, wanted[name], rtol=2e-3, atol=1e-4):
            raise Failure(f"{name} is {found}, expected {wanted[name]}")
    for found, weight in zip(own.weights, twin.weights):
        off = np.abs(np.asarray(found) - np.asarray(weight)).max()
        if not off <= 2e-3:
            raise Failure(f"{found.path} is off by {off}")


def schedule(keras):
    return keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9))


def refusals(keras):
    """What is compiled into the model, and what is said."""
    optimizers = keras.optimizers
    return {
        "unknown optimizer": (
            dict(optimizer="ftrl", loss="mse"),
            "the optimizer is a Ftrl; expected SGD, Adam, AdamW, RMSprop or Adagrad, or a text such as 'Lion(lr=1e-4)'"
        ),
        "schedule": (
            dict(optimizer=schedule(keras), loss="mse"),
            "the SGD has a schedule as its learning_rate; expected a number, or a text for dlc such as 'Adam(lr=1e-3 * "
            "cosine_decay(step, 5000))'"),
        "clipping": (
            dict(optimizer=optimizers.SGD(clipnorm=1.0), loss="mse"),
            "the SGD clips each gradient by its own norm (clipnorm); expected global_clipnorm"),
        "decay": (dict(optimizer=optimizers.SGD(weight_decay=0.1), loss="mse"),
                  "the SGD has weight_decay=0.1; expected AdamW"),
        "amsgrad": (dict(optimizer=optimizers.Adam(amsgrad=True), loss="mse"),
                    "the Adam has amsgrad=True, which dlc does not have"),
        "unknown loss": (
            dict(optimizer="sgd", loss="poisson"),
            "the loss is 'poisson'; expected sparse_categorical_crossentropy, categorical_crossentropy, binary_crossentropy, "
            "mean_squared_error, mean_absolute_error, huber, or a text of dlc such as 'mse_loss(dense_1, target)'"
        ),
        "setting of a loss": (
            dict(optimizer="sgd", loss=keras.losses.Huber(delta=2.0)),
            "the loss huber has delta=2.0, which dlc.Trainer does not have"),
        "unknown metric": (
            dict(optimizer="sgd", loss="mse", metrics=["cosine_similarity"]),
            "the metric is 'cosine_similarity'; expected accuracy, sparse_categorical_crossentropy, categorical_crossentropy, "
            "binary_crossentropy, mean_squared_error, mean_absolute_error, huber"),
        "no loss": ({}, "the model has no loss: compile(loss=...), or Trainer(net, loss=...)"),
    }


def refuse(keras, settings, said):
    model = regression(keras)
    if settings:
        model.compile(**settings)
    with refused(said):
        dlc.Trainer(model, device="cpu")


def nothing_to_train(keras):
    model = regression(keras)
    model.trainable = False
    model.compile("sgd", "mse")
    with refused("no weight of the model is trained; expected a layer with trainable=True"):
        dlc.Trainer(model, device="cpu")


def drops_inside(keras):
    layers = keras.layers
    for make in (lambda layer: layer, layers.Bidirectional):
        steps = make(layers.LSTM(6, dropout=0.2))
        model = keras.Sequential([keras.Input((9, 4)), steps])
        model.compile("sgd", "mse")
        with refused(f"layer '{steps.name}' has dropout=0.2, which dlc does not train with; expected a Dropout layer beside it"):
            dlc.Trainer(model, device="cpu")


def two_outputs(keras):
    x = keras.Input((7, ))
    model = keras.Model(x, [keras.layers.Dense(1)(x), keras.layers.Dense(2)(x)])
    with refused("the model has 2 outputs; dlc.Trainer takes one of one"):
        dlc.Trainer(model, "mse", device="cpu")


def training(cases, keras):
    for name, row in cases_of(keras).items():
        with cases.case(f"trains: {name}"):
            compare(keras, *row)
    for name, (settings, said) in refusals(keras).items():
        with cases.case(f"refuses: {name}"):
            refuse(keras, settings, said)
    for test in (nothing_to_train, drops_inside, two_outputs):
        with cases.case(test.__name__):
            test(keras)
