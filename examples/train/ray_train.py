#!/usr/bin/env python3
"""The training of ddp.py by two workers of Ray Train, which starts them again after one fails.

python3 examples/digits/images.py digits
python3 examples/train/ray_train.py digits/train.npz run.safetensors
"""

import os
import sys

import ray
from ddp import learn
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer


def main(data, checkpoint, epochs=5, workers=2):
    ray.init(runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}})
    paths = [os.path.abspath(path) for path in (data, checkpoint)]
    TorchTrainer(
        lambda settings: learn(*settings["paths"], settings["epochs"]),
        train_loop_config={"paths": paths, "epochs": int(epochs)},
        scaling_config=ScalingConfig(num_workers=int(workers)),
        run_config=RunConfig(failure_config=FailureConfig(max_failures=2)),
    ).fit()


if __name__ == "__main__":
    main(*sys.argv[1:])
