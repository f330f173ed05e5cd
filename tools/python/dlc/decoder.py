"""Language models of transformers with their past inside, as `model.generate` needs them."""

import inspect

import torch

from .errors import Code, Error


class Decoder(torch.nn.Module):
    """A causal language model of transformers that keeps the past of a text in buffers, so that
    each call takes the next tokens alone:

        net = AutoModelForCausalLM.from_pretrained("gpt2")
        model = dlc.compile(dlc.Decoder(net, 1024), ids, dynamic={"input_ids": {1: "T"}})
        model.generate("Once upon a time", tokenizer="tokenizer.json")

    `capacity`: the positions that the cache holds, those of the prompt among them. `batch`: how
    many texts, of one length, it holds. `logits_to_keep`: of how many of the last tokens logits are
    computed; 0 for all. `forward` takes ids, i64[batch,T], and gives logits, [batch,T,vocabulary]
    of the tokens that are kept. It needs transformers 5."""

    def __init__(self, net, capacity, batch=1, logits_to_keep=1):
        super().__init__()
        if not hasattr(getattr(net, "config", None), "get_text_config"):
            raise Error(
                f"dlc.Decoder takes a language model of transformers, got a {type(net).__name__}",
                Code.USAGE,
            )
        if not isinstance(capacity, int) or capacity < 1:
            raise Error(
                f"dlc.Decoder: expected a capacity of 1 or more, got {capacity}", Code.USAGE
            )
        Cache, StaticLayer = _caches()
        self.net = net
        self.eval()
        parameters = inspect.signature(net.forward).parameters
        # transformers renames the argument.
        self.place = "cache" if "cache" in parameters else "past_key_values"
        self.options = {"use_cache": True}
        if logits_to_keep and "logits_to_keep" in parameters:
            self.options["logits_to_keep"] = logits_to_keep
        # A layer whose attention sees a window keeps the whole past: its mask leaves out the rest.
        count = net.config.get_text_config(decoder=True).num_hidden_layers
        self.past = Cache(layers=[StaticLayer(max_cache_len=capacity) for _ in range(count)])
        with torch.no_grad():  # the first call makes the tensors of each layer
            device = next(net.parameters()).device
            ids = torch.zeros(batch, 1, dtype=torch.int64, device=device)
            net(ids, **{self.place: self.past}, use_cache=True)
        self.past.reset()
        for number, layer in enumerate(self.past.layers):
            self.register_buffer(f"key_{number}", layer.keys, persistent=False)
            self.register_buffer(f"value_{number}", layer.values, persistent=False)
            self.register_buffer(f"length_{number}", layer.cumulative_length, persistent=False)

    def forward(self, input_ids):
        return self.net(input_ids, **{self.place: self.past}, **self.options).logits

    def reset(self):
        """Forgets the text."""
        self.past.reset()


def _caches():
    """The classes of caches whose layers count their positions in tensors."""
    import transformers
    from transformers import cache_utils

    layer = getattr(cache_utils, "StaticLayer", None)
    if "cumulative_length" not in getattr(layer, "__annotations__", {}):
        raise Error(
            f"dlc.Decoder needs transformers 5, this is {transformers.__version__}", Code.USAGE
        )
    return cache_utils.Cache, layer
