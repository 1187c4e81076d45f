"""The systems: those of the paper's table in its order, then ours.

To add one: write its file, add its line.
"""

from bert4so.systems import (
    att_order_net,
    att_order_net_two_loss,
    b_tsort,
    bert4so,
    bert4so_joint,
    cnn_ptrnet,
    hierarchical_att_net,
    lstm_ptrnet,
    rank_tx_net,
    se_graph,
    variant_lstm_ptrnet,
)
from bert4so.systems.protocol import System

SYSTEMS: dict[str, System] = {
    "cnn-ptrnet": cnn_ptrnet,
    "lstm-ptrnet": lstm_ptrnet,
    "variant-lstm-ptrnet": variant_lstm_ptrnet,
    "att-order-net": att_order_net,
    "hierarchical-att-net": hierarchical_att_net,
    "se-graph": se_graph,
    "att-order-net-two-loss": att_order_net_two_loss,
    "rank-tx-net": rank_tx_net,
    "b-tsort": b_tsort,
    "bert4so": bert4so,
    "bert4so-joint": bert4so_joint,
}
