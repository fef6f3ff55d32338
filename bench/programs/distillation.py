"""Distillation (G. Hinton et al. 2015): a large network learns digits; then a small one
learns from what the large one thinks of all classes, and from the labels."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from program_support import DATA, Digits, TrainingLoop, add_training_arguments

BATCH_SIZE, TESTED, TEMPERATURE = 64, 640, 4.0


def make_teacher():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 4 * 4, 10),
    )


def make_student():
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 24),
        nn.ReLU(),
        nn.Linear(24, 10),
    )


def distillation_loss(logits, teacher_logits):
    """How far the student's probabilities are from the teacher's."""
    return TEMPERATURE**2 * F.kl_div(
        F.log_softmax(logits / TEMPERATURE, dim=1),
        F.softmax(teacher_logits / TEMPERATURE, dim=1),
        reduction="batchmean",
    )


def train_teacher(loop, teacher, optimizer, digits):
    for step in loop:
        image, label = digits.draw(BATCH_SIZE)
        loss = F.cross_entropy(teacher(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(250):
            print(f"step {step:4d}: loss of the teacher {loss.item():.3f}")


def train_student(loop, student, teacher, optimizer, digits):
    for step in loop:
        image, label = digits.draw(BATCH_SIZE)
        with torch.no_grad():
            teacher_logits = teacher(image)
        logits = student(image)
        soft = distillation_loss(logits, teacher_logits)
        loss = 0.5 * (soft + F.cross_entropy(logits, label))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loop.every(250):
            print(f"step {step:4d}: loss of the student {loss.item():.3f}")


def main():
    parser = argparse.ArgumentParser(
        description="A large network learns digits, and a small one learns from it."
    )
    parser.add_argument(
        "--data",
        metavar="DIR",
        default=DATA / "digits",
        help="the folder of the digits",
    )
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        default=200,
        help="updates of the teacher (default: 200)",
    )
    parser.add_argument(
        "--student-steps",
        type=int,
        metavar="N",
        default=1500,
        help="updates of the student (default: 1500)",
    )
    add_training_arguments(parser)
    args = parser.parse_args()

    train_digits = Digits(args.data, "train")
    test_digits = Digits(args.data, "t10k")
    teacher = make_teacher()
    student = make_student()
    t_optimizer = torch.optim.Adam(teacher.parameters(), lr=2e-3)
    s_optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
    loop = TrainingLoop(
        args,
        args.steps,
        teacher=teacher,
        student=student,
        t_optimizer=t_optimizer,
        s_optimizer=s_optimizer,
    )
    train_teacher(loop, teacher, t_optimizer, train_digits)

    teacher.eval()
    loop.steps += args.student_steps
    train_student(loop, student, teacher, s_optimizer, train_digits)

    image, label = test_digits.draw(TESTED)
    for name, model in (("teacher", teacher), ("student", student)):
        with torch.no_grad():
            right = (model(image).argmax(dim=1) == label).sum().item()
        size = sum(p.numel() for p in model.parameters())
        print(f"{name} of {size} numbers: {right} of {TESTED} are right")


if __name__ == "__main__":
    main()
