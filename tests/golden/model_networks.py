"""The networks that make_model_golden.py records: torchvision's, or written after the papers and torchvision's
definitions, with torchvision's names.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.models as vision


def lenet5(classes, size):
    side = ((size - 4) // 2 - 4) // 2
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(16 * side * side, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(),
        nn.Linear(84, classes))


def alexnet_s(classes, size):
    side = (size - 11) // 4 + 1
    for _ in range(3):
        side = (side - 3) // 2 + 1
    return nn.Sequential(
        nn.Conv2d(3, 96, 11, 4), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(96, 256, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(256, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 384, 3, padding=1), nn.ReLU(),
        nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(),
        nn.Linear(256 * side * side, 4096), nn.ReLU(), nn.Dropout(0), nn.Linear(4096, 4096), nn.ReLU(),
        nn.Dropout(0), nn.Linear(4096, classes))


def alexnet_r(classes, size):
    return nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2), nn.MaxPool2d(3, 2), nn.ReLU(),
        nn.Conv2d(32, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2),
        nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.AvgPool2d(3, 2), nn.Flatten(),
        nn.Linear(64 * 3 * 3, classes))


class Vgg(nn.Module):
    def __init__(self, counts, classes):
        super().__init__()
        layers, cin = [], 3
        for filters, count in zip((64, 128, 256, 512, 512), counts):
            for _ in range(count):
                layers += [nn.Conv2d(cin, filters, 3, padding=1), nn.ReLU()]
                cin = filters
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(512 * 49, 4096), nn.ReLU(), nn.Dropout(0), nn.Linear(4096, 4096), nn.ReLU(),
            nn.Dropout(0), nn.Linear(4096, classes))

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), 7).flatten(1))


class ConvNorm(nn.Module):
    def __init__(self, cin, cout, size, **options):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, size, bias=False, **options)
        self.bn = nn.BatchNorm2d(cout, eps=1e-3)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class GoogleBlock(nn.Module):
    def __init__(self, cin, one, three_in, three, five_in, five, pooled):
        super().__init__()
        self.branch1 = ConvNorm(cin, one, 1)
        self.branch2 = nn.Sequential(ConvNorm(cin, three_in, 1), ConvNorm(three_in, three, 3, padding=1))
        self.branch3 = nn.Sequential(ConvNorm(cin, five_in, 1), ConvNorm(five_in, five, 3, padding=1))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), ConvNorm(cin, pooled, 1))

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class GoogLeNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = ConvNorm(3, 64, 7, stride=2, padding=3)
        self.conv2 = ConvNorm(64, 64, 1)
        self.conv3 = ConvNorm(64, 192, 3, padding=1)
        self.inception3a = GoogleBlock(192, 64, 96, 128, 16, 32, 32)
        self.inception3b = GoogleBlock(256, 128, 128, 192, 32, 96, 64)
        self.inception4a = GoogleBlock(480, 192, 96, 208, 16, 48, 64)
        self.inception4b = GoogleBlock(512, 160, 112, 224, 24, 64, 64)
        self.inception4c = GoogleBlock(512, 128, 128, 256, 24, 64, 64)
        self.inception4d = GoogleBlock(512, 112, 144, 288, 32, 64, 64)
        self.inception4e = GoogleBlock(528, 256, 160, 320, 32, 128, 128)
        self.inception5a = GoogleBlock(832, 256, 160, 320, 32, 128, 128)
        self.inception5b = GoogleBlock(832, 384, 192, 384, 48, 128, 128)
        self.fc = nn.Linear(1024, classes)

    def forward(self, x):
        def halve(x, size=3):
            return F.max_pool2d(x, size, 2, ceil_mode=True)

        x = self.conv3(self.conv2(halve(self.conv1(x))))
        x = self.inception3b(self.inception3a(halve(x)))
        x = self.inception4c(self.inception4b(self.inception4a(halve(x))))
        x = self.inception4e(self.inception4d(x))
        x = self.inception5b(self.inception5a(halve(x, 2)))
        return self.fc(x.mean((2, 3)))


class MixedA(nn.Module):
    def __init__(self, cin, pooled):
        super().__init__()
        self.branch1x1 = ConvNorm(cin, 64, 1)
        self.branch5x5_1 = ConvNorm(cin, 48, 1)
        self.branch5x5_2 = ConvNorm(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = ConvNorm(cin, 64, 1)
        self.branch3x3dbl_2 = ConvNorm(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = ConvNorm(96, 96, 3, padding=1)
        self.branch_pool = ConvNorm(cin, pooled, 1)

    def forward(self, x):
        return torch.cat([
            self.branch1x1(x), self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(F.avg_pool2d(x, 3, 1, 1))], 1)


class MixedB(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.branch3x3 = ConvNorm(cin, 384, 3, stride=2)
        self.branch3x3dbl_1 = ConvNorm(cin, 64, 1)
        self.branch3x3dbl_2 = ConvNorm(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = ConvNorm(96, 96, 3, stride=2)

    def forward(self, x):
        return torch.cat([
            self.branch3x3(x), self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            F.max_pool2d(x, 3, 2)], 1)


def wide(cin, cout, n=7):
    return ConvNorm(cin, cout, (1, n), padding=(0, n // 2))


def high(cin, cout, n=7):
    return ConvNorm(cin, cout, (n, 1), padding=(n // 2, 0))


class MixedC(nn.Module):
    def __init__(self, cin, c):
        super().__init__()
        self.branch1x1 = ConvNorm(cin, 192, 1)
        self.branch7x7_1 = ConvNorm(cin, c, 1)
        self.branch7x7_2 = wide(c, c)
        self.branch7x7_3 = high(c, 192)
        self.branch7x7dbl_1 = ConvNorm(cin, c, 1)
        self.branch7x7dbl_2 = high(c, c)
        self.branch7x7dbl_3 = wide(c, c)
        self.branch7x7dbl_4 = high(c, c)
        self.branch7x7dbl_5 = wide(c, 192)
        self.branch_pool = ConvNorm(cin, 192, 1)

    def forward(self, x):
        y = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        return torch.cat([
            self.branch1x1(x), self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x))),
            self.branch7x7dbl_5(self.branch7x7dbl_4(y)), self.branch_pool(F.avg_pool2d(x, 3, 1, 1))], 1)


class MixedD(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.branch3x3_1 = ConvNorm(cin, 192, 1)
        self.branch3x3_2 = ConvNorm(192, 320, 3, stride=2)
        self.branch7x7x3_1 = ConvNorm(cin, 192, 1)
        self.branch7x7x3_2 = wide(192, 192)
        self.branch7x7x3_3 = high(192, 192)
        self.branch7x7x3_4 = ConvNorm(192, 192, 3, stride=2)

    def forward(self, x):
        y = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        return torch.cat([self.branch3x3_2(self.branch3x3_1(x)), self.branch7x7x3_4(y), F.max_pool2d(x, 3, 2)], 1)


class MixedE(nn.Module):
    def __init__(self, cin):
        super().__init__()
        self.branch1x1 = ConvNorm(cin, 320, 1)
        self.branch3x3_1 = ConvNorm(cin, 384, 1)
        self.branch3x3_2a = wide(384, 384, 3)
        self.branch3x3_2b = high(384, 384, 3)
        self.branch3x3dbl_1 = ConvNorm(cin, 448, 1)
        self.branch3x3dbl_2 = ConvNorm(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = wide(384, 384, 3)
        self.branch3x3dbl_3b = high(384, 384, 3)
        self.branch_pool = ConvNorm(cin, 192, 1)

    def forward(self, x):
        three = self.branch3x3_1(x)
        twice = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        return torch.cat([
            self.branch1x1(x), self.branch3x3_2a(three), self.branch3x3_2b(three), self.branch3x3dbl_3a(twice),
            self.branch3x3dbl_3b(twice), self.branch_pool(F.avg_pool2d(x, 3, 1, 1))], 1)


class InceptionV3(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.Conv2d_1a_3x3 = ConvNorm(3, 32, 3, stride=2)
        self.Conv2d_2a_3x3 = ConvNorm(32, 32, 3)
        self.Conv2d_2b_3x3 = ConvNorm(32, 64, 3, padding=1)
        self.Conv2d_3b_1x1 = ConvNorm(64, 80, 1)
        self.Conv2d_4a_3x3 = ConvNorm(80, 192, 3)
        self.Mixed_5b, self.Mixed_5c, self.Mixed_5d = MixedA(192, 32), MixedA(256, 64), MixedA(288, 64)
        self.Mixed_6a = MixedB(288)
        self.Mixed_6b, self.Mixed_6c = MixedC(768, 128), MixedC(768, 160)
        self.Mixed_6d, self.Mixed_6e = MixedC(768, 160), MixedC(768, 192)
        self.Mixed_7a = MixedD(768)
        self.Mixed_7b, self.Mixed_7c = MixedE(1280), MixedE(2048)
        self.fc = nn.Linear(2048, classes)

    def forward(self, x):
        x = F.max_pool2d(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))), 3, 2)
        x = F.max_pool2d(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)), 3, 2)
        for part in "5b 5c 5d 6a 6b 6c 6d 6e 7a 7b 7c".split():
            x = getattr(self, "Mixed_" + part)(x)
        return self.fc(x.mean((2, 3)))


class BasicBlock(nn.Module):
    widening = 1

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout)
        self.conv2, self.bn2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.downsample = downsample(cin, cout, stride)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.downsample(x) if self.downsample else x))


class Bottleneck(nn.Module):
    widening = 4

    def __init__(self, cin, mid, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid)
        self.conv2, self.bn2 = nn.Conv2d(mid, mid, 3, stride, 1, bias=False), nn.BatchNorm2d(mid)
        self.conv3, self.bn3 = nn.Conv2d(mid, 4 * mid, 1, bias=False), nn.BatchNorm2d(4 * mid)
        self.downsample = downsample(cin, 4 * mid, stride)

    def forward(self, x):
        y = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return F.relu(self.bn3(self.conv3(y)) + (self.downsample(x) if self.downsample else x))


def downsample(cin, cout, stride):
    if stride == 1 and cin == cout:
        return None
    return nn.Sequential(nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))


class ResNet(nn.Module):
    def __init__(self, block, counts, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        cin = 64
        for stage, count in enumerate(counts):
            blocks = []
            for i in range(count):
                blocks.append(block(cin, 64 << stage, 2 if stage and i == 0 else 1))
                cin = (64 << stage) * block.widening
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(cin, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class CifarBlock(nn.Module):
    """The parameter-free shortcut: stride, then zero channels."""

    def __init__(self, cin, cout, stride):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout)
        self.c2, self.b2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False), nn.BatchNorm2d(cout)
        self.stride, self.pad = stride, cout - cin

    def forward(self, x):
        y = self.b2(self.c2(F.relu(self.b1(self.c1(x)))))
        s = F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, 0, self.pad))
        return F.relu(y + s)


def cifar_resnet(blocks, classes):
    layers, cin = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()], 16
    for c, s in ((16, 1), (32, 2), (64, 2)):
        for i in range(blocks):
            layers.append(CifarBlock(cin, c, s if i == 0 else 1))
            cin = c
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


def conv_norm_relu6(cin, cout, size, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(cout), nn.ReLU6())


class Inverted(nn.Module):
    def __init__(self, cin, cout, stride, wider):
        super().__init__()
        hidden = cin * wider
        layers = [conv_norm_relu6(cin, hidden, 1)] if wider > 1 else []
        self.conv = nn.Sequential(
            *layers, conv_norm_relu6(hidden, hidden, 3, stride, hidden), nn.Conv2d(hidden, cout, 1, bias=False),
            nn.BatchNorm2d(cout))
        self.residual = stride == 1 and cin == cout

    def forward(self, x):
        return x + self.conv(x) if self.residual else self.conv(x)


class MobileNetV2(nn.Module):
    def __init__(self, classes):
        super().__init__()
        layers, cin = [conv_norm_relu6(3, 32, 3, 2)], 32
        for t, c, n, s in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                           (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(n):
                layers.append(Inverted(cin, c, s if i == 0 else 1, t))
                cin = c
        self.features = nn.Sequential(*layers, conv_norm_relu6(cin, 1280, 1))
        self.classifier = nn.Sequential(nn.Dropout(0), nn.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


# name, image, classes, module
NETWORKS = [
    ("lenet5", (1, 32, 32), 10, lambda: lenet5(10, 32)),
    ("alexnet_r", (3, 32, 32), 10, lambda: alexnet_r(10, 32)),
    ("resnet20", (3, 32, 32), 10, lambda: cifar_resnet(3, 10)),
    ("resnet56", (3, 32, 32), 10, lambda: cifar_resnet(9, 10)),
    ("alexnet_s", (3, 67, 67), 20, lambda: alexnet_s(20, 67)),
    ("resnet18", (3, 64, 64), 20, lambda: ResNet(BasicBlock, (2, 2, 2, 2), 20)),
    ("resnet50", (3, 64, 64), 20, lambda: ResNet(Bottleneck, (3, 4, 6, 3), 20)),
    ("mobilenet_v2", (3, 64, 64), 20, lambda: MobileNetV2(20)),
    ("googlenet", (3, 80, 80), 20, lambda: GoogLeNet(20)),
    ("inception_v3", (3, 171, 171), 20, lambda: InceptionV3(20)),
    ("resnet34", (3, 64, 64), 20, lambda: vision.resnet34(num_classes=20)),
    ("resnet101", (3, 64, 64), 20, lambda: vision.resnet101(num_classes=20)),
    ("mobilenet_v3_large", (3, 64, 64), 20, lambda: vision.mobilenet_v3_large(num_classes=20)),
    ("mobilenet_v3_small", (3, 64, 64), 20, lambda: vision.mobilenet_v3_small(num_classes=20)),
    ("efficientnet_b0", (3, 64, 64), 20, lambda: vision.efficientnet_b0(num_classes=20)),
    ("vit_b_16", (3, 32, 32), 20, lambda: vision.vit_b_16(num_classes=20, image_size=32)),
    ("vgg11", (3, 32, 32), 20, lambda: Vgg((1, 1, 2, 2, 2), 20)),
    ("vgg16", (3, 32, 32), 20, lambda: Vgg((2, 2, 3, 3, 3), 20)),
]
