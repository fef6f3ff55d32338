"""Losses and softmax. options: what the function of a case is given besides its inputs; "class_weights" is a list."""
import torch
import torch.nn.functional as F

from op_recorder import add, flags, given, numbers, signs, whole

for op, function in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
    add(op, lambda x: function(x, 1), numbers(3, 7, low=-9, high=9), axis=1)
    add(op, lambda x: function(x, 0), numbers(3, 4, 2), axis=0)
add("cross_entropy", F.cross_entropy, numbers(5, 7), whole(7, 5))
add("cross_entropy", F.cross_entropy, numbers(2, 3, 4, 2), whole(3, 2, 4, 2))
add("mse", F.mse_loss, numbers(3, 5), numbers(3, 5))

NAMES = {"mean": 0, "sum": 1, "none": 2, "batchmean": 3}


def signed(function):
    """Takes the signs as integers, so that the file asks for no gradient across their jump."""
    return lambda *x, **options: function(*x[:-1], x[-1].double(), **options)


def add_loss(op, function, *inputs, reduction="mean", class_weights=None, p=0, margin=0.0, **options):
    """The options of PyTorch's function, in its names; the file has those of test_op_golden.c."""
    arguments = dict(options)
    if class_weights is not None:
        arguments["weight"] = torch.tensor(class_weights)
    if p:
        arguments["p"] = p
    if margin:
        arguments["margin"] = margin
    number = options.get("delta", options.get("beta", options.get("label_smoothing", margin)))
    flag = any(options.get(name, False) for name in ("full", "log_target", "swap"))
    ignored = {"ignored": options["ignore_index"]} if options.get("ignore_index", -100) != -100 else {}
    add(op, lambda *x: function(*x, reduction=reduction, **arguments), *inputs, reduction=NAMES[reduction], number=number,
        flag=flag, p=p, log_input=options.get("log_input", False), class_weights=class_weights or [], **ignored)


add_loss("mse", F.mse_loss, numbers(3, 5), numbers(3, 5), reduction="sum")
add_loss("l1", F.l1_loss, numbers(3, 5), numbers(3, 5))
add_loss("huber", F.huber_loss, numbers(3, 5), numbers(3, 5), reduction="none", delta=0.75)
add_loss("smooth_l1", F.smooth_l1_loss, numbers(3, 5), numbers(3, 5), beta=0.75)
add_loss("bce", F.binary_cross_entropy, numbers(3, 5, low=0.05, high=0.95), numbers(3, 5, low=0.1, high=0.9))
add_loss("bce_with_logits", F.binary_cross_entropy_with_logits, numbers(3, 5, low=-9, high=9),
         numbers(3, 5, low=0, high=1))
for smoothing, class_weights, ignored in [(0.1, None, 1), (0.0, [0.5, 2.0, 1.0, 0.0], -100),
                                          (0.25, [0.5, 2.0, 1.0, 0.25], 1)]:
    add_loss("cross_entropy", F.cross_entropy, numbers(6, 4, 2), whole(4, 6, 2), label_smoothing=smoothing,
             class_weights=class_weights, ignore_index=ignored)


def of_sequence(x, labels, *mask, ignore_index=-100, **options):
    """Classes last, and a mask or lengths."""
    if mask:
        counts = mask[0] if mask[0].dtype == torch.bool else torch.arange(labels.shape[1]) < mask[0][:, None]
        labels = labels.masked_fill(~counts, ignore_index)
    return F.cross_entropy(x.movedim(-1, 1), labels, ignore_index=ignore_index, **options)


for reduction in ("mean", "sum", "none"):
    add_loss("sequence_cross_entropy", of_sequence, numbers(3, 5, 4), whole(4, 3, 5), flags(3, 5), reduction=reduction)
    add_loss("sequence_cross_entropy", of_sequence, numbers(3, 5, 4), whole(4, 3, 5), torch.tensor([5, 0, 2]),
             reduction=reduction, label_smoothing=0.25, class_weights=[0.5, 2.0, 1.0, 0.25], ignore_index=1)
add_loss("sequence_cross_entropy", of_sequence, numbers(6, 4), whole(4, 6))
for reduction in ("sum", "none"):
    add_loss("cross_entropy", F.cross_entropy, numbers(6, 4), whole(4, 6), reduction=reduction, label_smoothing=0.25,
             class_weights=[0.5, 2.0, 1.0, 0.25], ignore_index=1)
add_loss("nll", F.nll_loss, numbers(6, 4, 2), whole(4, 6, 2), class_weights=[0.5, 2.0, 1.0, 0.25], ignore_index=2)
add_loss("hinge_embedding", signed(F.hinge_embedding_loss), numbers(9, low=0, high=2), signs(9), margin=1.5)
add_loss("cosine_embedding", signed(F.cosine_embedding_loss), numbers(6, 5), numbers(6, 5), signs(6), margin=0.2)
add_loss("triplet_margin", F.triplet_margin_loss, numbers(6, 5), numbers(6, 5), numbers(6, 5), margin=1.5, p=2)
add_loss("cross_entropy", F.cross_entropy, numbers(6, 4, 2), numbers(6, 4, 2, low=0, high=1), label_smoothing=0.25,
         class_weights=[0.5, 2.0, 1.0, 0.25])
add_loss("cross_entropy", F.cross_entropy, numbers(4), torch.tensor(2), reduction="none")
add_loss("triplet_margin", F.triplet_margin_loss, numbers(6, 5), numbers(6, 5), numbers(6, 5), margin=1.5, p=1, swap=True)
add_loss("multi_margin", F.multi_margin_loss, numbers(6, 4), whole(4, 6), margin=1.0, p=1)
add_loss("multi_margin", F.multi_margin_loss, numbers(6, 4), whole(4, 6), margin=0.75, p=2, reduction="none",
         class_weights=[0.5, 2.0, 1.0, 0.25])
add_loss("margin_ranking", signed(F.margin_ranking_loss), numbers(9), numbers(9), signs(9), margin=0.5)
add_loss("soft_margin", signed(F.soft_margin_loss), numbers(3, 5), signs(3, 5))
# Where layers begin whose parameters are zeros.
add_loss("soft_margin", signed(F.soft_margin_loss), given([[0.0, -0.0, 0.5]]), signs(1, 3), reduction="none")
add_loss("bce_with_logits", F.binary_cross_entropy_with_logits, given([[0.0, -0.0, 0.5]]), numbers(1, 3, low=0, high=1),
         reduction="none")
add_loss("poisson_nll", F.poisson_nll_loss, numbers(3, 5), numbers(3, 5, low=0, high=4), log_input=True, full=True)
add_loss("poisson_nll", F.poisson_nll_loss, numbers(3, 5, low=0.1), numbers(3, 5, low=0, high=4), log_input=False,
         reduction="sum")
add_loss("gaussian_nll", F.gaussian_nll_loss, numbers(3, 5), numbers(3, 5), numbers(3, low=0.2, high=3))
add_loss("gaussian_nll", F.gaussian_nll_loss, numbers(3, 5), numbers(3, 5), numbers(3, 5, low=0.2, high=3), full=True,
         reduction="none")
add_loss("kl_div", F.kl_div, numbers(3, 5, low=-4, high=0), numbers(3, 5, low=0.05, high=1))
add_loss("kl_div", F.kl_div, numbers(3, 5, low=-4, high=0), numbers(3, 5, low=-4, high=0), reduction="batchmean",
         log_target=True)
add("bce_with_logits",
    lambda x, t: F.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor([0.5, 2.0, 3.0])),
    numbers(4, 3, low=-9, high=9), numbers(4, 3, low=0, high=1), class_weights=[0.5, 2.0, 3.0])
add("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), numbers(3, 4, 2), numbers(3, 4, 2), axis=1)
# A norm of 0; the gradient at one between 0 and epsilon is another one in PyTorch 2.15 than in 1.13.
tiny = given([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
add("cosine_similarity", lambda x, y: F.cosine_similarity(x, y, 1), tiny, numbers(2, 3), axis=1)
# PyTorch has no plain hinge; this is its definition.
add("hinge", signed(lambda x, t: (1 - t * x).clamp_min(0).mean()), numbers(3, 5), signs(3, 5))
# CTC, through log_softmax: PyTorch's gradient of the log-probabilities themselves takes that for granted.
def add_ctc(steps, batch, classes, labels, input_lengths, target_lengths, reduction="mean", blank=0, zero_infinity=False):
    targets = whole(classes - 1, batch, labels, low=1 + blank).map(lambda x: x % classes)
    add("ctc", lambda x, *more: F.ctc_loss(x.log_softmax(2), *more, blank=blank, reduction=reduction,
                                           zero_infinity=zero_infinity),
        numbers(steps, batch, classes), targets, torch.tensor(input_lengths), torch.tensor(target_lengths),
        reduction=NAMES[reduction], blank=blank, zero_infinity=zero_infinity)


add_ctc(12, 3, 4, 5, [12, 9, 11], [5, 0, 3])
add_ctc(9, 2, 3, 4, [9, 8], [4, 3], reduction="none", blank=2)
add_ctc(5, 3, 4, 3, [5, 2, 4], [2, 3, 1], reduction="sum", blank=1, zero_infinity=True)


