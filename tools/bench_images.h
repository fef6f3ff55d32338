/* `weft bench images`: how many augmented images a second the loader makes. */
#ifndef BENCH_IMAGES_H
#define BENCH_IMAGES_H

/* argv: options after "images": --json, --folder DIR (a folder with one folder a class), --device SELECTOR.
 * Without a folder: images of CIFAR's shape in memory, cropped, flipped and normalised. With it, its files as
 * for ImageNet: decoded, cropped and resized to 224 x 224, flipped, normalised. Each with 1 thread, 2 and so
 * on up to the machine's processors. Prints a table, or with --json one object a line: source, layout,
 * threads, images_s. Returns the exit status. */
int weft_bench_images(int argc, char **argv);

#endif
