"""Steps of recurrent networks."""
import torch

from rows.library.called import pair

CELL = lambda gates: (("N", 5), ("N", 4), (gates * 4, 5), (gates * 4, 4), (gates * 4, ),
                      (gates * 4, ))
pair("rnn_tanh_cell", "rnn_tanh_cell(x0, x1, x2, x3, x4, x5)", torch.rnn_tanh_cell, shapes=CELL(1),
     result=("N", 4), values="weights")
pair("rnn_relu_cell", "rnn_relu_cell(x0, x1, x2, x3, x4, x5)", torch.rnn_relu_cell, shapes=CELL(1),
     result=("N", 4), values="weights")
pair("gru_cell", "gru_cell(x0, x1, x2, x3, x4, x5)", torch.gru_cell, shapes=CELL(3),
     result=("N", 4), values="weights")
for number in (0, 1):
    pair("lstm_cell", f"lstm_cell(x0, (x1, x2), x3, x4, x5, x6)[{number}]",
         lambda x, h, c, *weights, number=number: torch.lstm_cell(x, (h, c), *weights)[number],
         note=f"result {number}", shapes=(("N", 4), *CELL(4)[1:2], *CELL(4)[1:2], (16, 4), (16, 4),
                                          (16, ), (16, )), result=("N", 4), values="weights")
