#!/usr/bin/env python3
"""Networks of torchvision and transformers, and of zoo_networks.py, reduced, with seeded weights,
as ONNX files of PyTorch's tracing exporter: with symbolic dims where people have them, compiled,
run, and compared with PyTorch in double precision; their text is checked, too. On demand: a quarter
of an hour.

  run_zoo.py            all of them
  run_zoo.py NAME...    these alone
  run_zoo.py --device cuda-emu [NAME...]   the kernels for a GPU, on the emulated one
  run_zoo.py --list     their names

What PyTorch's exporter refuses is left out and counted. What dlc refuses stands in REFUSED with its
sentence, and is no pass."""
import argparse
import os
import sys
import warnings

import numpy as np

from cases import Cases, Failure
from dlc_tool import BUILD, compile_model, dlc
from onnx_exports import export_onnx
from run_onnx import emulate
from runtime_session import Session

OUT = os.path.join(BUILD, "test-logs", "zoo")
LIBRARY = os.path.join(BUILD, "lib", "libdlc_runtime.so")
BOUND = 2e-3  # of the largest element: deep networks of random weights, in f32
REFUSED = {
    "gptj": "does not import 'SplitToSequence'",
    # Sizes that 8 does not divide: the network itself fails there
    "yolo_of_any_size": "cannot join",
}
NEWER = {"gemma2": "Gemma2Config"}  # what the transformers of tools/scripts/setup does not have
BATCH, IDS, PAIR = {"x": {0: "N"}}, {"ids": {0: "N", 1: "T"}
                                     }, {"ids": {0: "N", 1: "S"}, "target": {0: "N", 1: "T"}}


def networks(torch):
    """name -> (what makes the module, what makes its inputs, its symbols)"""
    import torchvision.models as vision
    import transformers as text
    import zoo_networks as own
    nn, zoo = torch.nn, {}

    def image(*shape):
        return lambda: {"x": torch.randn(*shape)}

    def ids(*shape, name="ids", size=99):
        return lambda: {name: torch.randint(3, size, shape)}

    def both(*inputs):
        return lambda: {name: value for make in inputs for name, value in make().items()}

    class First(nn.Module):
        """What stands first in the result of `network`, or what `choose` takes of it."""

        def __init__(self, network, choose=lambda result: result[0], **options):
            super().__init__()
            self.network, self.choose, self.options = network, choose, options

        def forward(self, first,
                    second=None):  # parameters by name, as torch.export wants them for its symbols
            return self.choose(
                self.network(first, *(() if second is None else (second, )), **self.options))

    sizes = {"inception_v3": 96, "maxvit_t": 224, "alexnet": 224, "vgg11_bn": 224}
    for name in ("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s",
                 "googlenet", "inception_v3", "maxvit_t", "mnasnet0_5", "mobilenet_v3_large",
                 "mobilenet_v3_small", "regnet_x_400mf", "regnet_y_400mf", "resnet34",
                 "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "swin_v2_t",
                 "vgg11_bn", "wide_resnet50_2"):
        options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        zoo[name] = (
            lambda name=name, options=options: vision.get_model(name, weights=None, **options),
            image(2, 3, sizes.get(name, 64), sizes.get(name, 64)), BATCH)
    zoo["vision_transformer"] = (lambda: vision.VisionTransformer(64, 16, 2, 4, 64, 128),
                                 image(2, 3, 64, 64), BATCH)
    for name in ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"):
        zoo[name] = (
            lambda name=name: First(vision.get_model(name, weights=None, weights_backbone=None),
                                    lambda result: result["out"]), image(1, 3, 64, 64), BATCH)
    for name in ("r3d_18", "mc3_18", "r2plus1d_18"):
        zoo[name] = (lambda name=name: vision.get_model(name, weights=None),
                     image(1, 3, 16, 32, 32), BATCH)
    zoo["s3d"] = (lambda: vision.get_model("s3d", weights=None), image(1, 3, 16, 224, 224), BATCH)
    def detector(name):
        """With the norms of random weights all places of an image give one score but for the last
        digits, which would decide the order of what is found: here the norms know images of noise,
        and few things are found."""
        if name.startswith("fasterrcnn"):  # what the first of two stages proposes differs enough
            return vision.get_model(name, weights=None, weights_backbone=None)
        network = vision.get_model(name, weights=None, weights_backbone=None,
                                   detections_per_img=20).eval()
        for norm in network.modules():
            if isinstance(norm, nn.BatchNorm2d):
                norm.momentum = 1.0
                norm.train()
        with torch.no_grad():
            network(torch.randn(2, 3, 160, 160))
        return network

    for name in ("fasterrcnn_mobilenet_v3_large_320_fpn", "retinanet_resnet50_fpn",
                 "ssdlite320_mobilenet_v3_large"):
        zoo[name] = (lambda name=name: First(
            detector(name), lambda result: tuple(result[0][key]
                                                 for key in ("boxes", "scores", "labels"))),
                     image(1, 3, 160, 160), None)
    zoo["ssdlite"] = (
        lambda: First(own.ssdlite(), lambda result: tuple(result[0][key] for key in
                                                          ("boxes", "scores", "labels"))),
        image(1, 3, 128, 128), None)
    zoo["raft_small"] = (
        lambda: First(vision.get_model("raft_small", weights=None), lambda flows: flows[-1],
                      num_flow_updates=2),
        lambda: {"first": torch.randn(1, 3, 128, 128), "second": torch.randn(1, 3, 128, 128)}, None)

    zoo["stylegan"] = (own.StyleGan,
                       lambda: {"z": torch.randn(2, 16), "noise": torch.randn(2, 1, 16, 16)}, None)
    zoo["dlrm"] = (own.Dlrm,
                   lambda: {"dense": torch.randn(4, 13), "ids": torch.randint(0, 50, (4, 3, 5))},
                   {"dense": {0: "N"}, "ids": {0: "N"}})
    zoo["crnn"] = (own.Crnn, image(2, 1, 32, 40), {"x": {0: "N", 3: "W"}})
    zoo["gru_text"] = (own.GruText, ids(3, 9, size=40), IDS)
    zoo["translator"] = (own.Translator, both(ids(2, 7, size=30), ids(2, 5, name="target",
                                                                      size=30)), PAIR)
    zoo["yolo"] = (own.Yolo, image(2, 3, 64, 96), BATCH)
    zoo["yolo_of_any_size"] = (own.Yolo, image(1, 3, 64, 96), {"x": {2: "H", 3: "W"}})
    zoo["unet3d"] = (own.UNet3d, image(1, 1, 8, 16, 16), BATCH)
    zoo["wavenet"] = (own.WaveNet, image(2, 1, 50), {"x": {0: "N", 2: "T"}})

    small = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "vocab_size": 99, "max_position_embeddings": 64
    }
    gpt = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99, "n_positions": 64}
    for name, model, config, options in (
        ("bert", "BertModel", "BertConfig", small), ("roberta", "RobertaModel", "RobertaConfig",
                                                     small),
        ("albert", "AlbertModel", "AlbertConfig", {**small, "embedding_size": 16}),
        ("electra", "ElectraModel", "ElectraConfig", {**small, "embedding_size": 16}),
        ("distilbert", "DistilBertModel", "DistilBertConfig",
         {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 99
          }), ("deberta_v2", "DebertaV2Model", "DebertaV2Config",
               {**small, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]
                }), ("xlnet", "XLNetModel", "XLNetConfig",
                     {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "vocab_size": 99}),
        ("t5_encoder", "T5EncoderModel", "T5Config",
         {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
          "vocab_size": 99})):
        zoo[name] = (lambda model=model, config=config, options=options: First(
            getattr(text, model)(getattr(text, config)(**options))), ids(2, 11), IDS)
    grouped = {**small, "num_key_value_heads": 2}
    for name, kind, options in (("llama", "Llama", grouped), ("mistral", "Mistral", grouped),
                                ("qwen2", "Qwen2", grouped), ("phi", "Phi", small),
                                ("gemma", "Gemma",
                                 {**small, "num_key_value_heads": 1,
                                  "head_dim": 8}), ("gemma2", "Gemma2",
                                                    {**grouped, "head_dim": 8,
                                                     "sliding_window": 6}),
                                ("mixtral", "Mixtral", {**grouped, "num_local_experts": 4
                                                        }), ("gptneox", "GPTNeoX", small),
                                ("gptj", "GPTJ", {**gpt, "rotary_dim": 4}), ("gptneo", "GPTNeo", {
                                    "hidden_size": 32, "num_layers": 2, "num_heads": 4,
                                    "attention_types": [[["global", "local"], 1]], "vocab_size": 99,
                                    "max_position_embeddings": 64
                                }), ("opt", "OPT", {
                                    "hidden_size": 32, "num_hidden_layers": 2,
                                    "num_attention_heads": 4, "ffn_dim": 64, "vocab_size": 99,
                                    "max_position_embeddings": 64, "word_embed_proj_dim": 32
                                }), ("bloom", "Bloom", {
                                    "hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99
                                })):
        zoo[name] = (lambda kind=kind, options=options: First(
            getattr(text, kind + "ForCausalLM")(getattr(text, kind + "Config")
                                                (**options, use_cache=False))), ids(2, 11), IDS)
    zoo["gpt2"] = (lambda: First(text.GPT2LMHeadModel(text.GPT2Config(**gpt, use_cache=False))),
                   ids(2, 11), IDS)
    heads = {
        "vocab_size": 99, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64,
        "decoder_ffn_dim": 64
    }

    class Seq2Seq(nn.Module):
        def __init__(self, network, first="input_ids"):
            super().__init__()
            self.network, self.first = network, first

        def forward(self, ids, target):
            return self.network(**{self.first: ids}, decoder_input_ids=target, use_cache=False)[0]

    zoo["t5"] = (lambda: Seq2Seq(
        text.T5ForConditionalGeneration(
            text.T5Config(d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=99,
                          decoder_start_token_id=0))), both(ids(2, 7), ids(2, 4,
                                                                           name="target")), PAIR)
    zoo["bart"] = (
        lambda: Seq2Seq(text.BartModel(text.BartConfig(**heads, max_position_embeddings=64))),
        both(ids(2, 7), ids(2, 4, name="target")), PAIR)
    zoo["whisper"] = (lambda: Seq2Seq(
        text.WhisperModel(
            text.WhisperConfig(**heads, max_source_positions=50, max_target_positions=20,
                               num_mel_bins=16, pad_token_id=0, bos_token_id=1, eos_token_id=2,
                               decoder_start_token_id=1)), "input_features"),
                      both(image(1, 16, 100), ids(1, 6, name="target")), {"target": {1: "T"}})
    class Clip(nn.Module):
        """The logits of each picture with each text."""

        def __init__(self, network):
            super().__init__()
            self.network = network

        def forward(self, ids, pixels):
            return self.network(input_ids=ids, pixel_values=pixels).logits_per_image

    side = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64
    }
    zoo["clip"] = (lambda: Clip(
        text.CLIPModel(
            text.CLIPConfig(
                text_config={
                    **side, "vocab_size": 99, "max_position_embeddings": 20, "eos_token_id": 98
                }, vision_config={**side, "image_size": 32, "patch_size": 8}, projection_dim=16))),
                   both(ids(3, 7), lambda: {"pixels": torch.randn(2, 3, 32, 32)}),
                   {"ids": {0: "N", 1: "T"}, "pixels": {0: "M"}})
    patches = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64, "image_size": 32, "patch_size": 8
    }
    for name, kind, shape, options in (("vit", "ViT", (2, 3, 32, 32),
                                        patches), ("deit", "DeiT", (2, 3, 32, 32), patches),
                                       ("dinov2", "Dinov2", (2, 3, 32, 32),
                                        patches), ("beit", "Beit", (2, 3, 32, 32),
                                                   {**patches, "use_relative_position_bias": True}),
                                       ("mobilevit", "MobileViT", (1, 3, 64, 64), {
                                           "hidden_sizes": [16, 24, 32],
                                           "neck_hidden_sizes": [8, 8, 16, 16, 24, 32,
                                                                 64], "image_size": 64
                                       }), ("segformer", "Segformer", (1, 3, 64, 64), {
                                           "hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1],
                                           "num_attention_heads": [1, 2, 2, 4]
                                       }), ("wav2vec2", "Wav2Vec2", (1, 4000), {
                                           "hidden_size": 32, "num_hidden_layers": 2,
                                           "num_attention_heads": 4, "intermediate_size": 64,
                                           "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2),
                                           "conv_kernel": (10, 3, 3), "num_conv_pos_embeddings": 16,
                                           "num_conv_pos_embedding_groups": 2
                                       })):
        zoo[name] = (lambda kind=kind, options=options: First(
            getattr(text, kind + "Model")(getattr(text, kind + "Config")
                                          (**options))), image(*shape), BATCH)
    return zoo


def flat(results):
    """The tensors of a result, in the order in which the exporter lists them."""
    if hasattr(results, "numpy"):
        return [results.numpy()]
    return [tensor for part in results for tensor in flat(part)]


def seeded_module(torch, make):
    """A network with seeded weights, and means of batch norms and matrices that are not zero: else
    these norms would change nothing, and the head of a ViT would make zeros of whatever it got."""
    torch.manual_seed(1)
    module = make().eval()
    for parameter in module.parameters():
        if parameter.dim() > 1 and not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    for name, buffer in module.named_buffers():
        if name.endswith("running_mean"):
            buffer.copy_(torch.randn(buffer.shape) * 0.1)
    return module


def exported(torch, name, network):
    """The ONNX file, the inputs and what PyTorch computes; None where its exporter does not take
    the network."""
    make, inputs_of, dynamic = network
    module, inputs = seeded_module(torch, make), inputs_of()
    try:
        path = export_onnx(module, inputs, OUT, dynamic=dynamic)
    except Exception as error:
        return str(error).strip().split("\n")[0][:100]
    kept = os.path.join(OUT, name + ".onnx")
    os.replace(path, kept)
    with torch.no_grad():
        try:
            wanted = flat(module.double()(*(value.double() if value.is_floating_point() else value
                                            for value in inputs.values())))
        except RuntimeError:  # a network whose own code knows f32 alone
            wanted = flat(module.float()(*inputs.values()))
    return kept, {key: value.numpy() for key, value in inputs.items()}, wanted


def check(path, inputs, wanted, target):
    package, text = path[:-5] + ".bin", path[:-5] + ".dl"
    compile_model(path, package, None, "--target", target)
    with Session(LIBRARY, package, target) as session:
        got = [array for _, array in session.run(inputs).values()]
    os.unlink(package)
    if [array.shape for array in got] != [array.shape for array in wanted]:
        raise Failure(
            f"shapes {[array.shape for array in got]}, PyTorch's are {[array.shape for array in wanted]}"
        )
    for ours, theirs in zip(got, wanted):
        far = np.abs(ours - theirs).max(initial=0) / (np.abs(theirs).max(initial=0) + 1e-9)
        if not far <= BOUND:
            raise Failure(f"{far:.1e} of the largest element off PyTorch's")
    dlc("import", path, "-o", text, "--force")
    dlc("check", text)
    os.unlink(text[:-3] + ".safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", help="print the names of the networks")
    parser.add_argument("--device", choices=("cpu", "cuda-emu"), default="cpu")
    options = parser.parse_args()
    try:
        import torch
        import torchvision  # noqa: F401
        import transformers
    except ImportError as error:
        print(
            f"1 left out (the zoo, because {error}: tools/scripts/setup --tests)\n0 passed, 0 failed"
        )
        return 0
    warnings.simplefilter("ignore")  # of the exporter's, about what it fixes
    os.makedirs(OUT, exist_ok=True)
    zoo, cases = networks(torch), Cases()
    if options.list:
        print("\n".join(sorted(zoo)))
        return 0
    if unknown := sorted(set(options.names) - set(zoo)):
        parser.error(f"there is no {', '.join(unknown)}; run_zoo.py --list prints what there is")
    if options.device == "cuda-emu":
        emulate()
    target = options.device.removesuffix("-emu")
    for name in options.names or zoo:
        if name in NEWER and not hasattr(transformers, NEWER[name]):
            cases.leave_out(1, f"transformers {transformers.__version__} has no {NEWER[name]}")
            continue
        found = exported(torch, name, zoo[name])
        if isinstance(found, str):
            cases.leave_out(1, f"PyTorch's exporter does not take {name}: {found}")
            continue
        if name not in REFUSED:
            with cases.case(name):
                check(*found, target)
            continue
        try:
            check(*found, target)
            said = "passes; take it off REFUSED"
        except Failure as failure:
            said = "" if REFUSED[name] in str(
                failure) else f"expected to be refused as '{REFUSED[name]}': {failure}"
        if said:
            with cases.case(name):
                raise Failure(said)
        cases.leave_out(1, f"dlc refuses {name}: {REFUSED[name]}")
    return cases.finish()


if __name__ == "__main__":
    sys.exit(main())
