"""Pools, resampling and convolutions: windows, strides, paddings, dilations and sizes have one entry a spatial axis."""
import torch.nn.functional as F

from op_recorder import add, float32, numbers, whole_floats

# Whole numbers have ties.
def add_pool(op, function, x, kernel_size, stride=None, padding=None, dilation=None, **options):
    arguments = dict(options)
    for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation)):
        if value is not None:
            arguments[name] = value
    add(op, lambda x: function(x, kernel_size=kernel_size, **arguments), x, window=list(kernel_size), stride=list(stride or []),
        padding=list(padding or []), dilation=list(dilation or []), ceil=options.get("ceil_mode", False),
        exclude=not options.get("count_include_pad", True), divisor=options.get("divisor_override") or 0)


pixel_ties = whole_floats(3, 2, 3, 5, 6).map(lambda x: x.requires_grad_(True))
add_pool("max_pool", F.max_pool2d, numbers(2, 3, 5, 6), (3, 3), (2, 2), (1, 1))
add_pool("max_pool", F.max_pool2d, pixel_ties, (3, 3), (1, 2), (1, 1))
add_pool("max_pool", F.max_pool2d, pixel_ties, (2, 2), (2, 3), (1, 1), (2, 1), ceil_mode=True)
add_pool("max_pool", F.max_pool1d, numbers(2, 3, 9), (4,), (3,), (2,), ceil_mode=True)
add_pool("max_pool", F.max_pool3d, numbers(1, 3, 4, 4, 5), (2, 3, 2), (2, 1, 2), (1, 0, 1))
add_pool("avg_pool", F.avg_pool2d, numbers(2, 3, 5, 6), (3, 3), (2, 2), (1, 1))
add_pool("avg_pool", F.avg_pool2d, numbers(2, 3, 6, 5), (3, 2), (2, 2), (1, 1), ceil_mode=True, count_include_pad=False)
add_pool("avg_pool", F.avg_pool2d, numbers(2, 3, 6, 8), (4, 3), (3, 2), (1, 1), ceil_mode=True)
add_pool("avg_pool", F.avg_pool2d, numbers(2, 3, 4, 5), (2, 2), (1, 2), divisor_override=3)
add_pool("avg_pool", F.avg_pool1d, numbers(2, 3, 9), (4,), (3,), (2,), count_include_pad=False)
add_pool("avg_pool", F.avg_pool3d, numbers(1, 3, 4, 4, 5), (2, 3, 2), (2, 1, 2), (1, 0, 1), ceil_mode=True)
add("max_pool2d", lambda x: F.max_pool2d(x, 2), numbers(2, 3, 4, 5), start=2)
add("avg_pool2d", lambda x: F.avg_pool2d(x, 2), numbers(2, 3, 4, 5), start=2)
with_zeros = numbers(2, 3, 5, 6).map(lambda x: float32(F.relu(x - 1).tolist()).requires_grad_(True))
for p, ceil_mode in [(1, False), (2, True), (2.5, True)]:
    add("lp_pool", lambda x: F.lp_pool2d(x, p, (3, 2), (2, 2), ceil_mode), with_zeros, window=[3, 2], stride=[2, 2],
        padding=[], dilation=[], ceil=ceil_mode, p=p)
for op, two, three in [("adaptive_max_pool", F.adaptive_max_pool2d, F.adaptive_max_pool3d),
                       ("adaptive_avg_pool", F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)]:
    add(op, lambda x: two(x, (3, 4)), numbers(2, 3, 7, 5), sizes=[3, 4])
    add(op, lambda x: two(x, (5, 2)), pixel_ties, sizes=[5, 2])
    add(op, lambda x: three(x, (2, 4, 3)), numbers(1, 2, 3, 4, 5), sizes=[2, 4, 3])
add("global_max_pool", lambda x: F.adaptive_max_pool2d(x, 1), pixel_ties)
add("global_avg_pool", lambda x: F.adaptive_avg_pool2d(x, 1), numbers(2, 3, 4, 5))
for mode, shape, size, corners in [("nearest", (2, 3, 3, 5), (7, 3), None), ("nearest", (2, 3, 7), (11,), None),
                                   ("nearest", (1, 2, 2, 3, 4), (3, 5, 2), None),
                                   ("bilinear", (2, 3, 3, 5), (7, 3), False), ("bilinear", (2, 3, 3, 5), (7, 3), True),
                                   ("linear", (2, 3, 7), (11,), False), ("linear", (2, 3, 7), (4,), True),
                                   ("trilinear", (1, 2, 2, 3, 4), (3, 5, 2), False),
                                   ("trilinear", (1, 2, 2, 3, 4), (3, 5, 2), True)]:
    add("resample", lambda x: F.interpolate(x, size, mode=mode, align_corners=corners), numbers(*shape), sizes=list(size),
        factors=[], linear=mode != "nearest", corners=bool(corners))
for mode, factors, corners in [("nearest", (2.3, 0.7), None), ("bilinear", (2.3, 0.7), False), ("bilinear", (1.7, 2), True)]:
    add("resample", lambda x: F.interpolate(x, scale_factor=factors, mode=mode, align_corners=corners),
        numbers(2, 3, 4, 5), sizes=[], factors=list(factors), linear=mode != "nearest", corners=bool(corners))
add("upsample_nearest", lambda x: F.interpolate(x, scale_factor=2), numbers(2, 3, 3, 4), start=2)
for corners in (False, True):
    add("upsample_linear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=corners),
        numbers(2, 3, 3, 4), start=2, corners=corners)
add("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), numbers(2, 8, 2, 3), start=2)
add("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), numbers(2, 3, 4, 6), start=2)
for size, alpha, beta, k in [(5, 0.5, 0.75, 2.0), (4, 1.0, 1.25, 1.0)]:
    add("local_response_norm", lambda x: F.local_response_norm(x, size, alpha, beta, k), numbers(2, 9, 3, 2), start=size,
        numbers=[alpha, beta, k])
# Convolutions: 1 to 3 axes; options are lists of a number an axis.
def add_conv(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1, output_padding=None):
    axes = len(x) - 2
    as_list = lambda n: list(n) if isinstance(n, tuple) else [n] * axes
    stride, padding, dilation = as_list(stride), as_list(padding), as_list(dilation)
    inputs = [numbers(*x), numbers(*weight)] + ([numbers(bias)] if bias else [])
    bias_of = lambda more: more[0] if more else None
    if output_padding is None:
        function = [F.conv1d, F.conv2d, F.conv3d][axes - 1]
        add("conv_with", lambda x, w, *more: function(x, w, bias_of(more), stride, padding, dilation, groups), *inputs,
            stride=stride, padding=padding, dilation=dilation, groups=groups)
        return
    output_padding = as_list(output_padding)
    function = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][axes - 1]
    add("conv_transpose_with",
        lambda x, w, *more: function(x, w, bias_of(more), stride, padding, output_padding, groups, dilation), *inputs,
        stride=stride, padding=padding, dilation=dilation, groups=groups, output_padding=output_padding)


add_conv((2, 3, 9), (4, 3, 3), bias=4, stride=2, padding=1)
add_conv((2, 3, 6, 5), (4, 3, 3, 2), bias=4, padding=(1, 0))
add_conv((2, 4, 7, 6), (6, 2, 3, 3), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2)
add_conv((1, 3, 5, 5), (3, 1, 3, 3), bias=3, padding=1, groups=3)
add_conv((2, 5, 3, 4), (2, 5, 1, 1), bias=2)
add_conv((1, 2, 4, 3, 5), (3, 2, 2, 3, 2), bias=3, stride=(2, 1, 1), padding=(0, 1, 0), dilation=(1, 1, 2))
add_conv((2, 3, 5), (3, 2, 4), bias=2, stride=2, padding=1, output_padding=1)
add_conv((2, 3, 3, 4), (3, 2, 3, 3), bias=2, stride=2, padding=1, output_padding=(1, 0))
add_conv((1, 4, 4, 3), (4, 3, 2, 3), stride=(3, 2), dilation=(1, 2), padding=(0, 1), groups=2, output_padding=0)
add_conv((1, 2, 2, 3, 2), (2, 2, 2, 2, 3), bias=2, stride=(1, 2, 2), padding=(0, 1, 0), output_padding=(0, 1, 1))
